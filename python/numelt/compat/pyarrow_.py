"""What numelt changes in Arrow."""

from __future__ import annotations

TESTED = ">=26,<27"
# these use NumPy's C interface through another compiled library
COMPILED = ("pyarrow.lib", "pyarrow._compute")
