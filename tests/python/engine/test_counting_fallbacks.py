"""Fallbacks of methods are counted once per call."""

import numelt
from numelt import _core
from numelt._dispatch import fallback


def test_fallbacks_are_counted_once():
    dates = numelt.array(["2024-01-01", "2024-03-05"], "M8[D]")
    numelt.coverage(reset=True)
    for _ in range(3):
        dates.astype("M8[M]")
        dates.view("i8")
    counts = {entry.function: entry.calls for entry in numelt.coverage(reset=True).fallbacks}
    assert counts == {"ndarray.astype": 3, "ndarray.view": 3}


def test_the_users_frame_is_the_innermost_outside_the_package():
    def inner():
        return _core.users_frame()

    assert inner().f_code is inner.__code__
    # a function of the package calls it
    frames = []
    numelt.apply_along_axis(lambda row: frames.append(_core.users_frame()) or 0, 0, numelt.ones((2, 2)))
    assert frames[0].f_code.co_name == "<lambda>"
    place = fallback.user_location()
    assert place[0] == __file__
