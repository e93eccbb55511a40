"""Conversions of few elements between all native dtypes: results and warnings are NumPy's."""

import warnings
from typing import Any

import numpy
import pytest

import numelt

DTYPES = ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "F", "D"]
NUMBERS = [
    0, 1, -1, 2.5, 127, 128, -129, 256, 65504, 65520, 1e5, -1e5, 2.0**31, 2.0**32, -(2.0**31), 2.0**63,
    2.0**64, 1e-8, 1e-40, 1e-320, 3.4e38, 3.5e38, 1e300, float("nan"), float("inf"), -float("inf"), -0.0,
]  # fmt: skip


def source(dtype: str, numbers: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return numpy.array(numbers, float).astype(dtype)


def outcome(x: Any, to: str) -> tuple[Any, ...]:
    """The dtype, shape, strides and bytes of a converted array, and the warnings of converting it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        made = numpy.asarray(x.astype(to))
    told = [(warning.category, str(warning.message)) for warning in caught]
    return made.dtype, made.shape, made.strides if made.size else None, made.tobytes(), told


@pytest.mark.parametrize("to", DTYPES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_each_number_alone(dtype: str, to: str) -> None:
    for number in NUMBERS:
        numbers = source(dtype, [number, number, number])
        ours = numelt.array(numbers)
        assert outcome(ours, to) == outcome(numbers, to), number


@pytest.mark.parametrize("to", DTYPES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_layouts(dtype: str, to: str) -> None:
    numbers = source(dtype, NUMBERS)
    for np_views in zip(views(numbers), views(numelt.array(numbers)), strict=True):
        theirs, ours = np_views
        assert outcome(ours, to) == outcome(theirs, to), theirs.shape


def views(x: Any) -> list[Any]:
    """The same elements contiguous, strided, backwards, as a column, in two axes, repeated, one, and none."""
    square = x[:24].reshape(4, 6)
    return [x, x[::2], x[::-1], x[:, None], square, square.T, square[:, :0], x[3:4], x[3, ...], x[:0]]
