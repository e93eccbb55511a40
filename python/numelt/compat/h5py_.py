"""What numelt changes of h5py: files of arrays."""

from __future__ import annotations

TESTED = ">=3.16,<3.17"
# programs call these themselves; the others get their arrays by h5py's Python code, which converts
COMPILED = ("h5py.h5a", "h5py.h5d", "h5py.h5p")
