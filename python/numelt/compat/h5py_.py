"""What numelt changes in h5py: files of arrays."""

from __future__ import annotations

TESTED = ">=3.16,<3.17"
# Programs call the first three directly, and `_selector` gets the keys of data sets as programs pass them.
# h5py's Python code converts arrays before it calls the others.
COMPILED = ("h5py.h5a", "h5py.h5d", "h5py.h5p", "h5py._selector")
