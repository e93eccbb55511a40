"""What numelt changes in numexpr."""

from __future__ import annotations

from numelt.compat.wrapping import Name, making

# the tests do not install this library
TESTED: str | None = None
WRAPPED = (Name("numexpr.necompiler", "NumExpr", making, "the compiled expression wants NumPy's class"),)
