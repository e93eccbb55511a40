"""What numelt changes in PyTorch."""

from __future__ import annotations

from numelt.compat.wrapping import Name, giving_back

# the tests do not install this library
TESTED: str | None = None
_REASON = "its C code takes what is not of NumPy's very class for a sequence of numbers"
WRAPPED = tuple(
    Name("torch", name, giving_back, _REASON) for name in ("as_tensor", "asarray", "from_numpy", "tensor")
)
