"""Reductions of lists of numbers, against NumPy."""

import warnings

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

import numelt

from ..support.compare import assert_same


def outcome(function, np):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            made = function(np)
        except (IndexError, ValueError, TypeError, OverflowError) as error:
            return type(error), str(error)
    return made, sorted(str(w.message) for w in caught)


def both(function, context=None):
    ours, theirs = outcome(function, numelt), outcome(function, numpy)
    for got, want in zip(ours, theirs, strict=True):
        if isinstance(want, (numpy.ndarray, numpy.generic)):
            assert_same(got, want, context=str(context))
        else:
            assert got == want, context


NUMBERS = st.lists(
    st.one_of(
        st.integers(-(2**70), 2**70),
        st.floats(),
        st.booleans(),
        st.sampled_from([numpy.float64(2), numpy.int8(3)]),
    ),
    max_size=6,
)


@pytest.mark.parametrize("name", ["argmin", "argmax", "min", "max", "sum", "prod", "mean", "any", "all"])
@given(numbers=NUMBERS)
def test_reducing_a_list_of_numbers(name, numbers):
    for sequence in (numbers, tuple(numbers), [numbers, numbers]):
        both(lambda np, s=sequence: getattr(np, name)(s), sequence)
        both(lambda np, s=sequence: getattr(np, name)(s, axis=-1), sequence)
        both(lambda np, s=sequence: getattr(np, name)(s, keepdims=True), sequence)
