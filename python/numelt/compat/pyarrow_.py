"""What numelt changes in Arrow."""

from __future__ import annotations

TESTED = ">=26,<27"
# these use NumPy's C interface through another compiled library
COMPILED = ("pyarrow.lib", "pyarrow._compute")
# functions and classes that take no arrays: importing Arrow calls their functions 6,000 times
WITHOUT_ARRAYS = frozenset({"frombytes", "tobytes", "FunctionRegistry"})
