"""Assignment by position in the kernel that computes the values: NumPy's results and warnings."""

import warnings

import numpy
import pytest

import numelt

from ..support.compare import as_numpy

DTYPES = [
    "bool",
    "int8",
    "uint16",
    "int64",
    "uint64",
    "float16",
    "float32",
    "float64",
    "complex64",
    "complex128",
]
SIZES = [0, 1, 7, 5000, 70_001]
MODES = ["plain", "stepped", "reversed"]


def spread(values, mode):
    """Return the values as a view of this kind."""
    if mode == "plain":
        return values
    wide = numpy.repeat(values, 2)
    return wide[::2] if mode == "stepped" else wide[::-1][::2]


def special(dtype, n):
    """Numbers that include NaN, infinities, negative zeros and the extremes of integers."""
    rng = numpy.random.default_rng(3)
    kind = numpy.dtype(dtype)
    if kind.kind == "b":
        return rng.random(n) < 0.5
    if kind.kind in "iu":
        values = rng.integers(0, 100, n).astype(dtype)
        values[::17], values[5::19] = numpy.iinfo(kind).max, numpy.iinfo(kind).min
        return values
    values = (rng.standard_normal(n) + (1j * rng.standard_normal(n) if kind.kind == "c" else 0)).astype(dtype)
    values[::17], values[3::19], values[4::23], values[5::29] = numpy.nan, numpy.inf, -0.0, -numpy.inf
    return values


def assign(np, a, x, i, m):
    a[i] = x + x
    return a


def assign_masked(np, a, x, i, m):
    a[m] = (x + x)[m]
    return a


def assign_made_of_masked(np, a, x, i, m):
    a[m] = x[m] * x[m]
    return a


def add_once(np, a, x, i, m):
    a[i] += x * x
    return a


def add_masked(np, a, x, i, m):
    a[m] += x[m] + x[m]
    return a


def add_all(np, a, x, i, m):
    np.add.at(a, i, x * x)
    return a


def multiply_all(np, a, x, i, m):
    np.multiply.at(a, i, x + x)
    return a


def largest(np, a, x, i, m):
    np.maximum.at(a, i, x + x)
    np.minimum.at(a, i, x * x)
    return a


def by_made_positions(np, a, x, i, m):
    a[-abs(i)] = x * x
    return a


def kept_values(np, a, x, i, m):
    v = x + x
    a[i] = v
    return a, v


def twice(np, a, x, i, m):
    b = np.zeros_like(a)
    a[i] = x + x
    b[i] = x * x
    a[i] = b[i] * x
    return a, b


def its_own_values(np, a, x, i, m):
    a[i] = a[i] * a[i]
    a[i] = a[: len(i)] + x
    return a


def moved(np, a, x, i, m):
    a[i] = a[-abs(i)] + x
    return a


PROGRAMS = [
    assign,
    assign_masked,
    assign_made_of_masked,
    add_once,
    add_masked,
    add_all,
    multiply_all,
    largest,
    by_made_positions,
    kept_values,
    twice,
    its_own_values,
    moved,
]


def same(want, got):
    """Compare bits if all implementations must round alike: sums and products of two numbers are exact."""
    for theirs, ours in zip(*(r if isinstance(r, tuple) else (r,) for r in (want, got)), strict=True):
        ours = as_numpy(ours)
        assert ours.dtype == theirs.dtype
        steps = [(s, t) for n, s, t in zip(theirs.shape, ours.strides, theirs.strides, strict=True) if n > 1]
        assert not theirs.size or all(s == t for s, t in steps)
        numpy.testing.assert_array_equal(ours, theirs)
        if theirs.dtype.kind == "f":
            number = ~numpy.isnan(theirs)
            numpy.testing.assert_array_equal(numpy.signbit(ours)[number], numpy.signbit(theirs)[number])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_vectors(dtype, n, mode):
    rng = numpy.random.default_rng(n)
    values, places = special(dtype, n), rng.integers(-n, n, n) if n else numpy.zeros(0, int)
    mask = rng.random(n) < 0.4
    for program in PROGRAMS:
        if program is multiply_all and dtype.startswith("complex"):
            continue  # NumPy's `multiply.at` rounds the parts of complex products differently
        results = []
        for np in (numpy, numelt):
            a = spread(np.array(special(dtype, n)[::-1].copy()), "plain")
            operands = [np.array(spread(part, mode).copy()) for part in (values, places, mask)]
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                results.append(program(np, a, *operands))
        same(*results)


@pytest.mark.parametrize("few", [False, True], ids=["spread", "crowded"])
@pytest.mark.parametrize("ascending", [False, True], ids=["mixed", "ascending"])
def test_large(ascending, few):
    n = 300_000
    rng = numpy.random.default_rng(1)
    places = rng.integers(0, 50 if few else n, n)
    places = numpy.sort(places) if ascending else places
    if ascending and not few:
        places = numpy.flatnonzero(numpy.arange(n) % 3)
    values, mask = special("float64", len(places)), numpy.zeros(n, bool)
    for program in (assign, add_once, add_all, largest, kept_values, twice, its_own_values, moved):
        results = []
        for np in (numpy, numelt):
            with np.errstate(all="ignore"):
                operands = [np.array(part) for part in (numpy.arange(n) * 1.0, values, places, mask)]
                results.append([program(np, *operands) for _ in range(3)][-1])
        same(*results)


def rows(np, a, x, i, pairs):
    a[i] = x * 2 + 1
    return a


def added_rows(np, a, x, i, pairs):
    a[i] += x * 2
    np.add.at(a, i, x * 3)
    return a


def elements(np, a, x, i, pairs):
    a[pairs] = x.ravel()[: pairs[0].size].reshape(pairs[0].shape) * 2
    return a


def added_elements(np, a, x, i, pairs):
    v = x.ravel()[: pairs[0].size].reshape(pairs[0].shape)
    a[pairs] += v * 2
    np.add.at(a, pairs, v + 1)
    return a


def columns(np, a, x, i, pairs):
    a[:, i % a.shape[1]] = a[:, :1] * 2 + np.arange(500.0).reshape(500, *(1,) * (a.ndim - 2))
    return a


LAYOUTS = {
    "C": lambda x: x,
    "F": lambda x: x.T.copy().T,
    "reversed": lambda x: x[::-1, ..., ::-1],
}


@pytest.mark.parametrize(
    "program", [rows, added_rows, elements, added_elements, columns], ids=lambda f: f.__name__
)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shape", [(40, 7), (3, 3000), (300, 1), (9, 5, 4), (70, 2, 33)])
def test_rows(shape, layout, program):
    rng = numpy.random.default_rng(2)
    places, values = rng.integers(-shape[0], shape[0], 500), rng.standard_normal((500, *shape[1:]))
    pairs = tuple(rng.integers(0, n, (20, 25)) for n in shape)
    results = []
    for np in (numpy, numelt):
        a = LAYOUTS[layout](np.array(numpy.arange(float(numpy.prod(shape))).reshape(shape)))
        results.append(program(np, a, np.array(values), np.array(places), tuple(np.array(p) for p in pairs)))
    same(*results)


def test_one_kernel(on_the_host):
    n = 100_000
    x, i = numelt.arange(n) * 1.0, numelt.arange(n)[::-1].copy()
    a, m = numelt.zeros(n), numelt.arange(n) % 3 == 0
    float(x[0]), int(i[0]), float(a[0]), bool(m[0])

    def steps(statement):
        statement()
        text = numelt.explain(kernels=True, bytecode=True)
        float(a[0])
        shown = text[text.index("\nstep 0") :]
        return shown.count("\nstep "), shown.count("  put "), shown.count(": call ")

    def sines():
        a[i] = numelt.sin(x) * 2 + x

    def roots():
        a[m] = numelt.sqrt(x[m])

    def sums():
        numelt.add.at(a, i, x * 2)

    def updates():
        a[i] += x * 2

    assert steps(sines) == (1, 1, 0)
    assert steps(sums) == (1, 1, 0)
    assert steps(updates) == (1, 1, 0)
    assert steps(roots) == (2, 1, 1)


def test_earlier_values_are_gathered():
    # of equal indices the last one counts, and all of them read the old values
    for n in (10, 5000, 200_000):
        results = []
        for np in (numpy, numelt):
            a, i, x = np.ones(50), np.arange(n) % 50, np.arange(n) * 1.0
            for _ in range(3):
                a[i] += x * 2
                a[i] = a[i] * 0.5 + x
                a[i] = a[i * 7 % 50] + x
            results.append(a)
        same(*results)


@pytest.mark.parametrize("n", [100, 20_000, 300_000])
def test_warnings(n):
    def said(np):
        a, i, x = np.ones(n), np.arange(n) % 70, np.arange(n) * 1e306
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            a[i] = np.sqrt(x - 1)
            float(a[0])
            np.add.at(a, i, x + 1e308)
            float(a[0])
            np.multiply.at(a, i, x - x + 1)
            float(a[0])
            a[i] += x * 1e10
            float(a[0])
            return [(w.category, str(w.message)) for w in caught]

    assert sorted(map(str, said(numelt))) == sorted(map(str, said(numpy)))


def test_index_errors_come_before():
    a, x = numelt.zeros(10), numelt.arange(6000) * 1.0
    i = numelt.arange(6000) % 11
    with pytest.raises(IndexError, match="index 10 is out of bounds for axis 0 with size 10"):
        a[i] = x * 2
    assert not as_numpy(a).any()


@pytest.mark.parametrize("dtype", ["f4", "f2", "c8", "f8", "i4"])
@pytest.mark.parametrize("value", [1e300, numpy.float64(1e300), numpy.inf, 3, 10**30], ids=repr)
def test_numbers_that_overflow_warn_as_often_as_in_numpy(dtype, value):
    keys = [
        (True, -1),
        True,
        ([0], [1]),
        ([0, 1],),
        [0, 1],
        (slice(None), [0]),
        ([0, 5],),
        [7],
        [True, False],
    ]
    keys += [numpy.array([[True, False], [False, True]]), numpy.array([1, 0]), (numpy.array([[0], [1]]), 1)]
    for key in keys:
        seen = []
        for module in (numpy, numelt):
            array = module.ones((2, 2), dtype)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                try:
                    array[key] = value
                    error = None
                except (IndexError, OverflowError, TypeError) as raised:
                    error = type(raised), str(raised)
            seen.append((error, [str(w.message) for w in caught], numpy.asarray(array).tobytes()))
        assert seen[0] == seen[1], (key, seen)
