"""Arrays that are made of lists of arrays: rows that are pending or change later, and copies."""

import warnings

import numpy
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import numelt

from ..support.compare import assert_same, outcome


@pytest.fixture(autouse=True, params=[0, 1 << 16], ids=["recorded", "at once"])
def habit(request):
    """Record all operations, or read small results until operations run at once."""
    before = numelt.config.at_once
    numelt.config.at_once = request.param
    for a in [numelt.arange(3.0)] * 8:
        float((a + 1)[0])
    yield
    numelt.config.at_once = before


def assert_alike(make, context=""):
    """Assert that `make(np)` returns or raises the same, with the same strides."""
    kind, want = outcome(make, numpy)
    ours, got = outcome(make, numelt)
    assert ours == kind, f"{context}: {got!r} for {want!r}"
    if kind == "error":
        assert (type(got), str(got)) == (type(want), str(want)), context
    else:
        assert_same(got, want, context=context)
        assert got.strides == want.strides or not want.size, context
        assert got.flags.writeable == want.flags.writeable, context


def test_rows_that_wait_and_rows_that_change():
    def make(np):
        big = np.arange(12000.0).reshape(30, 400)
        rows = [row * 1.5 for row in big]
        first = np.array(rows)
        for row in rows:
            row += 1.0
        big[:] = np.array(list(big[::-1]))
        second = np.asarray(rows)
        return np.array([first, second, big])

    assert_alike(make)


def test_subok_and_copies_of_our_arrays():
    for subok in (True, False):
        x = numelt.arange(6.0)[::2]
        y = numelt.array(x, subok=subok, copy=True)
        y[0] = 9.0
        assert type(y) is numelt.ndarray
        assert x.tolist() == [0.0, 2.0, 4.0]
        assert y.tolist() == [9.0, 2.0, 4.0]


@pytest.mark.core
@pytest.mark.parametrize("n", [100, 2047, 16_384, 40_000])
def test_joins_of_every_length(n):
    for dtype in ("f8", "i1", "c16"):
        assert_alike(lambda np, dtype=dtype: np.concatenate([np.ones(n, dtype), np.zeros(n, dtype)]))
        assert_alike(lambda np, dtype=dtype: np.hstack([np.ones((2, n), dtype), np.zeros((2, 3), dtype)]))


SPECIAL = [
    0,
    1,
    -3,
    2**53,
    2**53 + 1,
    2**63,
    0.5,
    -0.0,
    float("inf"),
    float("nan"),
    True,
    False,
    1j,
    complex(-0.0, 2),
]
SCALARS = [numpy.True_, numpy.float64(2.5), numpy.int64(-7), numpy.complex128(1 - 2j), numpy.complex64(1j)]
SCALARS += [numpy.float32(0.1), numpy.int8(5)]
ITEMS = st.one_of(
    st.booleans(),
    st.integers(-(2**62), 2**62),
    st.floats(),
    st.complex_numbers(),
    st.sampled_from(SPECIAL + SCALARS),
)
ALIKE = [st.booleans(), st.floats(), st.complex_numbers(), ITEMS]


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_lists_of_numbers(data):
    items = data.draw(st.sampled_from(ALIKE))
    values = data.draw(st.one_of(st.lists(items, max_size=20), st.lists(st.tuples(items, items), max_size=8)))
    dtype = data.draw(st.sampled_from([None, bool, int, "u1", "f2", "f4", float, "c8", complex]))

    def make(np):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            made = np.array(values, dtype=dtype)
        return made, np.asarray(caught, dtype=object).shape

    (kind, want), (ours, got) = outcome(make, numpy), outcome(make, numelt)
    assert ours == kind, f"{values}, {dtype}: {got!r} for {want!r}"
    if kind == "error":
        assert (type(got), str(got)) == (type(want), str(want)), (values, dtype)
    else:
        assert_same(got[0], want[0], context=f"{values}, {dtype}")
        assert got[1] == want[1], f"warnings of {values}, {dtype}"
