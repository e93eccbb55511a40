"""Programs with compiled loops have the same outcome as in CPython, in the first call and in later ones."""

import math
import pickle
import signal
import threading

import numpy
import pytest

import numelt as np

from .random_programs import outcome

pytestmark = pytest.mark.core


def norm(a):
    s = 0
    for i in range(len(a)):
        s += a[i] * a[i]
    return math.sqrt(s)


def mandel(w, h, n):
    out = np.zeros((h, w), int)
    for y in range(h):
        for x in range(w):
            c = complex(3.0 * x / w - 2.0, 2.0 * y / h - 1.0)
            z = 0j
            k = 0
            while abs(z) <= 2 and k < n:
                z = z * z + c
                k += 1
            out[y, x] = k
    return out


def bubble(a):
    a = a.copy()
    n = len(a)
    for i in range(n):
        for j in range(n - 1 - i):
            if a[j] > a[j + 1]:
                a[j], a[j + 1] = a[j + 1], a[j]
    return a


def sieve(n):
    flags = np.ones(n + 1, dtype=bool)
    flags[0] = flags[1] = False
    i = 2
    while i * i <= n:
        if flags[i]:
            for j in range(i * i, n + 1, i):
                flags[j] = False
        i += 1
    return flags


def collatz(n):
    best = 0
    for i in range(1, n):
        k, x = 0, i
        while x != 1:
            if x % 2 == 0:
                x //= 2
            else:
                x = 3 * x + 1
            k += 1
        if k > best:
            best = k
    return best


def histogram(a, n):
    h = np.zeros(n, int)
    for v in a:
        h[int(v * n)] += 1
    return h


def nussinov(seq):
    n = len(seq)
    table = np.zeros((n, n), np.int32)
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            best = max(table[i, j - 1], table[i + 1, j])
            pair = 1 if seq[i] + seq[j] == 3 and i < j - 1 else 0
            best = max(best, table[i + 1, j - 1] + pair)
            if j - i > 2:
                best = max(best, (table[i, i + 1 : j - 1] + table[i + 2 : j, j]).max())
            table[i, j] = best
    return table


def dither(image):
    out = image.copy()
    spread = np.array([3, 5, 1]) / 16
    rows, columns = out.shape
    for y in range(rows):
        for x in range(columns):
            old = out[y, x]
            new = np.round(old)
            out[y, x] = new
            error = old - new
            if x + 1 < columns:
                out[y, x + 1] += error * 7 / 16
            if y + 1 < rows:
                first, last = max(x - 1, 0), min(x + 2, columns)
                out[y + 1, first:last] += error * spread[first - x + 1 : last - x + 1]
    return out


def crc(data):
    crc = 0xFFFF
    for byte in data:
        now = 0xFF & int(byte)
        for _ in range(8):
            crc = (crc >> 1) ^ 0x8408 if (crc & 1) ^ (now & 1) else crc >> 1
            now >>= 1
    crc = ~crc & 0xFFFF
    return (crc << 8) | ((crc >> 8) & 0xFF)


def lcs(a, b):
    table = np.zeros((len(a) + 1, len(b) + 1), dtype=int)
    for i in range(len(a)):
        for j in range(len(b)):
            if a[i] == b[j]:
                table[i + 1, j + 1] = table[i, j] + 1
            else:
                table[i + 1, j + 1] = max(table[i, j + 1], table[i + 1, j])
    return table[-1, -1]


def garch(returns, omega, alpha, beta):
    n = len(returns)
    variance = np.empty(n)
    variance[0] = returns.var()
    for t in range(1, n):
        variance[t] = omega + alpha * returns[t - 1] ** 2 + beta * variance[t - 1]
    return variance


def helper(x, k=2):
    if x < 0:
        return -x * k
    return x / k


def uses_helper(a):
    t = 0.0
    for v in a:
        t += helper(v) + helper(v, k=3)
    return t


def overflow(n):
    x = 1
    for i in range(n):
        x = x * 7 + i
    return x


def indexerr(a):
    s = 0.0
    for i in range(len(a) + 1):
        s += a[i]
    return s


def zerodiv(n):
    for i in range(n):
        x = 10 // (n - 3 - i)
    return x


def searching(a, v):
    for i, x in enumerate(a):
        if x == v:
            return i
    return -1


def best_of(a):
    best = -1.0
    where = None
    for i in range(len(a)):
        if a[i] > best:
            best = a[i]
            where = i
    return best, where


def expsum(a):
    s = 0.0
    for x in a:
        s += np.exp(-x) + math.sin(x) * np.log(x + 1)
    return s


def stencil(a, n):
    b = a.copy()
    for _ in range(n):
        for i in range(1, a.shape[0] - 1):
            for j in range(1, a.shape[1] - 1):
                b[i, j] = 0.25 * (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1])
        a, b = b, a
    return a


def prints(n):
    out = []
    s = 0
    for i in range(n):
        s += i
        if s % 7 == 0:
            out.append(s)
    return out, s


def unbound(n):
    for i in range(n):
        if i == 5:
            y = i
    return y


RNG = numpy.random.default_rng(0)
CASES = [
    (norm, lambda: (np.asarray(RNG.random(100000)),)),
    (mandel, lambda: (60, 40, 50)),
    (bubble, lambda: (np.asarray(RNG.random(300)),)),
    (sieve, lambda: (100000,)),
    (collatz, lambda: (3000,)),
    (histogram, lambda: (np.asarray(RNG.random(20000)), 50)),
    (nussinov, lambda: (np.asarray(RNG.integers(0, 4, 60)),)),
    (dither, lambda: (np.asarray(RNG.random((60, 60)) * 3),)),
    (crc, lambda: (np.asarray(RNG.integers(0, 256, 3000, dtype="u1")),)),
    (lcs, lambda: (np.asarray(RNG.integers(0, 4, 120)), np.asarray(RNG.integers(0, 4, 130)))),
    (garch, lambda: (np.asarray(RNG.normal(0, 0.01, 5000)), 1e-6, 0.1, 0.8)),
    (uses_helper, lambda: (np.asarray(RNG.normal(0, 1, 5000)),)),
    (overflow, lambda: (60,)),
    (indexerr, lambda: (np.arange(30.0),)),
    (zerodiv, lambda: (9,)),
    (searching, lambda: (np.arange(3000), 2500)),
    (searching, lambda: (np.arange(3000), -1)),
    (best_of, lambda: (np.asarray(RNG.random(3000)),)),
    (best_of, lambda: (-5 - np.asarray(RNG.random(30)),)),
    (expsum, lambda: (np.asarray(RNG.random(5000)),)),
    (stencil, lambda: (np.asarray(RNG.random((40, 50))), 6)),
    (prints, lambda: (50,)),
    (unbound, lambda: (9,)),
    (unbound, lambda: (3,)),
]


@pytest.mark.parametrize(("function", "make"), CASES, ids=lambda value: getattr(value, "__name__", ""))
def test_compiled_is_as_written(function, make):
    args = make()

    def copies():
        return tuple(arg.copy() if isinstance(arg, np.ndarray) else arg for arg in args)

    wanted = outcome(function, copies())
    compiled = np.jit(function)
    assert compiled is not function
    assert outcome(compiled, copies()) == wanted
    assert outcome(compiled, copies()) == wanted
    assert outcome(function, copies()) == wanted


def counts():
    total = 0
    for i in range(10):
        total += i * FACTOR
    return total


FACTOR = 2


def test_globals_are_looked_up_at_each_call():
    global FACTOR
    compiled = np.jit(counts)
    assert compiled() == 90
    FACTOR = 2.5
    try:
        assert compiled() == 112.5
    finally:
        FACTOR = 2


class Model:
    """Attributes are read when the loop begins."""

    def __init__(self, rate):
        self.rate = rate

    @np.jit
    def run(self, n):
        x = 1.0
        for _ in range(n):
            x += x * self.rate
        return x


def test_methods_read_attributes():
    for rate in (0.5, 2, np.float64(0.25)):
        wanted = Model.run.__wrapped__(Model(rate), 20)
        assert repr(Model(rate).run(20)) == repr(wanted)


def test_closures_share_their_variables():
    total = 0

    @np.jit
    def add(n):
        nonlocal total
        for i in range(n):
            total += i

    add(5)
    add(5)
    assert total == 20


@np.jit
def diagonal(a):
    for i in range(len(a)):
        row = a[i]
        row[i] = -1
    return row


@pytest.mark.parametrize("module", [np, numpy], ids=["numelt", "numpy"])
def test_views_made_in_a_loop_are_views(module):
    a = module.arange(9.0).reshape(3, 3)
    row = diagonal(a)
    assert type(row) is type(a)
    assert row.base is not None
    row[0] = 50
    assert a[2, 0] == 50
    assert [a[i, i] for i in range(3)] == [-1, -1, -1]


@np.jit
def swapped(a, b, n):
    for _ in range(n):
        a, b = b, a
    return a, b


def test_arrays_keep_their_identity():
    a, b = np.arange(3.0), np.arange(3.0)
    first, second = swapped(a, b, 3)
    assert first is b
    assert second is a


def test_pending_work_is_done_before():
    @np.jit
    def total(a):
        s = 0.0
        for x in a:
            s += x
        return s

    a = np.arange(1000.0) * 2
    a += 1
    assert total(a) == 1000.0**2
    a[:] = 1
    assert total(a) == 1000


def test_what_was_written_is_seen_by_recorded_operations():
    @np.jit
    def fill(a):
        for i in range(len(a)):
            a[i] = i

    a = np.zeros(100000)
    total = a.sum()
    fill(a)
    assert total == 0
    assert a.sum() == 4999950000
    assert (a * 2).max() == 199998


def test_recursion_is_left_to_cpython():
    @np.jit
    def depth(n):
        total = 0
        for i in range(n):
            total += depth(i) + 1
        return total

    assert depth(6) == 63


def test_functions_without_loops_or_source_stay_as_they_are():
    assert np.jit(len) is len
    function = eval("lambda x: x")
    assert np.jit(function) is function
    with pytest.raises(TypeError, match="no loops"):
        np.jit(function, strict=True)


def test_what_a_twin_needs_can_be_pickled():
    cells = [cell.cell_contents for cell in np.jit(norm).__closure__]
    copies = pickle.loads(pickle.dumps(cells))
    for cell, copy in zip(cells, copies, strict=True):
        if isinstance(cell, list):
            assert copy == cell
        elif not isinstance(cell, tuple):
            assert copy is cell
        else:
            assert [unit(1, 2, 3) for unit in copy] == [None, None]


def test_iterating_over_nothing():
    @np.jit
    def last(items, x):
        for _ in range(3):
            for item in items:
                x = item
        return x

    assert last((), 5) == 5
    assert last((7,), 5) == 7
    assert last(np.zeros(0), 5) == 5


@np.jit
def spin(n):
    x = 0
    for i in range(n):
        x = (x + i) % 1000003
    return x


def test_signals_are_handled_while_compiled_code_runs():
    spin(1000)

    def handler(*_):
        raise TimeoutError("enough")

    before = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with pytest.raises(TimeoutError, match="enough"):
            spin(10**11)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_other_threads_run_while_compiled_code_does():
    spin(1000)
    ticks = []
    done = threading.Event()

    def tick():
        while not done.wait(0.001):
            ticks.append(1)

    thread = threading.Thread(target=tick)
    thread.start()
    spin(3 * 10**8)
    seen = len(ticks)
    done.set()
    thread.join()
    assert seen >= 3


def test_generators_keep_their_loops():
    @np.jit
    def squares(n):
        for i in range(n):
            yield i * i

    assert list(squares(4)) == [0, 1, 4, 9]


def test_warnings_and_modes():
    @np.jit
    def grow(x, n):
        for _ in range(n):
            x = x * 10
        return x

    with pytest.warns(RuntimeWarning, match="overflow encountered in scalar multiply"):
        assert grow(np.float64(1e300), 20) == math.inf
    with np.errstate(over="raise"), pytest.raises(FloatingPointError):
        grow(np.float64(1e300), 20)
    with np.errstate(all="ignore"):
        assert grow(np.float64(1e300), 20) == math.inf


def narrow(a, values):
    for k in range(len(values)):
        a[k % len(a)] = values[k]
    return a


@pytest.mark.parametrize("dtype", ["i1", "u1", "i4", "u4", "i8", "u8"])
@pytest.mark.parametrize("last", [300, -1, -(2**31), 2**31, 2**32, 2**63 - 1])
def test_elements_hold_what_fits(dtype, last):
    compiled = np.jit(narrow)
    for kind in ("i8", "u8", "i4"):
        for value in (last, 5):
            try:
                values = np.array([1, 2, 3, value], dtype=kind)
            except OverflowError:
                continue
            wanted = outcome(narrow, (np.zeros(3, dtype), values))
            assert outcome(compiled, (np.zeros(3, dtype), values)) == wanted


def floors(x, out):
    for i in range(len(x)):
        out[i] = math.floor(x[i])


def ceilings(x, out):
    for i in range(len(x)):
        out[i] = math.ceil(x[i])


def truncations(x, out):
    for i in range(len(x)):
        out[i] = math.trunc(x[i])


@pytest.mark.parametrize("function", [floors, ceilings, truncations])
@pytest.mark.parametrize("dtype", ["?", "i1", "u4", "i8", "u8", "f4", "f8"])
def test_numpys_integers_are_rounded_as_floats(function, dtype):
    # `math.floor` converts NumPy's integers to `float`, and `math.trunc` knows `float64` only
    many = [0, 1, 2**53 + 1, 2**62 + 1, 2**63 - 1] if dtype in ("i8", "u8") else [0, 1, 100]
    for number in many:
        x = numpy.array([1, number]).astype(dtype)
        wanted = outcome(function, (x, numpy.zeros(2, "i8")))
        assert outcome(np.jit(function), (x, numpy.zeros(2, "i8"))) == wanted


def _same(function):
    return function


DECORATED = """
{decorators}
def quotients(x):
    s = 0.0
    for i in range(len(x) + 1):
        s += 1 / x[i]
    return s
"""


@pytest.mark.parametrize(
    "decorators", ["@way", "@way\n@same", "@same\n@way", "@way\n\n@(\n  same\n)", "@same\n@same\n@way"]
)
def test_decorated_functions_have_their_own_lines(decorators, tmp_path):
    path = tmp_path / "decorated.py"
    path.write_text(DECORATED.format(decorators=decorators))
    both = []
    for way in (np.jit, _same):
        space = {"way": way, "same": _same}
        exec(compile(path.read_text(), str(path), "exec"), space)
        found = outcome(space["quotients"], (np.array([1.0, 0.0, 2.0]),))
        both.append((found, space["quotients"].__code__.co_firstlineno))
    assert both[0] == both[1]
