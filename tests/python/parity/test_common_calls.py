"""Calls that programs make often, at sizes around the limits between the ways that they can go."""

import os
import subprocess
import sys
import warnings

import numpy
import pytest

import numelt

from ..support.compare import assert_same, outcome

SIZES = [0, 1, 7, 300, 1024, 1025, 5000]
SPECIAL = [0.0, -0.0, numpy.nan, numpy.inf, -numpy.inf]


def values(dtype, n, seed=3):
    rng = numpy.random.default_rng(seed + n)
    made = rng.integers(-60, 60, n).astype(dtype) if dtype != "?" else rng.random(n) < 0.5
    if n > 5 and numpy.dtype(dtype).kind in "fc":
        made[rng.integers(0, n, 5)] = SPECIAL
    return made


def same(call, *arrays):
    """Assert that `call` gives, raises and leaves in its operands what it does with NumPy."""
    found = []
    for np in (numelt, numpy):
        own = [np.array(array) for array in arrays]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            kind, result = outcome(call, np, *own)
            left = [numpy.array(array) for array in own]
            if kind == "value":
                assert_ready(result)
        found.append((kind, result, left, [str(w.message) for w in caught]))
    (kind, ours, left, said), (expected, theirs, kept, told) = found
    assert kind == expected, (ours, theirs)
    if kind == "error":
        assert (type(ours), str(ours)) == (type(theirs), str(theirs))
    else:
        assert_same(ours, theirs)
    for mine, other in zip(left, kept, strict=True):
        assert mine.tobytes() == other.tobytes()
    assert said == told


def assert_ready(result):
    for part in result if isinstance(result, (tuple, list)) else (result,):
        numpy.asarray(part)


ENDS = [
    (-5, 9), (0, 1), (0.0, 0.5), (-0.0, 3), (3, -3), (-1000, 1000), (2.5, numpy.nan), (None, 4),
    (numpy.float64(1), 7), (2**24, 2**40), (True, 5),
]  # fmt: skip


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "i8", "i4", "u1", "i1", "?", "c16"])
@pytest.mark.parametrize("ends", ENDS, ids=str)
def test_clip(dtype, ends):
    for n in (0, 1, 7, 1025):
        x = values(dtype, n)
        same(lambda np, x: np.clip(x, *ends), x)
        same(lambda np, x: x.clip(*ends), x)
        same(lambda np, x: x[::-2].clip(*ends), x)


def test_clip_keeps_the_zero_of_the_element():
    x = numpy.array([0.0, -0.0] * 600)
    for low, high in [(0.0, 1.0), (-0.0, 1.0), (-1.0, 0.0), (-1.0, -0.0), (0, 0)]:
        for own in (x, x[:2], x.astype("f4")):
            ours, theirs = numelt.array(own).clip(low, high), own.clip(low, high)
            assert numpy.asarray(ours).tobytes() == theirs.tobytes()


REDUCTIONS = {
    "min with a start": lambda np, x: x.min(initial=3),
    "max with a start": lambda np, x: np.max(x, initial=3.5),
    "max with a start and a mask": lambda np, x: np.max(x, initial=-3, where=x > 0),
    "sum of some": lambda np, x: np.sum(x, where=x > 1),
    "sum as f4": lambda np, x: x.sum(dtype="f4"),
    "sum into": lambda np, x: np.sum(x, out=np.zeros(())),
    "mean of some": lambda np, x: np.mean(x[:40], where=x[:40] < 60),
    "any with keepdims": lambda np, x: np.any(x, keepdims=True),
    "largest place into": lambda np, x: np.argmax(x, out=np.array(0)),
    "no such axis": lambda np, x: np.min(x, axis=4, initial=1),
}


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "u1", "?"])
def test_reductions_with_more_arguments(name, dtype):
    for n in SIZES[1:-1]:
        x = numpy.nan_to_num(values(dtype, n), posinf=5, neginf=-5)
        if numpy.dtype(dtype).kind == "f" and n > 300 and "some" in name:
            x = numpy.round(x)
        same(REDUCTIONS[name], x)


@pytest.mark.parametrize("name", ["max", "min", "sum", "any"])
@pytest.mark.parametrize("axis", [0, 1, None, -1])
def test_reductions_of_lists(name, axis):
    for n in (1, 7, 1025):
        a, b, c = (values("f8", n, seed) for seed in range(3))
        if name == "sum":
            a, b, c = (numpy.nan_to_num(x, posinf=1, neginf=2) for x in (a, b, c))
        same(lambda np, a, b, c: getattr(np, name)([a, b, c], axis=axis), a, b, c)
        same(lambda np, a, b, c: getattr(np, name)([a, b, c], axis=axis, keepdims=True), a, b, c)
        same(lambda np, a, b: getattr(np, name)([a, b.astype("f4")], axis=axis), a, b)
        same(lambda np, a, b: getattr(np, name)([a, b[:-1]], axis=axis), a, b)
        same(lambda np, a: getattr(np, name)([a], axis=axis), a)


@pytest.mark.parametrize("name", ["maximum", "minimum", "add", "logical_or"])
@pytest.mark.parametrize("dtype", ["f8", "i4", "?"])
def test_folds_of_lists(name, dtype):
    for n in (0, 1, 7, 1025):
        a, b, c = (values(dtype, n, seed) for seed in range(3))
        same(lambda np, a, b, c: getattr(np, name).reduce([a, b, c]), a, b, c)
        same(lambda np, a, b: getattr(np, name).reduce([a, b], axis=0, keepdims=True), a, b)
        same(lambda np, a, b: getattr(np, name).reduce([a, [1] * len(b)]), a, b)


@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "maximum", "negative"])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "u2"])
@pytest.mark.parametrize("n", [1, 7, 1025, 5000])
def test_at(name, dtype, n):
    rng = numpy.random.default_rng(n)
    y, v = (numpy.nan_to_num(values(dtype, k), posinf=1, neginf=2) for k in (n, 2 * n))
    i = rng.integers(-n, n, 2 * n)
    if name == "negative":
        same(lambda np, y, i: np.negative.at(y, i), y, i)
        return

    def at(np):
        return getattr(np, name).at

    same(lambda np, y, i, v: at(np)(y, i, v), y, i, v)
    same(lambda np, y, i: at(np)(y, i, 2), y, i)
    same(lambda np, y, i: at(np)(y, i, 1.5), y, i)
    same(lambda np, y, i, v: at(np)(y, i, v.astype("f8")), y, i, v)
    same(lambda np, y, i, v: at(np)(y[::-1], i // 2, v), y, i, v)
    same(lambda np, y, i, v: at(np)(y, i + n, v), y, i, v)
    same(lambda np, y, i: at(np)(y, i, y[:1]), y, i)
    same(lambda np, y, v: at(np)(y, y > 3, v[: np.count_nonzero(y > 3)]), y, v)


def test_at_after_what_is_pending():
    for np in (numelt, numpy):
        y = np.arange(3000.0) * 2
        np.add.at(y, np.arange(3000) % 7 + np.arange(3000) % 3, np.ones(3000) * 3)
        z = y + 1
        if np is numelt:
            ours = numpy.asarray(z)
    assert ours.tobytes() == z.tobytes()


@pytest.mark.parametrize("segments", [1, 63, 64, 65, 900])
@pytest.mark.parametrize("dtype", ["f8", "i4", "f2"])
def test_reduceat(segments, dtype):
    x = numpy.nan_to_num(values(dtype, 3000), posinf=1, neginf=1)
    starts = numpy.sort(numpy.random.default_rng(segments).integers(0, 3000, segments))
    same(lambda np, x, s: np.add.reduceat(x, s), x, starts)
    same(lambda np, x, s: np.maximum.reduceat(x * 2, s), x, starts)
    same(lambda np, x, s: np.add.reduceat(x.reshape(-1, 3), s // 3, axis=0), x, starts)
    same(lambda np, x, s: np.add.reduceat(x, s + 3000), x, starts)


@pytest.mark.parametrize("shape", [(3, 4), (64, 64), (65, 64), (4, 5, 6), (0, 3), (1, 1)], ids=str)
@pytest.mark.parametrize("dtype", ["f8", "i1", "c8"])
def test_masks_of_several_axes(shape, dtype):
    n = numpy.prod(shape)
    a = values(dtype, n).reshape(shape)
    m = values("?", 4 * n).reshape([2 * extent for extent in shape[:2]] + list(shape[2:]))[::2, ::2]
    for mask in (m, numpy.ascontiguousarray(m), numpy.zeros(shape, bool), numpy.ones(shape, bool)):
        count = int(mask.sum())
        same(lambda np, a, m: a[m], a, mask)
        same(lambda np, a, m: a.T[m.T], a, mask)
        same(lambda np, a, m: a[::-1][m], a, mask)
        same(lambda np, a, m: a[m.T], a, mask)
        same(lambda np, a, m: a[m, None], a, mask)
        same(lambda np, a, m: a.__setitem__(m, 3), a, mask)
        same(lambda np, a, m: a.__setitem__(m, a[m] * 2), a, mask)
        same(lambda np, a, m, c=count: a.__setitem__(m, np.arange(c)), a, mask)
        same(lambda np, a, m, c=count: a.__setitem__(m, np.arange(c + 1).astype(a.dtype)), a, mask)
        same(lambda np, a, m: a.__setitem__(m, a), a, mask)
        same(lambda np, a, m: a.__setitem__(m, m[m]), a, mask)
    wide = values(dtype, 2 * n).reshape((2, *shape))
    same(lambda np, w, m: w[:, m], wide, m)
    same(lambda np, w, m: w[1][m], wide, m)


@pytest.mark.parametrize("n", [1, 8, 63, 64, 65, 130, 511, 513, 5000, (1 << 15) + 7, 100_003])
def test_places_of_what_is_true(n):
    rng = numpy.random.default_rng(n)
    masks = [
        numpy.zeros(n, bool),
        numpy.ones(n, bool),
        *(rng.random(n) < p for p in (0.01, 0.1, 0.2, 0.5, 0.95)),
    ]
    stretch = numpy.zeros(n, bool)
    stretch[n // 3 : n // 2 + 1] = True
    for mask in (*masks, stretch):
        same(lambda np, m: np.flatnonzero(m), mask)
        same(lambda np, m: np.flatnonzero(m[::-1] & True), mask)
        same(lambda np, m: np.nonzero(m * 2.5), mask)
        same(lambda np, m: np.arange(m.size)[m], mask)
        x = rng.random(n)
        same(lambda np, m, x: x.__setitem__(m, x[m] + 1), mask, x)


@pytest.mark.parametrize("n", [1, 100, 5000, 200_000])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i2", "?", "c16"])
def test_writing_by_position(n, dtype):
    rng = numpy.random.default_rng(n)
    y, v, i = values(dtype, n), values(dtype, n, 9), rng.integers(0, n, n)
    same(lambda np, y, i, v: y.__setitem__(i, v), y, i, v)
    same(lambda np, y, i, v: y.__setitem__(i[::-1], v[::-1]), y, i, v)
    same(lambda np, y, i, v: y[::-1].__setitem__(i, v), y, i, v)
    same(lambda np, y, i: y.__setitem__(i, 1), y, i)
    same(lambda np, y, i, v: y.__setitem__(np.sort(i), v), y, i, v)


@pytest.mark.parametrize("name", ["maximum", "power", "hypot", "floor_divide", "equal", "bitwise_and"])
def test_ufuncs_of_numpys_scalars(name):
    kinds = [numpy.float64, numpy.float32, numpy.int32, numpy.uint8, numpy.bool_, numpy.complex64, int, float]
    for one in kinds:
        for other in kinds:
            a, b = one(3), other(2)
            same(lambda np, a=a, b=b: getattr(np, name)(a, b))


def test_compiled_complex_arithmetic_raises_no_flags_of_its_own():
    """Flags that nobody called for cost a second evaluation, and a guess where that is not possible."""
    code = """if True:
        import warnings, numpy, numelt
        def newton(np, z, turns):
            count = np.zeros(z.shape, int)
            for _ in range(turns):
                step = (z**3 - 1) / (3 * z**2)
                z = z - step
                count += np.abs(step) > 1e-6
            return z, count
        line = numpy.linspace(-2, 2, 120)
        grid = line[None, :] + 1j * line[:, None]
        zeros = grid * (numpy.abs(grid) > 1)
        edge = zeros.copy(); edge[0] = complex(numpy.inf, numpy.inf); edge[1] = complex(numpy.inf, numpy.nan)
        calls = [
            lambda np: newton(np, np.array(grid), 20),
            lambda np: (np.abs(np.array(zeros)) + 1.0,),
            lambda np: (np.abs(np.array(edge)) + 1.0,),
            lambda np: (np.array(zeros) / (1j * np.array(grid.imag)) + 1,),
            lambda np: (np.array(grid) / np.array(grid.real) + 1,),
            lambda np: (np.array(grid.astype("c8")) / np.array(zeros.astype("c8")) + 1,),
            lambda np: (np.abs(np.array(zeros.astype("c8"))) * 2,),
        ]
        for number, call in enumerate(calls):
            for _ in range(3):
                said = []
                for np in (numelt, numpy):
                    with warnings.catch_warnings(record=True) as caught:
                        warnings.simplefilter("always")
                        made = [numpy.asarray(part) for part in call(np)]
                    said.append((sorted({str(w.message) for w in caught}), made))
                (ours, mine), (theirs, other) = said
                assert ours == theirs, (number, ours, theirs)
                assert all(numpy.array_equal(a, b, equal_nan=True) for a, b in zip(mine, other)), number
    """
    env = {**os.environ, "NUMELT_JIT": "sync"}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("start", [0, 0.5, 5])
@pytest.mark.parametrize("step", [1, 2, 0.5, None, -1])
@pytest.mark.parametrize("dtype", ["i4", "f8", "F", "D", "?", "u1", "O", "M8[D]", float, int, None])
def test_ranges_take_the_dtype_by_position(start, step, dtype):
    found = []
    for np in (numpy, numelt):
        try:
            result = np.arange(start, 4, step, dtype if dtype is None else np.dtype(dtype))
            found.append((result.dtype, result.tolist()))
        except (TypeError, ValueError) as error:
            found.append(repr(error))
    assert found[0] == found[1]


@pytest.mark.parametrize("size", [5, 3000])
@pytest.mark.parametrize("rest", [(), (None,), (None, "raise"), (None, "wrap"), (None, "clip")])
def test_choose_takes_its_output_by_position(size, rest):
    found = [np.choose(np.arange(size) % 5, np.arange(5) * 2, *rest) for np in (numpy, numelt)]
    assert_same(found[1], found[0])
