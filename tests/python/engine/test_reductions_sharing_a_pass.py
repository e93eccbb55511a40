"""Full reductions of an array that share a pass, also if each is read before the next is requested."""

import warnings

import numpy
import pytest

import numelt

SIZE = 40_000


def bits(value):
    """Return what distinguishes a scalar from others of its type, except for the sign of a zero."""
    value = numpy.asarray(value)
    return value.dtype, numpy.where(value == 0, numpy.zeros_like(value), value).tobytes()


def passes(run):
    """Return the reductions in each kernel that `run` launched, and the bytes moved."""
    with numelt.inspect() as seen:
        run()
    kernels = [kernel for flush in seen.flushes for kernel in flush["kernels"]]
    folds = [
        "+".join(
            sorted(line.split("<-")[1].split(".")[0].strip() for line in kernel.split("\n") if "<-" in line)
        )
        for kernel in kernels
    ]
    return [fold for fold in folds if fold], seen.bytes_moved


def data(dtype="f8", size=SIZE, seed=0):
    return numpy.random.default_rng(seed).standard_normal(size).astype(dtype)


def ours(values):
    """Return an array with numelt's memory, because NumPy's may get a second owner."""
    array = numelt.array(values).copy()
    numelt.flush()
    return array


def test_reductions_of_one_batch_share_a_pass():
    x = ours(data())
    numelt.flush()

    def run():
        with numelt.lazy():
            a, b, c = x.sum(), x.min(), (x * x).sum()
        float(a)
        float(b)
        float(c)

    folds, moved = passes(run)
    assert folds == ["min+sum+sum"]
    assert moved < x.nbytes + 100


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_a_third_comes_with_the_second_and_then_with_the_first(dtype):
    # a size that no other test uses, because following reductions are remembered by size
    x = ours(data(dtype, SIZE + (7 if dtype == "f4" else 3)))
    numelt.flush()

    def run():
        return [float(f(x)) for f in (numelt.min, numelt.max, numelt.mean, numelt.std)]

    assert passes(run)[0] == ["min", "max+sum", "sum"]
    for _ in range(3):
        folds, moved = passes(run)
        assert folds == ["max+min+sum", "sum"]
        assert moved < 2 * x.nbytes + 200
    plain = numpy.asarray(x)
    assert run() == [float(f(plain)) for f in (numpy.min, numpy.max, numpy.mean, numpy.std)]


def test_the_mean_of_a_standard_deviation_is_the_one_before():
    x = ours(data(size=SIZE + 11))
    assert passes(lambda: (float(x.mean()), float(x.std())))[0] == ["sum", "sum"]
    assert passes(lambda: (float(x.var()), float(x.mean())))[0] == ["sum", "sum", "sum"]


def test_the_same_again_is_computed_again():
    x = ours(data(size=SIZE + 13))
    assert passes(lambda: [float(x.sum()) for _ in range(3)])[0] == ["sum"] * 3


def test_what_nobody_takes_is_given_up():
    x = ours(data(size=SIZE + 17))
    for _ in range(2):
        float(x.min()), float(x.max())
    folds = [passes(lambda: float(x.min()))[0] for _ in range(40)]
    assert folds[-1] == [["min"]][0]


WRITES = {
    "element": lambda np, x: x.__setitem__(17, 5.0),
    "slice": lambda np, x: x.__setitem__(slice(3, 900), -2.5),
    "in place": lambda np, x: x.__imul__(2),
    "out": lambda np, x: np.add(x, 1, out=x),
    "fill": lambda np, x: x.fill(0.25),
    "mask": lambda np, x: x.__setitem__(x > 1, 0.5),
    "indices": lambda np, x: x.__setitem__([5, 8], 100.0),
    "view": lambda np, x: x[::-1].__setitem__(2, -50.0),
    "sort": lambda np, x: x.sort(),
    "memory": lambda np, x: memoryview(x).__setitem__(3, 77.0),
    "put": lambda np, x: np.put(x, [1, 2], [3.0, 9.0]),
    "copyto": lambda np, x: np.copyto(x, x[::-1].copy()),
    "uniform": lambda np, x: np.random.Generator(np.random.SFC64(3)).random(out=x, dtype=x.dtype.type),
    "normal": lambda np, x: np.random.default_rng(3).standard_normal(out=x, dtype=x.dtype.type),
    "twister": lambda np, x: np.random.Generator(np.random.MT19937(3)).random(out=x, dtype=x.dtype.type),
    "nothing": lambda np, x: None,
}

READS = {
    "sum": lambda np, x: x.sum(),
    "min": lambda np, x: x.min(),
    "max": lambda np, x: x.max(),
    "mean": lambda np, x: x.mean(),
    "std": lambda np, x: x.std(),
    "ptp": lambda np, x: np.ptp(x),
    "kept": lambda np, x: np.sum(x, keepdims=True)[0],
    "into": lambda np, x: np.max(x, out=np.zeros(())),
    "part": lambda np, x: x[100:].min(),
    "squares": lambda np, x: (x * x).sum(),
}


@pytest.mark.parametrize("write", WRITES)
def test_a_write_makes_values_stale(write):
    plain = data()
    ours = numelt.array(plain)
    for name in ("sum", "min", "max", "mean", "sum"):
        assert bits(READS[name](numelt, ours)) == bits(READS[name](numpy, plain))
    WRITES[write](numelt, ours)
    WRITES[write](numpy, plain)
    for name in ("max", "min", "sum", "std"):
        assert bits(READS[name](numelt, ours)) == bits(READS[name](numpy, plain)), name


@pytest.mark.parametrize("seed", range(12))
def test_any_sequence_gives_numpys_bits(seed):
    random = numpy.random.default_rng(seed)
    dtype = ["f8", "f4"][seed % 2]
    plain = data(dtype, SIZE, seed)
    if seed % 3 == 0:
        plain[random.integers(0, SIZE, 40)] = 0.0
        plain[random.integers(0, SIZE, 40)] = -0.0
    ours = numelt.array(plain)
    hold = []
    for _ in range(60):
        if random.random() < 0.2:
            name = str(random.choice(list(WRITES)))
            WRITES[name](numelt, ours)
            WRITES[name](numpy, plain)
        name = str(random.choice(list(READS)))
        mine, theirs = READS[name](numelt, ours), READS[name](numpy, plain)
        hold.append((name, mine, theirs))
        if random.random() < 0.6:
            for name, mine, theirs in hold:
                assert bits(mine) == bits(theirs), name
            hold = []


@pytest.mark.parametrize("special", [numpy.nan, numpy.inf, -numpy.inf, 1.7e308])
def test_values_that_warn_warn_each_time(special):
    plain = data()
    plain[[5, 6]] = special
    ours = numelt.array(plain)
    for np, x in ((numpy, plain), (numelt, ours)):
        told = []
        for name in ("min", "max", "sum", "mean", "sum", "min", "std"):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                value = READS[name](np, x)
                text = repr(float(value))
            told.append((name, text, sorted(str(w.message) for w in caught)))
        if np is numpy:
            wanted = told
    assert told == wanted


def test_arrays_that_numpy_sees_are_computed_each_time():
    plain = data()
    ours = numelt.asarray(plain)
    for value in (300.0, 400.0, 500.0):
        plain[9] = value
        assert (float(ours.max()), float(ours.min())) == (value, plain.min())
        assert float(ours.sum()) == plain.sum()


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("names", [("sum", "max"), ("max", "sum"), ("min", "sum", "max")])
def test_a_sum_of_nan_beside_extremes_is_silent(dtype, names):
    """The comparisons that find extremes raise the processor's flag for NaN; additions do not."""
    x = numelt.array(numpy.where(numpy.arange(SIZE) % 1000 == 5, numpy.nan, data(dtype)))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        values = [getattr(x, name)() for name in names]
        assert all(numpy.isnan(float(value)) for value in values)
    assert [str(w.message) for w in caught] == []
