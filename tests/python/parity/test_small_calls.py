"""Short calls that NumPy's own functions do on lent memory: results, views, outputs, what stays."""

import copy
import gc
import pickle
import traceback
import warnings

import numpy
import pytest

import numelt

from ..support.compare import assert_same


def operands(np):
    rng = numpy.random.default_rng(5)
    x = np.array(rng.normal(size=12))
    return {
        "np": np, "x": x, "m": x > 0, "i": np.array(rng.integers(0, 12, 12)),
        "A": np.array(rng.normal(size=(4, 3))), "z": np.array(rng.normal(size=6) + 1j), "e": np.array([]),
        "s": x[::-2], "o": np.array([1, 2], object),
        "t": np.array(["a", "bc"]), "h": np.array([1.5, 2.5], "f2"), "d": np.array(["2024-01-01"], "M8[D]"),
    }  # fmt: skip


CALLS = [
    "np.gradient(x)", "np.gradient(s)", "np.nan_to_num(x)", "np.linalg.norm(A, axis=1)",
    "np.linalg.norm(x)", "np.unwrap(x)", "np.interp(0.5, x, x)", "np.append(x, 1)", "np.repeat(x, 2)",
    "np.repeat(x, np.abs(i))", "np.tile(x, 2)", "np.tile(A, (2, 1))", "np.trace(A)", "np.insert(x, 1, 2)",
    "np.delete(x, [0, 1])", "np.char.upper(t)", "np.sort(o)", "np.unique(i, return_counts=True)",
    "np.histogram(x, 3)", "np.cov(A)", "np.linalg.inv(A.T @ A)", "np.linalg.svd(A, compute_uv=False)",
    "np.fft.rfft(x)", "np.linalg.diagonal(A)", "np.median(x)", "np.median(e)",
    "np.select([m, ~m], [x, 1])", "np.busday_count('2024-01', d)", "np.sinc(h)", "np.gradient(x, axis=3)",
    "np.sort(x, axis=7)", "np.linspace(0, 1, 5)", "np.linspace(0, 1, 3000)", "np.sort([x[0], 1.0])",
    "np.lexsort([x, i])", "np.result_type(x, 'f4')", "np.tile(x, 3000)[-3:]",
    "np.take_along_axis(A, np.argsort(A, axis=0), axis=0)", "np.sort(t)[0]", "np.fft.fftshift(e)",
]  # fmt: skip


CALLS += [
    "np.r_[0, x, 1.0]", "np.c_[x, x]", "np.r_[True, m]", "np.mgrid[0:3, 0:4]", "np.ogrid[-1:1:5j]",
    "np.add.reduceat(x, [0, 3, 2])", "np.maximum.accumulate(x)", "np.multiply.outer(x, x)",
    "np.add.reduce(A, axis=1)", "np.logical_and.reduce([m, m])", "np.bitwise_xor.reduce(i)",
    "np.divmod(i, 5)", "np.modf(x)", "np.frexp(x)", "np.add.reduce(x, axis=4)", "np.subtract.reduce(x)",
    "np.add.reduce(x, keepdims=True)", "np.hypot.reduce(x)", "x.view(np.uint8)", "z.view(float)",
    "i.view('u2')", "A.view(np.int32)", "A.T.view(np.int32)", "s.view('u1')", "x[:3].view(complex)",
    "x[:4].view(complex)", "m.view('i4')", "i.view(np.uint8)[1:9].view('u4')", "e.view('u1')",
    "x.take(i)", "x.compress(m)", "np.compress(m, A[0])", "np.take(A, [0, 2], axis=1)", "x.nonzero()",
    "x.trace()", "A.trace()", "np.diag(x[:3], 1)", "np.tri(3)", "np.triu(A, 1)", "np.kron(A, A)",
    "np.outer(x, x)", "x.tobytes()", "np.concatenate(([0.0], x))", "np.array([x, x])",
    "np.stack([A[0], [1, 2, 3]])", "np.meshgrid(x, x[:2])", "np.linalg.norm(A)", "np.linalg.norm(s)",
    "np.linalg.norm(e)", "np.linalg.norm(i)", "np.linalg.norm(z)", "np.count_nonzero(m)",
    "np.count_nonzero(A, axis=0)", "np.isclose(x, x)", "np.allclose(x, s)", "np.ptp(x)", "np.round(x, 2)",
    "x.round(1)", "np.angle(z)", "np.angle(z, deg=True)", "np.diff(x, n=2)", "np.split(x, [2, 5])",
    "np.split(x, i[:0])", "np.array_split(x, 5)", "np.pad(A, 1, mode='wrap')",
    "np.pad(x, (1, 2), constant_values=7)", "np.average(x, weights=np.abs(x))",
    "np.tensordot(A, A.T, axes=1)", "np.vdot(z, z)", "np.inner(x, x)", "np.unravel_index(5, (2, 3))",
    "np.ravel_multi_index((1, 2), (2, 3))", "np.choose(i % 2, [x, -x])", "x.argsort()",
    "x.searchsorted(0.0)", "np.bincount(i, minlength=3)", "np.digitize(x, [-1, 0, 1])",
    "np.frombuffer(b'12345678', 'u1')", "np.where(m)", "np.where(m, x, [1.0])", "np.sum([x, x], axis=0)",
    "np.full_like(x, 3)", "np.copy(A, order='F')", "np.ascontiguousarray(A.T)", "x.mean(where=m)",
    "np.polyval([1, 2], x)", "np.nonzero(A > 0)", "np.nonzero(np.array([0.0, -0.0, np.nan, 1.0]))",
    "np.where(A > 0)", "np.nonzero(m[:0])", "z.nonzero()", "np.nonzero(A.T)", "np.nonzero(x[0])",
    "np.array([A, A])", "np.array((x, x), dtype='f4')", "np.array([A.T, A.T])", "np.array([e, e])",
    "np.array([x, A])", "np.array([[x], [x]])", "np.concatenate([x, s])", "np.concatenate([A, A])",
    "np.concatenate([A.T, A.T])", "np.concatenate([A, A], axis=1)", "np.vstack([x, x])",
    "np.concatenate([x, e, x])", "np.hstack([A, A])", "np.stack([A, A], axis=2)",
    "np.fill_diagonal(A, 5)", "np.fill_diagonal(A, 'a')", "np.fill_diagonal(x, 1)",
    "np.fill_diagonal(i, 1.5)", "np.add.outer(i, x)", "np.subtract.outer(m, m)",
    "np.logical_and.outer(x, i)", "np.power.outer(i, i)", "np.power.outer(x, 2.0)",
    "np.maximum.outer(s, x)", "np.arctan2.outer(i, i)", "np.multiply.outer(A, x)", "np.less.outer(i, x)",
    "np.add.reduce(x)", "np.add.reduce(A, 1)", "np.add.reduce(m)", "np.maximum.reduce(e)",
    "np.minimum.reduce(A)", "np.logical_or.reduce(A)", "np.multiply.reduce(A, -1)", "np.add.reduce(A, 2)",
    "np.logical_and.reduce(x)", "np.result_type(x, i)", "np.result_type(m, m)", "np.result_type(i, 2.5)",
    "np.sort(A)", "np.sort(A.T)", "np.sort(s)", "np.sort(z)", "np.sort(e)", "np.sort(m)", "x.argmin()",
    "i.argmax()", "m.argmax()", "s.argmin()", "np.argmax(np.array([1.0, np.nan, 9.0]))",
    "np.argmin(np.array([3, 1, 1]))", "x[i][..., None]", "A[..., 0]", "A[None, ..., 1:, None]",
    "A[..., ...]", "A[0, ..., 0]", "A[0, 0, ...]", "A[0, 0, 0, ...]", "x[...]", "x[..., 3]", "i * 2.5",
    "2.5 * i", "i / 2", "i / i", "x > i", "i + x", "m + m", "m + i", "x + m", "i ** 2", "i // 0", "i % 3",
    "x * np.float64(2)", "h * 1e6", "h + x[:2]", "np.hypot(x, i)", "np.fmax(x, i)",
    "np.logical_and(x, i)", "np.logical_or(x, 3)", "np.arctan2(i, 2)", "np.copysign(x, -1)",
    "np.ldexp(x, i)", "i < 2.5", "i == 10**20", "i > -(10**20)", "i & 2.5", "m & 1", "i << 1",
    "np.gcd(i, 4)", "np.maximum(i, 2.5)", "np.float_power(i, 2)", "z.conj()", "x.conj()", "x.conjugate()",
    "z.conjugate()", "x.ravel()", "s.ravel()", "A.ravel('F')", "x.tolist()", "z.tolist()", "h.tolist()",
    "m.tolist()", "A.tolist()", "s.tolist()", "A.T.tobytes()", "A.tobytes('F')", "x.astype(int)",
    "x.astype(float)", "i.astype(np.dtype('f4'))", "i.astype(complex)", "m.astype('i2')",
    "np.put(x, [0, 1], [1.0, 2.0])", "np.place(x, m, [1.0, 2.0])", "np.put(x, 99, 1)",
    "np.place(x, m, [])", "np.einsum('ij,j->i', A, A[0])", "np.einsum('ij->ji', A)",
    "np.einsum('i,i', x, x)", "np.einsum('ij,ij->', A, A)",
]  # fmt: skip


def outcome(call, np):
    space = operands(np)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = eval(call, space)
        except Exception as error:
            return type(error), str(error), []
    return "value", result, [(w.category, str(w.message)) for w in caught]


@pytest.mark.core
@pytest.mark.parametrize("call", CALLS)
def test_same_as_numpy(call):
    kind, theirs, said = outcome(call, numpy)
    our_kind, ours, told = outcome(call, numelt)
    assert our_kind == kind, ours
    assert sorted(map(str, told)) == sorted(map(str, said))
    if kind == "value":
        assert_same(ours, theirs, rtol=1e-12)
        assert type(ours) is numelt.ndarray or not isinstance(ours, numpy.ndarray)
    else:
        assert ours == theirs


def test_pending_operands_are_computed_first():
    x = numelt.arange(6.0)
    y = x * 2 + 1
    assert_same(numelt.gradient(y), numpy.full(6, 2.0))
    assert_same(numelt.sort(y[::-1]), numpy.arange(6.0) * 2 + 1)


def test_views_that_are_results_are_views_of_ours():
    a = numelt.arange(9.0).reshape(3, 3) + 0
    d = numelt.linalg.diagonal(a)
    assert type(d) is numelt.ndarray
    assert numelt.shares_memory(d, a)
    a += 1
    assert_same(d, numpy.array([1.0, 5.0, 9.0]))
    assert not d.flags.writeable


def test_memory_is_lazy_again_after_a_call():
    x = numelt.arange(2000.0)
    numelt.flush()
    numelt.sort(x)
    numelt.linalg.norm(x)
    with numelt.inspect() as seen:
        y = x + 1
        assert len(seen.flushes) == 0
        del y


def test_an_array_kept_by_a_traceback_stays_valid():
    x = numelt.arange(5.0)
    try:
        numelt.gradient(x, axis=9)
    except numpy.exceptions.AxisError as error:
        frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
        kept = [v for f in frames for v in f.f_locals.values() if type(v) is numpy.ndarray]
    del x
    gc.collect()
    fill = [numelt.full(5, -1.0) + 0 for _ in range(50)]
    numelt.flush()
    assert any(numpy.array_equal(v, numpy.arange(5.0)) for v in kept)
    del fill


def test_output_and_in_place():
    x, out = numelt.array([3.0, 1.0, 2.0]), numelt.empty(3)
    assert numelt.median(x.reshape(1, 3), axis=0, out=out) is out
    assert_same(out, numpy.array([3.0, 1.0, 2.0]))
    numelt.fill_diagonal(a := numelt.zeros((3, 3)), 2)
    assert_same(a, numpy.eye(3) * 2)
    numelt.random.shuffle(x)
    assert sorted(x.tolist()) == [1.0, 2.0, 3.0]


def test_fallbacks_are_counted_at_the_users_line():
    numelt.coverage(reset=True)
    words = numelt.array(["a", "b"])
    for _ in range(3):
        numelt.char.upper(words)
    entries = [e for e in numelt.coverage().fallbacks if e.function == "char.upper"]
    assert [(e.filename, e.calls) for e in entries] == [(__file__, 3)]
    numelt.config.fallback = "error"
    try:
        with pytest.raises(numelt.FallbackError, match=r"char\.upper"):
            numelt.char.upper(words)
    finally:
        numelt.config.fallback = "silent"


def test_warnings_are_the_users_lines():
    x = numelt.array([numpy.nan, numpy.nan])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        numelt.nanmean(x)
        numelt.char.upper(numelt.array(["a"]))
    assert [w.filename for w in caught] == [__file__]


def test_functions_look_like_functions():
    for f in (numelt.gradient, numelt.sort, numelt.char.upper, numelt.result_type, numelt.linalg.norm):
        assert pickle.loads(pickle.dumps(f)) is f
        assert copy.deepcopy(f) is f
        assert f.__name__ in repr(f)
        assert f.__doc__

    class Holder:
        bound = numelt.gradient

    assert_same(numelt.ndarray.argpartition(numelt.arange(3), 1), numpy.arange(3))
    with pytest.raises(TypeError, match="number of arguments"):  # a method gets the instance, as NumPy's does
        Holder().bound(numelt.arange(3.0))


def test_what_is_asked_for_may_be_large():
    numelt.flush()
    x = numelt.linspace(0.0, 1.0, 3_000_000)
    assert "linspace" in str(numelt.explain()) or numelt._core.pending()
    assert float(x[-1]) == 1.0


KEYS = {
    "positions": lambda np: np.array([1, -2, 3, 3]),
    "mask": lambda np: np.arange(8) % 3 == 0,
    "none": lambda np: np.zeros(8, bool),
    "outside": lambda np: np.array([1, 8]),
    "strided": lambda np: np.arange(8)[::3],
    "list": lambda np: [0, 2],
    "range": lambda np: range(2, 4),
    "short mask": lambda np: np.ones(3, bool),
    "few bits": lambda np: np.array([1, 0], "i4"),
    "empty": lambda np: np.array([], int),
}
VALUES = {
    "number": lambda np, n: 2.5,
    "int": lambda np, n: -1,
    "vector": lambda np, n: np.arange(float(n)) + 10,
    "one": lambda np, n: np.array([9.0]),
    "strided": lambda np, n: np.arange(2.0 * n)[::2],
    "scalar": lambda np, n: np.float64(3),
    "wrong": lambda np, n: np.arange(float(n + 1)),
    "ints": lambda np, n: np.arange(n),
    "nan": lambda np, n: float("nan"),
}
TYPES = ["f8", "f4", "i8", "u1", "?", "c16", "c8", "f2"]


@pytest.mark.core
@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("dtype", TYPES)
def test_picking_and_storing_by_arrays(key, dtype):
    def run(np, value, step):
        x = np.array(numpy.arange(16).astype(dtype))[::step][:8]
        place = KEYS[key](np)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                got = x[place]
                x[place] = VALUES[value](np, got.size)
            except (IndexError, ValueError, TypeError, OverflowError) as error:
                return type(error), str(error), x
        return got, sorted(str(w.message) for w in caught), x

    for value in VALUES:
        for step in (1, 2, -1):
            ours, theirs = run(numelt, value, step), run(numpy, value, step)
            context = (key, dtype, value, step, ours, theirs)
            for a, b in zip(ours, theirs, strict=True):
                if isinstance(b, numpy.ndarray):
                    assert_same(a, b)
                else:
                    assert a == b, context


def test_storing_waits_for_readers():
    x = numelt.arange(2000.0)
    place = numelt.array([0, 1])
    numelt.flush()
    y = x * 2  # not run yet
    x[place] = -1.0
    assert y[:2].tolist() == [0.0, 2.0]
    assert x[:3].tolist() == [-1.0, -1.0, 2.0]


def test_in_place_methods_of_ufuncs():
    for np in (numpy, numelt):
        x = np.zeros(4)
        np.add.at(x, [0, 0, 2], [1.0, 2.0, 3.0])
        np.subtract.at(x, np.array([1]), 1.0)
        assert_same(x, numpy.array([3.0, -1.0, 3.0, 0.0]))
        with pytest.raises(IndexError, match="out of bounds"):
            np.add.at(x, [4], 1.0)


def test_users_ufuncs_stay_counted():
    numelt.coverage(reset=True)
    double = numelt.frompyfunc(lambda v: v * 2, 1, 1)
    assert double(numelt.arange(3)).tolist() == [0, 2, 4]
    assert numelt.coverage().fallback_calls == 1
