"""Fallbacks of methods are counted once per call."""

import numelt


def test_fallbacks_are_counted_once():
    dates = numelt.array(["2024-01-01", "2024-03-05"], "M8[D]")
    numelt.coverage(reset=True)
    for _ in range(3):
        dates.astype("M8[M]")
        dates.view("i8")
    counts = {entry.function: entry.calls for entry in numelt.coverage(reset=True).fallbacks}
    assert counts == {"ndarray.astype": 3, "ndarray.view": 3}
