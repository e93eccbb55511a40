"""What numelt changes in awkward's nested arrays."""

from __future__ import annotations

from numelt.compat.wrapping import Name, giving_back

# the tests do not install this library
TESTED: str | None = None
WRAPPED = (
    Name(
        "awkward._nplikes.dispatch",
        "nplike_of_obj",
        giving_back,
        "it chooses by `issubclass(type(x), ndarray)`",
    ),
)
