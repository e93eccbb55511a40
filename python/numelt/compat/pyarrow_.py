"""What numelt changes of Arrow."""

from __future__ import annotations

TESTED = ">=26,<27"
# they reach NumPy's C interface through another library
COMPILED = ("pyarrow.lib", "pyarrow._compute")
