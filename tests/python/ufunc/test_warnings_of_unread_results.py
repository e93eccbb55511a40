"""Floating-point warnings of results that nobody reads: small ones warn as with NumPy."""

import subprocess
import sys

import numpy
import pytest

import numelt

from .test_floating_point_warnings import said


def test_unread_work_is_silent_at_exit():
    code = "import numelt as np; x = np.ones(30000) / np.zeros(30000)"
    done = subprocess.run(
        [sys.executable, "-W", "always", "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stderr == ""


@pytest.mark.core
@pytest.mark.parametrize(
    "statement",
    [
        "a[[0, 2]] = big",
        "a[mask] = big",
        "a[:2] = big",
        "b += big",
        "b *= b",
        "b /= zero",
        "np.add.at(a, [0, 0], inf)",
    ],
)
def test_unread_changes_in_place_warn(statement, recorded):
    """What changes an array in place reads it as well; that does not make it an array that somebody reads."""

    def call(np):
        a, b = np.zeros(4, "f4"), np.full(2, 1e308)
        big, zero, inf = np.array([1e70, 1e308]), np.zeros(2), np.array([np.inf, -np.inf])
        exec(
            statement,
            {
                "np": np,
                "a": a,
                "b": b,
                "big": big,
                "zero": zero,
                "inf": inf,
                "mask": a[[0, 0, 1, 1]] < [1, 1, 0, 0],
            },
        )
        return ()

    theirs = said(call, numpy)
    assert theirs
    before, numelt.config.piecemeal = numelt.config.piecemeal, 0
    try:
        assert said(call) == theirs
    finally:
        numelt.config.piecemeal = before
