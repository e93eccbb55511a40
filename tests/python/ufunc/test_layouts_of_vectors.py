"""Operators on vectors with any strides return contiguous vectors, as in NumPy."""

import numpy
import pytest

import numelt

from ..support.compare import assert_same

STATEMENTS = [
    "-x",
    "x + x",
    "x * 2",
    "2.5 - x",
    "x + y",
    "y / x",
    "x < y",
    "abs(x)",
    "x ** 2",
    "x & 3",
    "np.sqrt(y)",
]


@pytest.mark.parametrize("size", [1, 2, 30, 3000])
@pytest.mark.parametrize("window", ["[::-1]", "[::-2]", "[::3]", "[-2::-1]", "[:0:-1]", "[1:1]"])
def test_results_are_contiguous(size, window):
    for statement in STATEMENTS:
        results = []
        for np in (numpy, numelt):
            x = eval(f"np.arange(1, {size} + 1){window}", {"np": np})
            y = eval(f"(np.arange(1., {size} + 1) * 0.5){window}", {"np": np})
            results.append(eval(statement, {"np": np, "x": x, "y": y}))
        theirs, ours = results
        assert ours.strides == theirs.strides, statement
        assert_same(ours, theirs, context=statement)


def test_one_number_repeated():
    for np in (numpy, numelt):
        x = np.broadcast_to(np.float64(1.5), (4,))
        assert [(x + x).strides, (x * 2).strides, (-x).strides] == [(8,)] * 3
        assert (x + x).tolist() == [3.0] * 4
