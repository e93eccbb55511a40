"""Many small problems that threads share: NumPy's bits, strides, warnings and exceptions."""

import warnings

import numpy
import pytest

import numelt
from numelt._dispatch import stacks

from ..support.compare import as_numpy, outcome

RNG = numpy.random.default_rng(11)
ROWS = RNG.normal(size=(96, 250))
CUBE = RNG.normal(size=(30, 25, 40))
MATRICES = RNG.normal(size=(2100, 3, 3)) + 2 * numpy.eye(3)
LARGER = RNG.normal(size=(300, 9, 9)) + 3 * numpy.eye(9)


@pytest.fixture(autouse=True)
def cuts(monkeypatch):
    """The calls whose work three threads shared."""
    seen = []
    share = stacks.in_parts
    monkeypatch.setattr(numelt._core, "threads_for", lambda n: 3 if n >= 1 << 18 else 1)
    monkeypatch.setattr(stacks, "_SHARE", 1)
    monkeypatch.setattr(stacks, "in_parts", lambda *args: (seen.append(args[:2]), share(*args))[1])
    return seen


def same_bits(ours, theirs):
    if isinstance(theirs, tuple):
        assert type(ours) is type(theirs)
        for a, b in zip(ours, theirs, strict=True):
            same_bits(a, b)
        return
    ours = as_numpy(ours)
    assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
    steps = [[s for s, n in zip(x.strides, x.shape, strict=True) if n > 1] for x in (ours, theirs)]
    assert steps[0] == steps[1]
    assert ours.tobytes() == theirs.tobytes()


def compare(call, *arrays):
    same_bits(call(numelt, *map(numelt.asarray, arrays)), call(numpy, *arrays))


def layouts(array):
    """Yield the array in other layouts with the same number of elements."""
    yield array
    yield numpy.asfortranarray(array)
    yield array[..., ::-1]
    yield numpy.repeat(array, 2, axis=0)[::2]
    yield array.swapaxes(-1, -2)


REAL = ("float64", "float32", "int16")
TRANSFORMS = [
    (name, dtype)
    for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
    for dtype in (REAL if name in ("rfft", "ihfft") else (*REAL, "complex128", "complex64"))
]


@pytest.mark.parametrize(("name", "dtype"), TRANSFORMS)
def test_transforms_of_lines(name, dtype, cuts):
    for array in (*layouts((ROWS * 9).astype(dtype)), (CUBE * 9).astype(dtype)):
        for options in ({}, {"axis": 0}, {"axis": -2, "norm": "ortho"}, {"n": 41}):
            compare(lambda np, x, options=options: getattr(np.fft, name)(x, **options), array)
    assert cuts


@pytest.mark.parametrize("name", ["fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn"])
def test_transforms_of_several_axes(name, cuts):
    for array in (ROWS, CUBE, ROWS.T, CUBE[:, ::-1]):
        compare(lambda np, x: getattr(np.fft, name)(x), array)
        compare(lambda np, x: getattr(np.fft, name)(x, axes=(0, 1), norm="forward"), array)
    assert cuts


@pytest.mark.parametrize(
    "name",
    ["inv", "det", "slogdet", "eig", "eigvals", "eigh", "eigvalsh", "svd", "svdvals", "qr", "cholesky",
     "pinv", "matrix_rank", "cond"],
)  # fmt: skip
def test_matrices(name, cuts):
    for stack in (
        MATRICES,
        LARGER,
        MATRICES.reshape(70, 30, 3, 3),
        LARGER.astype("f4"),
        LARGER + 1j * LARGER,
    ):
        for array in layouts(stack):
            if name == "cholesky":
                array = array @ array.swapaxes(-1, -2).conj() + numpy.eye(array.shape[-1])
            compare(lambda np, x: getattr(np.linalg, name)(x), array)
    assert cuts


def test_systems(cuts):
    one, many = LARGER[:, :, :1], LARGER[:, ::-1]
    for a, b in (
        (LARGER, one),
        (LARGER, many),
        (LARGER, LARGER[0]),
        (LARGER[0], many),
        (LARGER, LARGER[0, 0]),
    ):
        compare(lambda np, a, b: np.linalg.solve(a, b), a, b)
    tall = RNG.normal(size=(700, 6, 4))
    for mode in ("reduced", "complete", "r", "raw"):
        compare(lambda np, x, mode=mode: tuple(np.linalg.qr(x, mode)), tall)
    compare(lambda np, x: np.linalg.svd(x, full_matrices=False), tall)
    assert cuts


@pytest.mark.parametrize("name", ["sort", "argsort", "partition", "argpartition"])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int32", "uint8", "complex128", "bool"])
def test_orders_of_lines(name, dtype, cuts):
    places = ((3, 7),) if "partition" in name else ()
    for array in (*layouts((ROWS * 5).astype(dtype)), *layouts((CUBE * 5).astype(dtype))):
        for axis in range(-1, array.ndim):
            compare(lambda np, x, axis=axis: getattr(np, name)(x, *places, axis=axis), array)
            compare(lambda np, x, axis=axis: getattr(np, name)(x, *places, axis), array)
            if not places:
                compare(lambda np, x, axis=axis: getattr(np, name)(x, axis, stable=True), array)
        if "arg" not in name:
            ours, theirs = numelt.array(array), numpy.array(array)
            assert getattr(ours, name)(*places, axis=0) is None
            getattr(theirs, name)(*places, axis=0)
            same_bits(ours, theirs)
    assert cuts


@pytest.mark.parametrize("name", ["median", "percentile", "quantile"])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64"])
def test_order_statistics_of_lines(name, dtype, cuts):
    ranks = {
        "median": [()],
        "percentile": [(5,), ([5, 50],), ([[1, 2], [3, 4]],)],
        "quantile": [(0.3,), ([0, 1],)],
    }
    for array in (*layouts((ROWS * 5).astype(dtype)), *layouts((CUBE * 5).astype(dtype))):
        for rank in ranks[name]:
            for axis in range(-1, array.ndim):
                compare(lambda np, x, rank=rank, axis=axis: getattr(np, name)(x, *rank, axis=axis), array)
                compare(lambda np, x, rank=rank, axis=axis: getattr(np, name)(x, *rank, axis), array)
            compare(lambda np, x, rank=rank: getattr(np, name)(x, *rank, axis=0, keepdims=True), array)
            compare(lambda np, x, rank=rank: getattr(np, name)(x, *rank, (0, 1)), array)
    assert cuts


@pytest.mark.parametrize("name", ["convolve", "correlate"])
@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("dtypes", ["dd", "ff", "ll", "DD", "dl", "fd", "lD"])
def test_sliding(name, mode, dtypes, cuts):
    for n in (1, 2, 7, 11, 12, 100, 1001):
        x, v = (RNG.normal(size=90_001) * 9).astype(dtypes[0]), (RNG.normal(size=n) * 9).astype(dtypes[1])
        compare(lambda np, x, v: getattr(np, name)(x, v, mode), x, v)
        compare(lambda np, x, v: getattr(np, name)(x, v, mode=mode), x[::-3], v[::-1])
        compare(lambda np, x, v: getattr(np, name)(v, x, mode), x, v)
    assert cuts


CALLS = {
    "singular": lambda np, x: np.linalg.inv(np.where(np.arange(2100)[:, None, None] == 2000, 0.0, x)),
    "not square": lambda np, x: np.linalg.inv(x[:, :2]),
    "keyword": lambda np, x: np.linalg.inv(x, nothing=1),
    "no result": lambda np, x: np.linalg.cholesky(-x),
    "axis": lambda np, x: np.fft.fft(x, axis=5),
    "norm": lambda np, x: np.fft.fft(x, norm="none"),
    "sorts": lambda np, x: np.sort(x, axis=0, kind="none"),
    "kth": lambda np, x: np.partition(x, 5000, axis=0),
    "rank": lambda np, x: np.percentile(x, 101, axis=0),
    "method": lambda np, x: np.percentile(x, 10, axis=0, method="none"),
    "mode": lambda np, x: np.convolve(x.ravel(), x.ravel()[:500], "none"),
    "out": lambda np, x: np.fft.fft(x, out=np.zeros(3)),
}


@pytest.mark.parametrize("name", CALLS)
def test_errors(name):
    ours, theirs = (outcome(CALLS[name], np, np.asarray(MATRICES)) for np in (numelt, numpy))
    assert (ours[0], type(ours[1]), str(ours[1])) == ("error", type(theirs[1]), str(theirs[1]))


def test_warnings():
    """Infinities in transforms: the call warns once, and has NumPy's numbers."""
    x = ROWS.copy()
    x[5, 7], x[90, 3] = numpy.inf, -numpy.inf
    heard = []
    for np in (numelt, numpy):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            made = as_numpy(np.fft.fft(np.asarray(x)))
        heard.append(([(w.category, str(w.message)) for w in caught], numpy.isnan(made).sum()))
    assert heard[0] == heard[1]
    with pytest.raises(FloatingPointError), numelt.errstate(all="raise"):
        numelt.fft.fft(numelt.asarray(x))


def test_output(cuts):
    """A transform that overwrites its operand, and one that writes to another array."""
    for own in (True, False):
        results = []
        for np in (numelt, numpy):
            x = np.asarray(ROWS) + 0j
            out = x if own else np.zeros_like(x)
            assert np.fft.fft(x, out=out) is out
            results.append(out)
        same_bits(*results)


def test_threads_are_started_for_work_that_is_worth_them(monkeypatch):
    monkeypatch.setattr(numelt._core, "threads_for", lambda n: 16)
    monkeypatch.setattr(stacks, "_SHARE", 250_000)
    assert stacks.shares(256 * 256, 256, stacks._TRANSFORMED) == 1
    assert 2 <= stacks.shares(512 * 512, 512, stacks._TRANSFORMED) <= 8
    assert stacks.shares(1 << 24, 4096, stacks._TRANSFORMED) == 16
    assert stacks.shares(1 << 24, 3, stacks._TRANSFORMED) == 3
