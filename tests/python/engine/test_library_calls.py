"""Library calls: NumPy's own code on our memory, counted separately from fallbacks."""

import subprocess
import sys

import numpy
import pytest

import numelt
from numelt._dispatch import table
from numelt._dispatch.routine import library_function

from ..support.compare import assert_same


@pytest.fixture(autouse=True)
def counted_anew():
    numelt.coverage(reset=True)
    yield
    numelt.config.fallback = "silent"


def test_counted_as_library_and_not_as_fallback():
    numelt.config.fallback = "error"
    x = numelt.arange(5.0)[::-1]
    assert_same(numelt.sort(x), numpy.arange(5.0))
    assert_same(x.argsort(), numpy.arange(5)[::-1])
    report = numelt.coverage()
    assert report.library == {"sort": 1, "ndarray.argsort": 1}
    assert report.fallbacks == []
    assert "library calls: 2" in str(report)
    assert report.as_dict()["library"] == report.library


# functions without an implementation in the package, each with a call on a vector of floats
COMPOSED = {
    "diag_indices": lambda np, x: np.diag_indices(len(x)),
    "diagflat": lambda np, x: np.diagflat(x, 1),
    "median": lambda np, x: np.median(x),
    "percentile": lambda np, x: np.percentile(x, [10, 90]),
    "polyadd": lambda np, x: np.polyadd(x, x[:2]),
    "polyder": lambda np, x: np.polyder(x),
    "polyint": lambda np, x: np.polyint(x, 2),
    "polysub": lambda np, x: np.polysub(x, x[:2]),
    "tril_indices": lambda np, x: np.tril_indices(len(x), -1),
    "triu_indices": lambda np, x: np.triu_indices(len(x), 1, 2),
    "unpackbits": lambda np, x: np.unpackbits(x.astype("u1")),
    "vander": lambda np, x: np.vander(x, 4, increasing=True),
}


@pytest.mark.parametrize("size", [3, 40, 1100])
@pytest.mark.parametrize("name", COMPOSED)
def test_numpys_own_function_runs(name, size):
    assert name in table.LIBRARY
    numelt.config.fallback = "error"
    x = numpy.linspace(-1.0, 2.0, size)
    expected = COMPOSED[name](numpy, x * 1.5)
    # the argument is pending
    assert_same(COMPOSED[name](numelt, numelt.array(x) * 1.5), expected)
    assert numelt.coverage().library == {name: 1}


def test_the_table_names_functions_of_numpy():
    # `in1d` is missing in some supported releases
    missing = {name for name in table.LIBRARY if not hasattr(numpy, name) and "." not in name}
    assert missing <= {"in1d"}


@pytest.mark.core
def test_sort_in_place_writes_our_memory():
    x = numelt.array([3.0, 1.0, 2.0]) * 2
    view = x[:2]
    x.sort()
    assert_same(view, numpy.array([2.0, 4.0]))
    assert_same(x, numpy.array([2.0, 4.0, 6.0]))
    x += 1  # lazy again
    assert_same(x, numpy.array([3.0, 5.0, 7.0]))


@pytest.mark.core
def test_results_nobody_else_holds_are_adopted():
    x = numelt.sort(numelt.arange(10.0))
    numelt.flush()
    with numelt.inspect() as seen:
        y = x + 1  # not run at once: nobody else sees the memory
        assert len(seen.flushes) == 0
        assert float(y[0]) == 1.0


def test_lists_and_functions_go_through_the_search():
    x = numelt.arange(4)
    assert_same(numelt.lexsort((x[::-1], [0, 0, 1, 1])), numpy.lexsort((numpy.arange(4)[::-1], [0, 0, 1, 1])))
    assert_same(numelt.searchsorted([1, 2, 3], numelt.array([2])), numpy.array([1]))
    assert_same(numelt.unique([[2, 1], [1, 2]], axis=0), numpy.array([[1, 2], [2, 1]]))


def test_out_given_is_the_object_returned():
    x, out = numelt.arange(4.0), numelt.empty(4)
    plain = numpy.empty(4)
    copy = library_function("test.copy", lambda a, out: numpy.add(a, 0, out=out))
    assert copy(x, out=out) is out
    assert copy(x, out=plain) is plain
    assert copy(x + 1, out) is out
    assert_same(out, numpy.arange(4.0) + 1)


def test_errors_are_numpys():
    with pytest.raises(ValueError, match="kth"):
        numelt.partition(numelt.arange(3), 9)
    with pytest.raises(numpy.exceptions.AxisError):
        numelt.sort(numelt.arange(3), axis=2)
    with pytest.raises(TypeError):
        numelt.sort()


def test_profile_shows_them_by_line():
    x = numelt.arange(100.0)
    with numelt.profile() as report:
        numelt.sort(x)
        numelt.sort(x)
    ((filename, _, name), (calls, seconds)), *_ = sorted(report.library.items())
    assert (filename, name, calls) == (__file__, "sort", 1)
    assert seconds > 0
    assert "(sort)" in str(report)


def test_trace():
    code = "import numelt as np; np.config.trace = 1; np.sort([2, 1]); np.config.trace = 0; np.sort([2, 1])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.count("numelt: library sort, ") == 1
