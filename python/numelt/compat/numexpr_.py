"""What numelt changes of numexpr."""

from __future__ import annotations

from numelt.compat.wrapping import Name, making

# not among the libraries that the tests install
TESTED: str | None = None
WRAPPED = (Name("numexpr.necompiler", "NumExpr", making, "the compiled expression wants NumPy's class"),)
