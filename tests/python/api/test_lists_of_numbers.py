"""Reductions of lists of numbers, against NumPy."""

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ..support.same_results import both

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
