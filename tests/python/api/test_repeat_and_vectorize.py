"""`repeat` with counts, and functions that `vectorize` makes."""

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

import numelt

from ..support.compare import assert_same
from ..support.outcomes import check


@given(
    st.lists(st.integers(0, 4), min_size=1, max_size=30),
    st.sampled_from(["?", "int8", "uint16", "int64", "float32", "float64", "complex128"]),
)
def test_repeated_by_counts(counts, dtype):
    values = numpy.arange(len(counts)).astype(dtype)
    theirs = numpy.repeat(values, counts)
    for many in (1, 200):
        ours = numelt.repeat(numelt.array(numpy.tile(values, many)), numelt.array(counts * many))
        assert_same(ours, numpy.tile(theirs, many))


def test_vectorized_functions():
    def run(np):
        step = np.vectorize(lambda k, by=1: k // 2 if k % 2 == 0 else 3 * k + by)
        n = np.arange(6)
        made = [step(n), step(n, 2), step(n, by=n), step(3), step(n.reshape(2, 3)[:, ::-1]), step([1, 2])]
        made.append(np.vectorize(str)(n))
        made.append(np.vectorize(lambda x: x * 2, otypes=[float])(np.arange(0)))
        made.append(np.vectorize(lambda r: r.sum(), signature="(n)->()")(n.reshape(2, 3)))
        made += list(np.vectorize(lambda x: (x, -x))(n))
        made.append(np.vectorize(lambda x, p: x + p[0], excluded=["p"])(n, p=[3]))

        @np.vectorize
        def twice(x):
            return 2 * x

        made.append(twice(n))
        return made

    check(run)
    assert type(numelt.vectorize(abs)(numelt.arange(2))) is numelt.ndarray
    with pytest.raises(ValueError, match="size 0"):
        numelt.vectorize(abs)(numelt.arange(0))


class Half(numpy.vectorize):
    """A class that a program derives from it."""

    def __call__(self, *args):
        return super().__call__(*args) / 2


def test_classes_over_vectorize():
    half = type(
        "Half",
        (numelt.vectorize,),
        dict(vars(Half)) | {"__call__": lambda s, x: numelt.vectorize.__call__(s, x) / 2},
    )
    assert_same(half(abs)(numelt.arange(3)), Half(abs)(numpy.arange(3)))


def test_vectorize_on_few_elements_calls_numpys_without_the_package(monkeypatch):
    def refuse(*args):
        raise AssertionError("the package's Python code has run")

    double = numelt.vectorize(lambda x: 2 * x)
    monkeypatch.setattr("numelt._dispatch.fallback.call", refuse)
    assert_same(double(numelt.arange(3)), numpy.arange(0, 6, 2))
    numelt.coverage(reset=True)
    double(numelt.arange(3))
    [counted] = numelt.coverage(reset=True).fallbacks
    assert (counted.function, counted.filename) == ("vectorize", __file__)
