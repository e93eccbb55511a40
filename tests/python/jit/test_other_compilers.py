"""Compilers of other libraries, which read the code of functions, get functions as they are written."""

import importlib.util
import types

import pytest

from numelt._jit.source import as_written
from numelt._jit.twin import module_twin

from .test_loading import run, runs

TEXT = """
def total(x, start=0, *, step=1):
    s = start
    for i in range(0, len(x), step):
        s += x[i]
    return s


def counter(limit):
    seen = 0

    def count(n):
        nonlocal seen
        while n > 0 and seen < limit:
            n, seen = n - 1, seen + 1
        return seen

    return count


for unused in range(3):
    def again(n):
        while n > 3:
            n -= 2
        return n

plain = lambda n: n + 1
"""


@pytest.fixture
def names():
    """The names of a module whose functions are twins, and of the same module without twins."""
    twins, plain = {"__name__": "twins"}, {"__name__": "twins"}
    exec(module_twin(TEXT, "<twins>", twins).code, twins)
    exec(compile(TEXT, "<twins>", "exec"), plain)
    return twins, plain


def test_functions_have_the_code_of_their_source(names):
    twins, plain = names
    for name in ("total", "again", "plain"):
        written = as_written(twins[name])
        assert written.__code__ == plain[name].__code__
        assert written.__globals__ is twins
    written = as_written(twins["total"])
    assert written([1, 2, 3]) == 6
    assert written([1, 2, 3], 1, step=2) == 5
    assert not hasattr(written, "__wrapped__")


def test_functions_share_the_variables_of_enclosing_functions(names):
    twins, plain = names
    count = twins["counter"](5)
    written = as_written(count)
    assert written.__code__ == plain["counter"](5).__code__
    assert (count(2), written(2), count(9)) == (2, 4, 5)


@pytest.mark.parametrize("thing", [len, as_written, None, types.SimpleNamespace()])
def test_what_is_no_twin_stays(thing):
    assert as_written(thing) is thing


NUMBA = """
import numpy as np
from numba import guvectorize, njit, prange, vectorize


@njit
def norm(x):
    s = 0.0
    for i in range(len(x)):
        s += x[i] ** 2
    return np.sqrt(s)


@njit(parallel=True)
def scaled(x, by=2.0):
    out = np.empty_like(x)
    for i in prange(len(x)):
        out[i] = x[i] * by / norm(x)
    return out


def running(x, out):
    out[0] = x[0]
    for i in range(1, len(x)):
        out[i] = out[i - 1] + x[i]


@vectorize(["float64(float64)"])
def steps(x):
    n = 0.0
    while x > 1:
        x, n = x / 2, n + 1
    return n


def made(k):
    @njit
    def inner(x):
        s = 0.0
        for v in x:
            s += v * k
        return s

    return inner


@njit
def halves(x, depth):
    s = 0.0
    for v in x:
        s += v
    if depth == 0:
        return s
    return s + halves(x[: len(x) // 2], depth - 1)


x = np.arange(1.0, 9.0)
print(norm(x), scaled(x), steps(x), made(3)(x), halves(x, 2))
print(guvectorize(["(float64[:], float64[:])"], "(n)->(n)", nopython=True)(running)(x))
total = 0.0
for _ in range(50):
    total += norm(x)
print(total, norm.py_func(x))
"""


def test_numba_compiles_functions_of_a_file_with_compiled_loops(tmp_path):
    if importlib.util.find_spec("numba") is None:
        pytest.skip("numba is not installed")
    (tmp_path / "program.py").write_text(NUMBA)
    # the second run takes the twins from the disk
    assert runs(tmp_path, 2) == [[], []]
    assert "8." in run(tmp_path).stdout
