"""Operations that run in NumPy: counted, located, on the same memory, with converted results."""

import warnings

import numpy
import pytest

import numelt

from ..support.compare import assert_same

pytestmark = pytest.mark.quick


@pytest.fixture(autouse=True)
def counted_anew():
    numelt.coverage(reset=True)
    yield
    numelt.config.fallback = "silent"


def fallbacks():
    return {entry.function: entry for entry in numelt.coverage().fallbacks}


def test_counted_with_the_users_line():
    for _ in range(3):
        numelt.busday_count("2024-01", "2024-02")  # counted here
    entry = fallbacks()["busday_count"]
    assert entry.calls == 3
    assert entry.filename == __file__
    with open(__file__) as file:
        assert "# counted here" in file.readlines()[entry.lineno - 1]


def test_report_is_a_table():
    numelt.busday_count("2024-01", "2024-02")
    text = str(numelt.coverage())
    assert "busday_count" in text
    assert "test_fallback.py" in text
    assert numelt.coverage(reset=True).fallback_calls == 1
    assert numelt.coverage().fallback_calls == 0


def test_reads_are_not_fallbacks():
    x = numelt.arange(4.0)
    numpy.asarray(x)
    str(x), repr(x), x.tolist(), float(x[0]), list(x), x.tobytes(), memoryview(x)
    numelt.result_type(x, 1), numelt.shape(x), numelt.can_cast(x.dtype, "f4")
    assert fallbacks() == {}


def test_policy_error():
    numelt.config.fallback = "error"
    with pytest.raises(numelt.FallbackError) as caught:
        numelt.busday_count("2024-01", "2024-02")
    assert caught.value.function == "busday_count"
    assert caught.value.filename == __file__
    assert float(numelt.sum(numelt.arange(3) * 2)) == 6


def test_policy_warn_once_per_line():
    numelt.config.fallback = "warn"
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("default")
        for _ in range(2):
            numelt.busday_count("2024-01", "2024-02")
    assert [w.category for w in seen] == [numelt.FallbackWarning]
    assert seen[0].filename == __file__


def test_unknown_policy():
    with pytest.raises(ValueError, match="fallback policy"):
        numelt.config.fallback = "loud"


@pytest.mark.core
def test_aliases_stay_aliases():
    x = numelt.arange(12.0)
    view = numelt.lib.stride_tricks.sliding_window_view(x, 3, writeable=True)
    view[0, 0] = 99
    assert float(x[0]) == 99
    x[1] = -1
    assert view[0].tolist() == [99.0, -1.0, 2.0]
    parts = numelt.array_split(x, 2)
    parts[0][:] = 0
    assert float(numelt.sum(x)) == float(numpy.arange(6, 12.0).sum())


@pytest.mark.core
def test_fallbacks_write_into_our_memory():
    x = numelt.arange(5.0)[::-1]
    base = x.base if x.base is not None else x
    x.sort()
    assert x.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]
    numelt.put(x, [0], [7.0])
    numelt.putmask(x, x > 3, 5.0)
    assert x.tolist() == [5.0, 1.0, 2.0, 3.0, 5.0]
    assert sorted(base.tolist()) == sorted(x.tolist())
    y = numelt.zeros(5)
    assert numelt.cumsum(x, out=y) is y
    assert numelt.median(x.reshape(1, -1), axis=0, out=y) is y
    assert_same(y, numpy.array([5.0, 1.0, 2.0, 3.0, 5.0]))


@pytest.mark.core
def test_plain_numpy_sees_our_writes_and_we_see_its():
    x = numelt.zeros(4)
    plain = numpy.asarray(x)
    x += 1
    assert plain.tolist() == [1.0] * 4
    plain[0] = 5
    assert float(numelt.sum(x)) == 8.0
    x[1:] = x[:-1] * 2
    assert plain.tolist() == [5.0, 10.0, 2.0, 2.0]
    del plain
    x += 1
    assert x.tolist() == [6.0, 11.0, 3.0, 3.0]


@pytest.mark.core
def test_adopted_memory_is_shared():
    plain = numpy.arange(4.0)
    x = numelt.asarray(plain)
    plain[0] = 9
    assert float(x[0]) == 9
    y = x * 2
    plain[0] = 1
    assert float(y[0]) == 18.0
    x[:] = 3
    assert plain.tolist() == [3.0] * 4


def test_results_nobody_holds_are_adopted_without_a_copy():
    """Smaller ones, of up to 8 KB, are copied, which costs less."""
    taken = []

    def make():
        x = numpy.ones(1025)
        taken.append(x.__array_interface__["data"][0])
        return x

    x = numelt._dispatch.fallback.uncounted(make, (), {})
    assert numpy.asarray(x).__array_interface__["data"][0] == taken[0]


def test_results_somebody_holds_stay_shared():
    held = numpy.ones(4)
    x = numelt._dispatch.fallback.uncounted(lambda: held, (), {})
    y = x + 1
    held[:] = 7
    assert float(x[0]) == 7.0
    assert float(y[0]) == 2.0


def test_nested_arguments_and_results():
    x = numelt.arange(6).reshape(2, 3)
    blocks = numelt.block([[x, x], [x, x]])
    assert type(blocks) is numelt.ndarray
    assert blocks.shape == (4, 6)
    result = numelt.linalg.eigh(numelt.eye(2))
    assert type(result).__name__ == "EighResult"
    assert type(result.eigenvalues) is numelt.ndarray
    places = numelt.nonzero(x)
    assert isinstance(places, tuple)
    assert all(type(p) is numelt.ndarray for p in places)


def test_callbacks():
    assert_same(numelt.vectorize(lambda a: a + 1)(numelt.arange(3)), numpy.arange(1, 4))
    assert_same(numelt.apply_along_axis(numelt.sum, 0, numelt.eye(2)), numpy.ones(2))
    assert_same(numelt.apply_along_axis(lambda row: row * 2, 1, numelt.eye(2)), 2 * numpy.eye(2))
    assert_same(numelt.fromfunction(lambda i: numelt.sin(i), (3,)), numpy.sin(numpy.arange(3.0)), 1)
    assert_same(
        numelt.piecewise(numelt.arange(3.0), [numelt.arange(3) > 1], [1.0, -1.0]), numpy.array([-1.0, -1, 1])
    )
    assert numelt.frompyfunc(abs, 1, 1)(numelt.array([-1, 2])).tolist() == [1, 2]


@pytest.mark.parametrize("dtype", ["longdouble", "object", "U5", "S3", "datetime64[D]", ">f8"])
def test_dtypes_that_are_never_native(dtype):
    theirs = numpy.array([1, 2, 3], dtype=dtype)
    ours = numelt.array(theirs)
    assert type(ours) is numelt.ndarray
    assert ours.dtype == theirs.dtype
    assert repr(ours) == repr(theirs)
    assert (numpy.asarray(ours[1:]) == theirs[1:]).all()
    ours[0] = theirs[2]
    assert numpy.asarray(ours)[0] == theirs[2]
    assert ours.astype(theirs.dtype).dtype == theirs.dtype
    if dtype in ("longdouble", ">f8"):
        assert_same(numelt.array(theirs) + 1, theirs + 1)
        assert_same(numelt.sum(numelt.array(theirs)), theirs.sum())


def test_structured_arrays():
    theirs = numpy.array([(1, 2.0), (3, 4.0)], "i4,f8")
    ours = numelt.array(theirs)
    assert repr(ours) == repr(theirs)
    assert_same(ours["f1"], theirs["f1"])
    ours["f0"][1] = 9
    assert ours[1][0] == 9
    assert ours.dtype.names == ("f0", "f1")


def test_random_streams_are_numpys():
    for seed in (0, 7):
        ours, theirs = numelt.random.default_rng(seed), numpy.random.default_rng(seed)
        assert isinstance(ours, numpy.random.Generator)
        assert isinstance(ours, numelt.random.Generator)
        for call in (
            lambda g: g.random(5),
            lambda g: g.standard_normal((2, 3)),
            lambda g: g.integers(0, 10, 4),
            lambda g: g.choice(5, 3, replace=False),
            lambda g: g.permutation(6),
            lambda g: g.random(),
            lambda g: g.normal(1.0, 2.0, 3),
            lambda g: g.spawn(2)[1].random(2),
        ):
            assert_same(call(ours), call(theirs))
        x, y = numelt.arange(6), numpy.arange(6)
        ours.shuffle(x)
        theirs.shuffle(y)
        assert_same(x, y)
    numelt.random.seed(3)
    ours = numelt.random.rand(3)
    numpy.random.seed(3)
    assert_same(ours, numpy.random.rand(3))
    assert_same(numelt.random.RandomState(1).randn(2), numpy.random.RandomState(1).randn(2))
    assert fallbacks() == {}


def test_functions_of_numpy_called_with_our_arrays():
    x = numelt.arange(4.0)
    assert type(numpy.sin(x)) is numelt.ndarray
    assert type(numpy.concatenate([x, x])) is numelt.ndarray
    assert type(numpy.ones(4) * x) is numelt.ndarray
    assert type(x * numpy.ones(4)) is numelt.ndarray
    assert isinstance(numpy.sum(x), numpy.float64)
    assert float(numpy.add.reduce(x)) == 6.0
    assert_same(numpy.sort(x[::-1]), numpy.arange(4.0))
    plain = numpy.zeros(4)
    numpy.add(x, 1, out=plain)
    assert plain.tolist() == [1.0, 2.0, 3.0, 4.0]
    plain += x
    assert type(plain) is numpy.ndarray
    assert plain.tolist() == [1.0, 3.0, 5.0, 7.0]


def test_ufunc_methods_and_keywords():
    x, y = numelt.arange(6.0).reshape(2, 3), numpy.arange(6.0).reshape(2, 3)
    assert_same(numelt.add.reduce(x, axis=1), numpy.add.reduce(y, axis=1))
    assert_same(numelt.add.accumulate(x, axis=1), numpy.add.accumulate(y, axis=1))
    assert_same(numelt.multiply.outer(x[0], x[1]), numpy.multiply.outer(y[0], y[1]))
    assert_same(numelt.add.reduceat(x[0], [0, 2]), numpy.add.reduceat(y[0], [0, 2]))
    numelt.add.at(x, (0, [1, 1]), 5)
    numpy.add.at(y, (0, [1, 1]), 5)
    assert_same(x, y)
    for keywords in (
        {"dtype": "f4", "casting": "same_kind"},
        {"where": y > 2, "out": None},
        {"order": "F"},
        {"subok": False},
    ):
        if "where" in keywords:
            ours, theirs = numelt.zeros((2, 3)), numpy.zeros((2, 3))
            numelt.sqrt(x, where=x > 2, out=ours)
            numpy.sqrt(y, where=y > 2, out=theirs)
            assert_same(ours, theirs)
        else:
            assert_same(numelt.sqrt(x, **keywords), numpy.sqrt(y, **keywords), 1)
    assert numelt.add.identity == 0
    assert numelt.add.nargs == 3
    assert repr(numelt.add) == repr(numpy.add)
