"""What numelt changes in hypothesis, which makes arrays for tests."""

from __future__ import annotations

from numelt.compat.wrapping import Name, giving_back

TESTED = ">=6.170,<7"
WRAPPED = (
    Name(
        "hypothesis.extra.numpy", "ArrayStrategy.set_element", giving_back,
        "NumPy takes an array of ours that is set as an element for a sequence",
    ),
)  # fmt: skip
