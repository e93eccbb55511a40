"""Operations on few elements, which run when they are called: which ones, and that results are the same."""

import functools
import itertools
import subprocess
import sys
import warnings

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

import numelt

from ..support.compare import as_numpy, in_threads, some
from ..support.layouts import COMPLEX, FLOATS, LAYOUTS, NATIVE, pair

pytestmark = [pytest.mark.quick, pytest.mark.usefixtures("unobserved")]


TINY = [name for name, (shape, _) in LAYOUTS.items() if 0 < numpy.prod(shape) <= 64]


DTYPES = [*NATIVE, *FLOATS, *COMPLEX, "float16"]


BINARY = [
    "add", "subtract", "multiply", "divide", "floor_divide", "remainder", "power", "maximum", "minimum",
    "less", "greater_equal", "equal", "logical_and", "bitwise_or", "left_shift", "arctan2", "hypot",
]  # fmt: skip


UNARY = ["negative", "absolute", "sqrt", "exp", "log", "sin", "square", "sign", "isnan", "invert", "floor"]


def runs_at_once(call):
    """Return the result of a call, and how many operations ran at once."""
    before = numelt._core.stats()["at_once"]
    result = call()
    return result, numelt._core.stats()["at_once"] - before


def outcome(call):
    """Return the result or the exception of a call, and its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = numpy.array(as_numpy(call()))
        except (TypeError, ValueError) as error:
            result = str(error)
    return result, sorted({str(w.message) for w in caught})


def assert_alike(call, context):
    """Assert that a call has the same bits and warnings at once and recorded."""
    now, said = outcome(call)
    with numelt.inspect():
        later, told = outcome(call)
    assert said == told, context
    if isinstance(later, str):
        assert now == later, context
    else:
        assert (now.dtype, now.shape) == (later.dtype, later.shape), context
        assert now.tobytes() == later.tobytes(), (context, now, later)


def test_it_happens():
    a = numelt.arange(5.0)
    a[0]
    result, count = runs_at_once(lambda: (a + 1) * a)
    assert count == 2
    assert numelt._core.pending() == 0
    assert result.tolist() == [0.0, 2.0, 6.0, 12.0, 20.0]


def test_arrays_that_are_pending_or_large_stay_recorded():
    large = numelt.arange(70000.0)
    large[0]
    _, count = runs_at_once(lambda: large + 1)
    assert count == 0
    sums = (large + 1).reshape(10, 7000).sum(axis=1)
    _, count = runs_at_once(lambda: sums + 1)
    assert count == 0


def test_inspection_sees_everything():
    a = numelt.arange(5.0)
    a[0]
    with numelt.inspect() as seen:
        assert ((a + 1) * 2).tolist() == [2.0, 4.0, 6.0, 8.0, 10.0]
    assert seen.kernels == 1
    with numelt.profile() as report:
        (a + 1).tolist()
    assert report.kernels == 1
    before = numelt._core.stats()["native"].get("add", 0)
    a + 1
    assert numelt._core.stats()["native"]["add"] == before + 1


def test_explain_ends_it_for_some_time():
    code = (
        "import numelt as np\n"
        "a = np.arange(5.0)\n"
        "for _ in range(8): (a + 1)[0]\n"
        "assert np._core.stats()['at_once'] > 0\n"
        "np.explain(a)\n"
        "assert 'add' in str(np.explain(a + 1))\n"
        "before = np._core.stats()['at_once']\n"
        "for _ in range(300): (a + 1)[0]\n"
        "assert 0 < np._core.stats()['at_once'] - before < 100\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_setting():
    a = numelt.arange(5.0)
    a[0]
    before = numelt.config.at_once
    numelt.config.at_once = 4
    try:
        assert runs_at_once(lambda: a[:4] + 1)[1] == 1
        assert runs_at_once(lambda: a + 1)[1] == 0
    finally:
        numelt.config.at_once = before


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", TINY)
def test_operations(dtype, layout):
    arrays = [pair(numelt, dtype, layout, 1)[1], pair(numelt, dtype, layout, 2)[1]]
    others = [pair(numelt, kind, layout, 3)[1] for kind in ("int16", "float32", "bool")]
    for array in arrays + others:
        array.tolist()
    a, b = arrays
    for name in UNARY:
        assert_alike(functools.partial(getattr(numelt, name), a), name)
    for name in BINARY:
        function = getattr(numelt, name)
        for second in (b, *others, 3, 2.5, a[..., :1] if a.ndim else b):
            assert_alike(functools.partial(function, a, second), (name, getattr(second, "dtype", second)))
            assert_alike(functools.partial(function, second, a), (name, "reflected"))
    for kind in DTYPES:
        assert_alike(lambda kind=kind: a.astype(kind), ("astype", kind))
    assert_alike(lambda: numelt.where(others[2], a, b), "where")
    assert_alike(lambda: numelt.where(others[2], a, 1), "where")


@pytest.mark.parametrize("dtype", ["float64", "int32", "bool", "complex128"])
def test_overlapping_outputs(dtype):
    def windows(np, x):
        n = len(x)
        return [x[1:], x[: n - 1], x[::-1], x[: n // 2 * 2 : 2], x[: n // 2], x[n - n // 2 :]]

    values = numpy.arange(1, 10).astype(dtype)
    for to, source in itertools.product(range(6), repeat=2):
        theirs, ours = values.copy(), numelt.array(values)
        ours[0]
        a, b = windows(numpy, theirs), windows(numelt, ours)
        if a[to].shape != a[source].shape:
            continue
        # NumPy does not detect every overlap of vectors; numelt reads all elements before it writes
        a[to][...] = a[source].copy()
        b[to][...] = b[source]
        assert ours.tolist() == theirs.tolist(), (to, source)
        numpy.add(a[to], a[source], out=a[to])
        numelt.add(b[to], b[source], out=b[to])
        assert ours.tolist() == theirs.tolist(), (to, source)


@given(
    st.lists(
        st.sampled_from([0.0, -0.0, 1.5, -2.0, 1e300, -1e300, 5e-324, float("inf"), float("nan")]),
        min_size=1,
        max_size=6,
    ),
    st.sampled_from(
        ["add", "subtract", "multiply", "divide", "sqrt", "log", "exp", "floor_divide", "arccos"]
    ),
)
def test_warnings(values, name):
    def call(np):
        a = np.array(values)
        a.tolist()
        function = getattr(np, name)
        return function(a) if function.nin == 1 else function(a, a[::-1])

    assert outcome(lambda: call(numelt))[1] == outcome(lambda: call(numpy))[1], (name, values)
    assert_alike(lambda: call(numelt), (name, values))


def test_error_states():
    a = numelt.zeros(3)
    a[0]
    with numelt.errstate(divide="raise"), pytest.raises(FloatingPointError):
        (1 / a)[0]
    with numelt.errstate(divide="ignore"), warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (1 / a).tolist() == [numpy.inf] * 3


def test_visible_memory():
    a = numelt.arange(4.0)
    seen = numpy.asarray(a)
    a += 1
    assert seen.tolist() == [1.0, 2.0, 3.0, 4.0]
    seen[0] = 7
    assert (a * 2)[0] == 14


def test_reading_beside_pending_readers():
    a = numelt.arange(8.0)
    large = numelt.arange(70000.0)
    a[0], large[0]
    waits = ((large + 0)[:8] + a).reshape(2, 4).sum(axis=1)
    pending = numelt._core.pending()
    assert pending > 0
    b, count = runs_at_once(lambda: a + 1)
    assert count == 1
    a[0] = 5.0
    assert b[0] == 1.0
    assert waits.tolist() == [12.0, 44.0]
    assert a[0] == 5.0


def test_warnings_of_functions_of_few_elements_are_at_the_users_line():
    a = numelt.array([1.0, 2.0])
    a[0]
    with pytest.warns(DeprecationWarning, match="2-dimensional vectors") as caught:
        numelt.cross(a, a)
    assert caught[0].filename == __file__


@pytest.mark.parametrize(
    "shape",
    [
        (16, 16), (3, 43), (43, 3), (31, 33), (2, 1000), (1000, 2), (5, 6, 7), (4, 1, 64), (2, 3, 4, 5, 6),
        (64, 64), (9, 511), (3, 2049), (2049, 3), (20, 30, 40),
    ],
)  # fmt: skip
def test_shapes(shape):
    x = some("float64", shape, 3)
    a = numelt.array(x)
    a.tolist()
    row, column = x[..., :1, :], x[..., :1]
    for name, theirs, mine in [
        ("row", x + row, lambda: a + a[..., :1, :]),
        ("column", x * column, lambda: a * a[..., :1]),
        ("both", row - column, lambda: a[..., :1, :] - a[..., :1]),
        ("turned", x.T + x.T[:1], lambda: a.T + a.T[:1]),
        ("steps", x[..., ::2] + x[..., ::2], lambda: a[..., ::2] + a[..., ::2]),
        ("half", (x[..., ::-1] > 0.5) & (x.T.T > 0), lambda: (a[..., ::-1] > 0.5) & (a > 0)),
    ]:
        result = as_numpy(mine())
        assert numpy.array_equal(result, theirs), name
        assert_alike(mine, name)


@pytest.mark.parametrize(
    "dtype", ["float64", "float32", "int16", "int64", "bool", "uint8", "complex64", "float16"]
)
@pytest.mark.parametrize(
    "shape",
    [
        (65,),
        (129,),
        (1000,),
        (2048,),
        (3, 43),
        (43, 3),
        (300, 1),
        (1, 300),
        (5, 6, 7),
        (9, 1, 20),
        (4, 5, 3, 2),
        (4097,),
        (8, 513),
        (2100, 2),
        (60000,),
    ],
)
def test_reductions(dtype, shape):
    x = some(dtype, shape, 4)
    a = numelt.array(x)
    a.tolist()
    rank = len(shape)
    axes = [None, *range(rank), *itertools.combinations(range(rank), 2)]
    for name in ("sum", "prod", "min", "max", "any", "all", "mean", "argmin", "argmax"):
        if (name, dtype) in {("argmin", "complex64"), ("argmax", "complex64"), ("prod", "float16")}:
            continue
        for axis in axes:
            if name.startswith("arg") and isinstance(axis, tuple):
                continue
            for keepdims in (False, True):
                for source, own in ((x, a), (x.T, a.T), (x[..., ::-1], a[..., ::-1])):
                    with numpy.errstate(all="ignore"):
                        expected = getattr(numpy, name)(source, axis=axis, keepdims=keepdims)
                    with numelt.errstate(all="ignore"):
                        result = as_numpy(getattr(numelt, name)(own, axis=axis, keepdims=keepdims))
                    assert result.dtype == expected.dtype, (name, axis)
                    assert numpy.array(result).tobytes() == numpy.array(expected).tobytes(), (
                        name,
                        axis,
                        keepdims,
                    )


@pytest.mark.parametrize("n", [64, 65, 200, 1000, 2048, 5000])
def test_in_place(n):
    values = some("float64", n + 2, 5)
    for step in (
        lambda np, x: np.add(x[1:-1], x[2:], out=x[1:-1]),
        lambda np, x: np.multiply(x[:-2], x[2:], out=x[2:]),
        lambda np, x: np.subtract(x, 1, out=x),
        lambda np, x: np.divide(x[::-1], 3, out=x),
        lambda np, x: np.copyto(x[::-1], x),
        lambda np, x: np.negative(x[::2], out=x[::-2]),
        lambda np, x: np.add(x[:64].reshape(2, -1), x[:32], out=x[:64].reshape(2, -1)),
    ):  # fmt: skip
        theirs, ours = values.copy(), numelt.array(values)
        ours[0]
        step(numpy, theirs), step(numelt, ours)
        assert numpy.asarray(ours).tobytes() == theirs.tobytes()


@pytest.mark.parametrize("n", [3, 200, 2000, 20000])
def test_a_condition_met_late_leaves_what_was_read(n):
    values = numpy.full(n, 1e300)
    values[: n - 1] = 2.0
    a, b = numelt.array(values), numpy.array(values)
    a[0]
    with pytest.warns(RuntimeWarning, match="overflow"):
        numelt.multiply(a, a, out=a).tolist()
    with numpy.errstate(over="ignore"):
        b *= b
    assert a.tolist() == b.tolist()
    c = numelt.array(values)
    c[0]
    with pytest.warns(RuntimeWarning, match="overflow"):
        assert float((c * 1e300).sum()) == numpy.inf


# one of each kind, on at most 512 elements, where earlier operations do not matter
KINDS = {
    "elementwise": lambda np, x, i, m: np.sqrt(x * 2.0) + x[::-1],
    "broadcast": lambda np, x, i, m: (x[:16, None] * x[:32]).reshape(32, 16).T,
    "conversion": lambda np, x, i, m: x.astype("float32") + x.astype("int16"),
    "half": lambda np, x, i, m: x.astype("float16") * x.astype("float16"),
    "reduction": lambda np, x, i, m: x.reshape(32, 16).sum(axis=0) + x.reshape(16, 32).max(axis=1)[:16],
    "reduction of a part": lambda np, x, i, m: x.reshape(32, 16)[3:9, 2:7].sum(axis=0),
    "reduction of two axes": lambda np, x, i, m: x.reshape(8, 8, 8)[:, ::2].min(axis=(0, 2)),
    "reduction of a half": lambda np, x, i, m: x.astype("float16").sum(),
    "mean of integers": lambda np, x, i, m: i.reshape(8, -1).mean(axis=0) + i.mean(),
    "gather": lambda np, x, i, m: x[i] + np.take(x, i[:7]).sum(),
    "gather of rows": lambda np, x, i, m: x.reshape(64, 8)[i % 64],
    "scatter": lambda np, x, i, m: put(np, x, i, x[: len(i)]),
    "scatter of rows": lambda np, x, i, m: put(np, x.reshape(64, 8).copy(), i[:20] % 64, x[:8]),
    "repeated places": lambda np, x, i, m: np.add.at(x.copy(), i % 5, 1.5),
    "mask": lambda np, x, i, m: x[m].sum() + x[~m][:3],
    "mask that is written": lambda np, x, i, m: put(np, x, m, 7.5),
    "choice": lambda np, x, i, m: np.where(m, x, -x),
    "product": lambda np, x, i, m: x.reshape(16, 32) @ x.reshape(32, 16),
    "product of vectors": lambda np, x, i, m: np.dot(x, x[::-1]),
    "product of a vector": lambda np, x, i, m: x.reshape(16, 32) @ x[:32],
    "scan": lambda np, x, i, m: np.cumsum(x) + np.maximum.accumulate(x),
    "scan of rows": lambda np, x, i, m: np.cumsum(x.reshape(16, 32), axis=0),
    "roll": lambda np, x, i, m: np.roll(x, 7) + np.roll(x.reshape(16, 32), 3, axis=1).ravel(),
    "copy": lambda np, x, i, m: x.reshape(16, 32).T.copy(),
    "range": lambda np, x, i, m: np.arange(512) * np.linspace(0.0, 1.0, 512),
    "creation": lambda np, x, i, m: np.zeros(512) + np.ones((8, 1))[2] * np.full(512, 2.5) - np.eye(8).min(),
    "joining": lambda np, x, i, m: np.concatenate([x[:5], x[::50]]) + np.stack([x[:15], x[1:16]]).sum(),
    "inverse": lambda np, x, i, m: np.linalg.inv(x[:16].reshape(4, 4) + 3 * np.eye(4)),
    "solution": lambda np, x, i, m: np.linalg.solve(x[:9].reshape(3, 3).T + np.eye(3), x[:6].reshape(3, 2)),
    "lists": lambda np, x, i, m: np.maximum([1.0, 2.0, *x[:2]], [3, 4, 5, 6]) + np.dot([1.0, 2], [x[0], 3]),
    "in place": lambda np, x, i, m: np.add(x[1:], x[:-1], out=x.copy()[1:]),
}  # fmt: skip


def put(np, x, key, value):
    """Return a copy to which a value has been assigned."""
    y = np.array(x)
    y[key] = value
    y[key] *= 2.0
    return y


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_runs_at_once_and_leaves_nothing_pending(name):
    rng = numpy.random.default_rng(3)
    given = rng.random(512), rng.integers(0, 512, 40), rng.random(512) > 0.6
    want = KINDS[name](numpy, *given)
    ours = [numelt.array(value) for value in given]
    numelt.flush()
    large = numelt.arange(100000.0) * 3.0
    before = numelt._core.pending()
    got = KINDS[name](numelt, *ours)
    assert numelt._core.pending() == before > 0
    assert_same(got, want)
    with numelt.inspect():
        assert_same(KINDS[name](numelt, *ours), want)
    assert large[1] == 3.0


def assert_same(got, want):
    """Assert that a result has NumPy's bits."""
    if want is None:
        assert got is None
        return
    got, want = numpy.asarray(as_numpy(got)), numpy.asarray(want)
    assert (got.dtype, got.shape) == (want.dtype, want.shape)
    assert got.tobytes() == want.tobytes()


def test_draws_of_few_elements_leave_nothing_pending():
    ours, theirs = numelt.random.default_rng(5), numpy.random.default_rng(5)
    for draw in (
        lambda rng: rng.random(300), lambda rng: rng.normal(size=(12, 5)), lambda rng: rng.integers(0, 9, 40),
        lambda rng: rng.uniform(-1, 1, 10), lambda rng: rng.exponential(2.0, 7), lambda rng: rng.choice(9, 3),
    ):  # fmt: skip
        got = draw(ours)
        assert numelt._core.pending() == 0
        assert numpy.array_equal(as_numpy(got), draw(theirs))


def test_nothing_that_ran_before_matters():
    code = (
        "import numelt as np\n"
        "x = np.arange(512.0)\n"
        "z = x\n"
        "for _ in range(200): z = z + x\n"
        "assert np._core.pending() == 0\n"
        "assert np._core.stats()['at_once'] >= 200\n"
        "assert np._core.stats()['kernels'] == 0\n"
        "y = np.arange(100000.0) + 1\n"
        "before = np._core.pending()\n"
        "with np.lazy(): total = y.sum() + x.sum()\n"
        "assert np._core.pending() > before\n"
        "assert total == 100000 * 100001 / 2 + 511 * 256\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_small_operations_wait_for_what_is_pending():
    large = numelt.arange(100000.0)
    x = numelt.arange(10.0)
    numelt.flush()
    later = large + x[3]
    sums = later.reshape(10, -1).sum(axis=1)
    twice = sums * 2.0
    x[3] = 100.0
    reads = (large[:10] + x).sum() + (large * x[0]).sum()
    x += sums
    later[:10] = x
    assert twice[0] == 2.0 * (10000 * 3 + 9999 * 5000)
    assert x[1] == 1.0 + 10000 * 3 + 10000 * 10000 + 9999 * 5000
    assert reads == 45.0 + 45.0 - 3.0 + 100.0
    assert later[1] == x[1]


def test_a_warning_comes_with_the_call():
    zeros = numelt.zeros(4)
    half = numelt.array([60000.0], "float16")
    with pytest.warns(RuntimeWarning, match="invalid value encountered in divide") as caught:
        zeros / zeros
    assert caught[0].filename == __file__
    with pytest.warns(RuntimeWarning, match="overflow encountered in multiply") as caught:
        half * half
    assert [warning.filename for warning in caught] == [__file__]
    with pytest.warns(RuntimeWarning) as caught:
        divmod(zeros, 0.0)
    assert len(caught) == 1
    with numelt.errstate(all="raise"), pytest.raises(FloatingPointError):
        zeros / zeros


def test_threads():
    def work(seed):
        rng = numpy.random.default_rng(seed)
        for _ in range(50):
            x = rng.normal(size=int(rng.integers(1, 2100)))
            a = numelt.array(x)
            assert numpy.array_equal(as_numpy((a + 1) * a), (x + 1) * x)
            assert float(a.sum()) == x.sum()

    in_threads(work, range(4))


@pytest.mark.parametrize("dtype", ["float64", "float32", "int16", "uint8", "bool", "complex64", "float16"])
@pytest.mark.parametrize("shape", [(1,), (65,), (300,), (2048,), (3, 50), (50, 3)])
def test_scans(dtype, shape):
    x = some(dtype, shape, 8)
    a = numelt.array(x)
    a.tolist()
    for name in ("add", "multiply", "minimum", "maximum"):
        theirs, ours = getattr(numpy, name).accumulate, getattr(numelt, name).accumulate
        with numpy.errstate(all="ignore"):
            expected = theirs(x), theirs(x[::-1]), theirs(x, -1)
        with numelt.errstate(all="ignore"):
            got = ours(a), ours(a[::-1]), ours(a, -1)
        for mine, right in zip(got, expected, strict=True):
            assert as_numpy(mine).dtype == right.dtype
            assert numpy.array(as_numpy(mine)).tobytes() == numpy.array(right).tobytes(), name
    with numpy.errstate(all="ignore"):
        assert numpy.array_equal(as_numpy(a.cumsum()), x.cumsum())
    big = numelt.array([1e308, 1e308])
    big[0]
    with pytest.warns(RuntimeWarning, match="overflow"):
        big.cumsum().tolist()


def test_equal_arrays():
    x = some("float64", 300, 9)
    a, b = numelt.array(x), numelt.array(x)
    a[0], b[0]
    assert numelt.array_equal(a, b) is True
    b[299] = 5.0
    assert numelt.array_equal(a, b) is False
    assert numelt.array_equal(a, a[1:]) is False
    a[3] = numpy.nan
    assert not numelt.array_equal(a, a)
    assert numelt.array_equal(a, a, equal_nan=True)
    assert numelt.array_equal(a[:0], a[:0])
    assert numelt.array_equal(numelt.arange(3), [0, 1, 2])
