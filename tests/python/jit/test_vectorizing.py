"""`vectorize` and `apply_along_axis` with compiled functions return what NumPy returns."""

import math
import warnings

import hypothesis
import numpy
import pytest
from hypothesis import strategies as st

import numelt as np
from numelt._jit import reporting

pytestmark = pytest.mark.core

N = 3000
RNG = numpy.random.default_rng(7)
FLOATS = RNG.normal(size=N)
INTS = RNG.integers(-50, 50, N)


def compiled_runs(function):
    """Return the number of runs of a function's compiled driver, without those that stopped at once."""
    reports = [unit.report() for unit in reporting.units(function)]
    return sum(variant["runs"] - variant["early"] for report in reports for variant in report["variants"])


def outcome(call):
    """Return the outcome of a call: the result with its dtype, or its exception; and its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = call()
        except Exception as error:
            return type(error), str(error), len(caught)
    results = result if isinstance(result, tuple) else (result,)
    plain = [numpy.asarray(one) for one in results]
    bits = [one.tolist() if one.dtype == object else one.tobytes() for one in plain]
    return [(one.dtype, one.shape) for one in plain], bits, sorted({str(w.message) for w in caught})


def same(function, *args, otypes=None, runs=True):
    ours = [np.asarray(arg) if isinstance(arg, numpy.ndarray) else arg for arg in args]
    wanted = outcome(lambda: numpy.vectorize(function, otypes=otypes)(*args))
    assert outcome(lambda: np.vectorize(function, otypes=otypes)(*ours)) == wanted
    assert outcome(lambda: np.vectorize(function, otypes=otypes)(*ours)) == wanted
    if runs is not None:
        assert (compiled_runs(function) > 0) == runs


def clipped(x, limit):
    if x > limit:
        return limit
    return -limit if x < -limit else x


def steps(n):
    k = 0
    while n not in (0, 1, -1) and k < 100:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        k += 1
    return k


def kinds(x):
    return x + 1, x * 0.5


def reciprocal(x):
    return 1 / (x - 7)


def root(x):
    return math.sqrt(x)


def mixed(x):
    return int(x) if x > 0 else x


def growing(x):
    return x**40


def text(x):
    return str(x)


def looked_up(x):
    return TABLE[str(x % 3)]


TABLE = {"0": 1.5, "1": 2.5, "2": 3.5}


def test_functions_of_elements():
    same(clipped, FLOATS, 0.7)
    same(clipped, FLOATS, abs(FLOATS[::-1]))
    same(clipped, FLOATS.astype("f4"), 0.5)
    same(steps, INTS)
    same(steps, INTS.astype("i2"))
    same(mixed, FLOATS)
    same(mixed, -abs(FLOATS))
    same(lambda x: x > 0, FLOATS)
    same(lambda x: x * 1j, FLOATS, runs=None)


def test_several_results():
    same(kinds, INTS)


def test_dtypes_of_results():
    same(clipped, FLOATS, 0.7, otypes=[numpy.float32])
    same(lambda x: x + 2, INTS, otypes="f")
    same(lambda x: x, FLOATS * 100, otypes=[int])
    same(lambda x: x + 0.5, INTS, otypes=[object], runs=False)


def test_shapes_and_memory_order():
    same(clipped, FLOATS.reshape(30, 100), 1)
    same(clipped, FLOATS.reshape(30, 100), abs(FLOATS[:100]))
    same(clipped, FLOATS.reshape(30, 100)[::-1, ::3], 0.5)
    turned = np.vectorize(clipped)(np.asarray(FLOATS.reshape(30, 100)).T, 1)
    wanted = numpy.vectorize(clipped)(FLOATS.reshape(30, 100).T, 1)
    assert turned.flags.f_contiguous == wanted.flags.f_contiguous
    assert numpy.array_equal(turned, wanted)
    same(clipped, FLOATS[:1], abs(FLOATS))


def test_errors_are_those_of_the_function():
    # some stop after less than two microseconds, which the report does not count as a run
    same(reciprocal, numpy.arange(N), runs=None)
    same(root, numpy.arange(N)[::-1] - 3, runs=None)
    same(growing, numpy.arange(N), runs=None)
    same(lambda x: x, numpy.r_[FLOATS, numpy.nan], otypes=[int], runs=None)


def test_functions_that_cannot_be_compiled():
    same(text, INTS, runs=False)
    same(looked_up, INTS, runs=False)
    assert np.vectorize(looked_up, signature="()->()")(np.arange(3)).tolist() == [1.5, 2.5, 3.5]


def test_functions_that_were_refused_are_left_to_numpys_loop(monkeypatch):
    def square(x):
        return x * x

    np.vectorize(square)(np.asarray(INTS))
    assert all(unit.pays() for unit in reporting.units(square))
    np.vectorize(looked_up, otypes=[float])(np.asarray(INTS))
    assert not all(unit.pays() for unit in reporting.units(looked_up))
    # nothing is prepared for compiled code that would not run
    monkeypatch.setattr("numelt._jit.vectorizing._filled", None)
    assert np.vectorize(looked_up, otypes=[float])(np.arange(3)).tolist() == [1.5, 2.5, 3.5]
    assert np.vectorize(looked_up)(np.arange(3)).tolist() == [1.5, 2.5, 3.5]


def test_few_elements_are_left_to_numpy():
    def plus(x):
        return x + 1

    assert np.vectorize(plus)([1, 2]).tolist() == [2, 3]
    assert compiled_runs(plus) == 0


def test_functions_that_are_made_again_share_their_code():
    def make(k):
        return lambda x: x * k

    for k in (2, 3, 4.5):
        assert numpy.array_equal(np.vectorize(make(k))(np.asarray(FLOATS)), FLOATS * k)
    variants = [v for u in reporting.units(make(1)) for v in u.report()["variants"]]
    assert len(variants) == 2


@hypothesis.given(
    st.sampled_from(["?", "i1", "u2", "i4", "u8", "i8", "f4", "f8", "c16"]),
    st.sampled_from([clipped, steps, kinds, reciprocal, mixed, lambda x: x * x - 1]),
    st.sampled_from([None, [float], [int], ["f4"], ["c16"]]),
    st.integers(1, 4),
)
@hypothesis.settings(max_examples=60, deadline=None)
def test_any_dtype(dtype, function, otypes, step):
    with numpy.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        values = (FLOATS * 30).astype("i8").astype(dtype)[::step]
    args = (values, 3) if function is clipped else (values,)
    if function is kinds and otypes is not None:
        otypes = otypes * 2
    ours = [np.asarray(values), *args[1:]]
    wanted = outcome(lambda: numpy.vectorize(function, otypes=otypes)(*args))
    got = outcome(lambda: np.vectorize(function, otypes=otypes)(*ours))
    assert got[:2] == wanted[:2]


def spread(line):
    low = high = line[0]
    for value in line:
        low = min(low, value)
        high = max(high, value)
    return high - low


def weighted(line, weights, power):
    total = 0.0
    for k in range(len(line)):
        total += line[k] * weights[k] ** power
    return total


@pytest.mark.parametrize("axis", [0, 1, -1, 2])
def test_along_an_axis(axis):
    cube = FLOATS.reshape(10, 30, 10)
    ours = np.asarray(cube)
    for function in (spread, lambda line: line[0] > 0, lambda line: line.max(), lambda line: line[::-1]):
        wanted = outcome(lambda function=function: numpy.apply_along_axis(function, axis, cube))
        assert outcome(lambda function=function: np.apply_along_axis(function, axis, ours)) == wanted
    assert compiled_runs(spread)
    weights = numpy.arange(30.0)
    wanted = numpy.apply_along_axis(weighted, axis, cube, weights, 2)
    got = np.apply_along_axis(weighted, axis, ours, np.asarray(weights), 2)
    assert wanted.tobytes() == numpy.asarray(got).tobytes()


def test_along_an_axis_each_line_is_taken_once():
    seen = []

    def note(line):
        seen.append(float(line[0]))
        return line[0]

    got = np.apply_along_axis(note, 1, np.asarray(FLOATS.reshape(1000, 3)))
    assert seen == FLOATS[::3].tolist() == got.tolist()

    def noted_lines(line):
        seen.append(float(line[0]))
        return line * 2

    seen.clear()
    np.apply_along_axis(noted_lines, 1, np.asarray(FLOATS.reshape(1000, 3)))
    assert seen == FLOATS[::3].tolist()


def test_results_of_other_types_are_cast_as_numpy_casts_them():
    def changing(line):
        return line[0] if line[0] < 1 else 7

    def narrowing(line):
        return 1 if line[0] < 0 else line[0]

    for function in (changing, narrowing):
        lines = FLOATS.reshape(1000, 3)
        wanted = numpy.apply_along_axis(function, 1, lines)
        got = np.apply_along_axis(function, 1, np.asarray(lines))
        assert got.dtype == wanted.dtype
        assert numpy.array_equal(got, wanted)
