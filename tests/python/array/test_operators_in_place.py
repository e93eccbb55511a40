"""Operations in place that run at once into new memory: programs must not be able to see the difference."""

import numpy
import pytest

import numelt

from ..support.compare import as_numpy, in_threads

pytestmark = pytest.mark.core


@pytest.fixture(autouse=True)
def habit():
    """Read small results until operations run at once."""
    before = numelt.config.at_once
    numelt.config.at_once = 1 << 16
    large = numelt.arange(5000.0)
    for a in [numelt.arange(3.0)] * 8 + [large] * 8:
        float((a + 1)[0])
    yield
    numelt.config.at_once = before


def at_once():
    """Return how many operations have run at once."""
    return numelt._core.stats()["at_once"]


STEPS = {
    "number": lambda np, x, y: np.add(x, 1.5, out=x),
    "array": lambda np, x, y: np.multiply(x, y, out=x),
    "itself": lambda np, x, y: np.subtract(x, x, out=x),
    "reversed": lambda np, x, y: np.add(x[::-1], y, out=x),
    "shifted": lambda np, x, y: np.add(x[:-1], y[1:], out=x[1:]),
    "part": lambda np, x, y: np.add(x[100:], 1, out=x[100:]),
    "scalar": lambda np, x, y: np.add(x, x[3], out=x),
    "iadd": lambda np, x, y: x.__iadd__(y),
}


@pytest.mark.parametrize("n", [2049, 4096, 6144, 6145, 8192, 8300])
@pytest.mark.parametrize("name", STEPS)
def test_views_see_what_is_written(name, n):
    results = []
    for np in (numelt, numpy):
        x, y = np.arange(n) * 0.5, np.arange(n) % 7 + 1.0
        before, after, square = x[::3], x[5:], x[: n // 2 * 2].reshape(2, -1)
        x[0], y[0]
        for _ in range(3):
            STEPS[name](np, x, y)
            square *= 2.0
            x[1] = -1.0
            y[0]
        results.append([as_numpy(a).tolist() for a in (x, before, after, square)])
    assert results[0] == results[1]


def test_it_happens():
    x = numelt.arange(4000.0)
    x[0]
    before = at_once()
    x += 1.0
    x *= 2.0
    assert at_once() == before + (2 if numelt._core.runs_at_once() and x.device == "cpu" else 0)
    assert x[3999] == 8000.0


def test_it_happens_to_parts():
    x = numelt.arange(4000.0)
    x[0]
    before = at_once()
    x[1:] += x[:-1]
    x[10:] *= 2.0
    assert at_once() == before + (2 if numelt._core.runs_at_once() and x.device == "cpu" else 0)
    assert x[3999] == 2.0 * (3999 + 3998)


@pytest.mark.parametrize("dtype", ["float32", "int16", "complex128", "bool"])
def test_dtypes(dtype):
    x, y = (np.arange(5000).astype(dtype) for np in (numelt, numpy))
    x[0]
    if dtype == "bool":
        x |= x[::-1].copy()
        y |= y[::-1].copy()
    else:
        x *= x
        y *= y
    assert as_numpy(x).tobytes() == y.tobytes()


def test_what_is_seen_outside_stays_in_place():
    x = numelt.arange(4000.0)
    seen = numpy.asarray(x)
    address = seen.__array_interface__["data"]
    x += 1.0
    assert x[0] == 1.0
    assert seen[0] == 1.0
    assert numpy.asarray(x).__array_interface__["data"] == address
    theirs = numpy.arange(4000.0)
    ours = numelt.asarray(theirs)
    ours += 1.0
    assert ours[0] == 1.0
    assert theirs[0] == 1.0
    held = memoryview(ours)
    ours += 1.0
    assert held[1] == 3.0


def test_lent_memory_moves_only_between_calls():
    x = numelt.arange(4000.0)
    for turn in range(4):
        assert numelt.searchsorted(x, 100.0 + turn) == 100
        x += 1.0
        assert x[0] == turn + 1
    assert numelt.sort(x[::-1])[0] == 4.0


def test_a_condition_met_leaves_the_values_to_the_recorded_operation():
    x = numelt.full(3000, 1e300)
    x[0]
    with pytest.warns(RuntimeWarning, match="overflow"):
        numelt.multiply(x, 1e300, out=x).tolist()
    assert x[5] == numpy.inf
    y = numelt.arange(3000.0)
    y[0]
    with numelt.errstate(divide="raise", invalid="raise"), pytest.raises(FloatingPointError):
        y /= 0.0


def test_pending_readers_read_what_was():
    x = numelt.arange(5000.0)
    x[0]
    with numelt.inspect():
        later = x * 2.0
    x += 1.0
    assert later[1] == 2.0
    assert x[1] == 2.0


def test_threads():
    shared = numelt.zeros(3000)

    def count(_):
        for _ in range(100):
            own = numelt.ones(3000)
            own += shared * 0.0
            own *= 3.0
            assert own[2999] == 3.0
            assert float(own.sum()) == 9000.0

    def change():
        nonlocal shared
        for _ in range(100):
            shared += 1.0
            numelt.sort(shared)

    in_threads(lambda n: count(n) if n else change(), range(5))
    assert shared[7] == 100.0


@pytest.mark.parametrize("name", ["add", "maximum", "multiply"])
@pytest.mark.parametrize("rows", [33, 40, 90])
def test_reductions_into_the_first_row_of_their_operand_keep_the_rest(name, rows):
    """The result has as many elements as a row, and only those are written."""
    results = []
    for np in (numelt, numpy):
        for dtype in ("i1", "f8"):
            x = np.array((numpy.arange(rows * 65).reshape(rows, 65) % 3).astype(dtype))
            getattr(np, name).reduce(x, axis=0, out=x[0])
            results.append(as_numpy(x))
    for ours, theirs in zip(results[:2], results[2:], strict=True):
        numpy.testing.assert_array_equal(ours, theirs)


def test_reductions_into_the_first_row_keep_the_rest_where_results_are_read_as_they_come():
    """Such operations run when they are called, and may give their array new memory."""
    base = numpy.arange(2400.0).reshape(40, 60) % 11
    for name in ["sum", "max", "prod"] * 12:
        results = []
        for np in (numelt, numpy):
            read = np.array(base)
            str(read)
            x = read.copy()
            getattr(np, name)(x, axis=0, out=x[0])
            results.append(as_numpy(x).copy())
        numpy.testing.assert_array_equal(*results)
