"""Reductions and statistics with all their arguments, and the nan functions, against NumPy."""

import warnings

import numpy
import pytest

import numelt

from ..support.compare import assert_same, outcome

pytestmark = pytest.mark.quick


rng = numpy.random.default_rng(1)
A = rng.standard_normal((5, 6))
HOLES = A.copy()
HOLES[1, 2] = HOLES[0, 0] = numpy.nan
EMPTY_ROW = HOLES.copy()
EMPTY_ROW[3] = numpy.nan
INTS = rng.integers(-5, 9, (5, 6))
BYTES = rng.integers(0, 255, (5, 6)).astype("uint8")
COMPLEX = A + 1j * A[::-1]
MASK = A > 0
SINGLE = A.astype("float32")
AXES = [None, 0, 1, -1, (0, 1), (1,)]


def run(np, call, arrays):
    """Return the result or the exception of a call, and the warnings about slices."""
    given = [np.array(x) for x in arrays]
    with warnings.catch_warnings(record=True) as seen, numpy.errstate(all="ignore"):
        warnings.simplefilter("always")
        try:
            result = call(np, *given)
        except Exception as error:
            result = error
    return result, [(w.category, str(w.message)) for w in seen]


def check(call, *arrays, rtol=0.0):
    """Assert the same value, or exception, and the same warnings."""
    theirs, said = run(numpy, call, arrays)
    ours, heard = run(numelt, call, arrays)
    if isinstance(theirs, Exception):
        assert (type(ours), str(ours)) == (type(theirs), str(theirs))
        return
    if isinstance(ours, Exception):
        raise ours
    assert_same(ours, theirs, rtol=rtol)
    assert heard == said


ARRAYS = {"floats": A, "holes": HOLES, "empty row": EMPTY_ROW, "ints": INTS, "single": SINGLE, "bools": MASK}


@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("kind", ARRAYS)
@pytest.mark.parametrize(
    "name",
    [
        "nansum", "nanprod", "nanmin", "nanmax", "nanmean", "nanvar", "nanstd", "nanmedian", "nanargmin",
        "nanargmax", "nancumsum", "nancumprod",
    ],
)  # fmt: skip
def test_nan_family(name, kind, axis):
    if isinstance(axis, tuple) and ("cum" in name or "arg" in name):
        return
    x = ARRAYS[kind]
    check(lambda np, x: getattr(np, name)(x, axis=axis), x)
    check(lambda np, x: getattr(np, name)(x.T[::2], axis=axis), x)
    if "cum" not in name:
        check(lambda np, x: getattr(np, name)(x, axis=axis, keepdims=True), x)


@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("kind", ["floats", "ints", "single", "bools"])
@pytest.mark.parametrize("name", ["sum", "prod", "min", "max", "mean", "var", "std", "any", "all"])
def test_masked(name, kind, axis):
    start = {"initial": 1} if name in ("min", "max") else {}
    for mask in (MASK, MASK[0], numpy.array(True), MASK & ~MASK):
        check(lambda np, x, m: getattr(np, name)(x, axis=axis, where=m, **start), ARRAYS[kind], mask)
    check(lambda np, x, m: getattr(np, name)(x, axis=axis, where=m), ARRAYS[kind], MASK)
    check(lambda np, x: getattr(np, name)(x, axis=axis, where=[True] * 6, **start), ARRAYS[kind])


@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("kind", ["floats", "ints", "single", "bools"])
@pytest.mark.parametrize("name", ["sum", "prod", "min", "max"])
@pytest.mark.parametrize("initial", [0, -7, 0.25, 300, None, True])
def test_initial(name, kind, axis, initial):
    check(lambda np, x: getattr(np, name)(x, axis=axis, initial=initial), ARRAYS[kind])
    check(lambda np, x: getattr(np, name)(x[:0], axis=axis, initial=initial), ARRAYS[kind])


@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128", "int64"])
@pytest.mark.parametrize("name", ["sum", "prod", "mean", "var", "std"])
def test_dtype_and_out(name, dtype, axis):
    for x in (A, INTS, SINGLE, MASK):
        if dtype != "int64" or x.dtype.kind in "bi":
            check(lambda np, x: getattr(np, name)(x, axis=axis, dtype=dtype), x)

        def into(np, x):
            target = np.zeros(numpy.sum(A, axis=axis).shape, dtype)
            result = getattr(np, name)(x, axis=axis, out=target)
            assert result is target
            return result

        check(into, x)


@pytest.mark.parametrize("name", ["var", "std"])
def test_spread(name):
    for x in (A, INTS, COMPLEX, COMPLEX.astype("complex64"), SINGLE, MASK):
        for axis in AXES:
            for ddof in (0, 1, 0.5, 5, 100):
                check(lambda np, x, a=axis, d=ddof: getattr(np, name)(x, axis=a, ddof=d), x)
        check(lambda np, x: getattr(np, name)(x, correction=1), x)
        check(lambda np, x: getattr(np, name)(x, correction=1, ddof=1), x)
        check(lambda np, x: getattr(np, name)(x, axis=0, mean=np.mean(x, axis=0, keepdims=True)), x)
    check(lambda np, x: (x.var(1, keepdims=True), x.std(ddof=2)), A)


def test_empty():
    for name in ("mean", "var", "std", "sum", "prod", "nanmean", "nansum", "nanvar", "any", "all", "median"):
        for axis in (None, 0, 1):
            check(lambda np, x, n=name, a=axis: getattr(np, n)(x, axis=a), numpy.zeros((0, 3)))
    for name in ("min", "max", "ptp", "argmin", "nanmin", "nanargmax"):
        for axis in (None, 0, 1):
            check(lambda np, x, n=name, a=axis: getattr(np, n)(x, axis=a), numpy.zeros((0, 3)))


def test_average():
    check(lambda np, x, w: np.average(x, weights=w), A, abs(A))
    check(lambda np, x, w: np.average(x, axis=0, weights=w, returned=True), A, abs(A[:, 0]))
    check(lambda np, x: np.average(x, axis=0, returned=True), A)
    check(lambda np, x, w: np.average(x, axis=1, weights=w, keepdims=True), INTS, BYTES)
    check(lambda np, x, w: np.average(x, weights=w), A, 0 * A)
    check(lambda np, x, w: np.average(x, weights=w), A, abs(A[0]))


CALCULUS = [
    lambda np, x: np.gradient(x),
    lambda np, x: np.gradient(x, 2.0, np.array([0.0, 1, 2, 5, 6, 8]), edge_order=2),
    lambda np, x: np.gradient(x, axis=1),
    lambda np, x: np.gradient(x[:1], axis=0),
    lambda np, x: np.trapezoid(x),
    lambda np, x: np.trapezoid(x, np.array([0.0, 1, 3, 5, 6])[:, None], axis=0),
    lambda np, x: np.cross(x[:, :3], x[:, 3:]),
    lambda np, x: np.cross(x[:, :3], x[:, 3:].T, axisb=0) if x.shape[0] == 3 else None,
    lambda np, x: np.ediff1d(x, to_begin=x.dtype.type(0), to_end=x[0, :2]),
    lambda np, x: np.diff(x, prepend=0, append=1),
    lambda np, x: np.diff(x, n=2, axis=0, prepend=x[:1]),
    lambda np, x: np.diff(x, n=7),
    lambda np, x: np.diff(x, n=-1),
    lambda np, x: np.unwrap(x * 3),
    lambda np, x: np.nan_to_num(x / x),
    lambda np, x: np.cumulative_sum(x, axis=0, include_initial=True),
    lambda np, x: np.cumulative_sum(x),
    lambda np, x: np.cumulative_prod(x, axis=1),
    lambda np, x: np.ptp(x, axis=0),
    lambda np, x: np.ptp(x, axis=(0, 1), keepdims=True),
    lambda np, x: np.ptp(x, 0, out=np.zeros(6, x.dtype)),
    lambda np, x: np.count_nonzero(x > 1, axis=(0, 1), keepdims=True),
    lambda np, x: np.median(x, axis=1),
    lambda np, x: np.percentile(x, [10, 50], axis=0, method="nearest"),
    lambda np, x: np.quantile(x, 0.3, keepdims=True),
    lambda np, x: (x.argmin(0), x.argmax(axis=1, keepdims=True), np.argmax(x)),
    lambda np, x: np.sum([x, x], axis=0),
]


@pytest.mark.parametrize("call", CALCULUS)
def test_calculus(call):
    for x in (A, INTS, SINGLE):
        check(call, x)


def test_covariance():
    for x in (A, INTS, COMPLEX):
        check(lambda np, x: np.cov(x), x, rtol=1e-13)
        check(lambda np, x: np.cov(x, rowvar=False, ddof=0), x, rtol=1e-13)
        check(lambda np, x: np.corrcoef(x), x, rtol=1e-13)
        check(lambda np, x: np.cov(x[0], x[1], bias=True), x, rtol=1e-13)
    check(lambda np, x: np.cov(x, ddof=6), A)
    check(lambda np, x: np.cov(x, aweights=[1, 2, 3, 4, 5, 6.0]), A, rtol=1e-13)


def test_recorded():
    """None of these calls runs in NumPy."""
    numelt.coverage(reset=True)
    x, mask = numelt.array(HOLES), numelt.array(MASK)
    numelt.nanmean(x, axis=0)
    numelt.nanstd(x)
    numelt.nanmax(x, axis=1)
    numelt.gradient(x)
    numelt.average(x, axis=0, weights=abs(x[:, 1]))
    numelt.sum(x, axis=0, where=mask)
    numelt.max(x, where=mask, initial=0)
    numelt.var(x, axis=0, where=mask)
    numelt.mean(x, dtype="float32")
    numelt.var(x, axis=0, out=numelt.zeros(6))
    numelt.trapezoid(x)
    numelt.median(x)
    assert numelt.coverage().fallbacks == []


@pytest.mark.parametrize("dtype", ["u1", "?", "f8"])
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_average_of_nothing(dtype, axis):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = outcome(lambda: numpy.average(numpy.zeros((0, 3), dtype), axis=axis))
        ours = outcome(lambda: numelt.average(numelt.zeros((0, 3), dtype), axis=axis))
    assert ours[0] == theirs[0]
    if ours[0] == "value":
        assert_same(ours[1], theirs[1])


LAYOUTS = {
    "matrix": lambda x: x,
    "backwards": lambda x: x[::-1, ::-1],
    "transposed": lambda x: x.T,
    "strided": lambda x: x[::2],
    "no rows": lambda x: x[:0],
    "no columns": lambda x: x[:, :0],
    "no axes": lambda x: x[1, 1],
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["?", "i1", "u8", "f2", "f4", "f8", "c8", "c16"])
def test_means_of_every_dtype(dtype, layout):
    """Means and variances have NumPy's bits, class, strides and warnings; also for float16 and complex64."""
    base = (COMPLEX if dtype[0] == "c" else 50 * A).astype(dtype)
    calls = [
        (name, axis, keepdims)
        for name in ("mean", "var", "std")
        for axis in AXES
        for keepdims in (False, True)
    ]
    for name, axis, keepdims in calls:

        def call(np, x, name=name, axis=axis, keepdims=keepdims):
            return getattr(np, name)(LAYOUTS[layout](x), axis=axis, keepdims=keepdims)

        (ours, warned), (theirs, expected) = run(numelt, call, [base]), run(numpy, call, [base])
        context = f"{name} {axis} {keepdims}"
        assert warned == expected, context
        if isinstance(theirs, Exception):
            assert (type(ours), str(ours)) == (type(theirs), str(theirs)), context
            continue
        assert_same(ours, theirs, context=context)
        assert isinstance(ours, numpy.generic) == isinstance(theirs, numpy.generic), context
        assert theirs.size == 0 or ours.strides == theirs.strides, context


def test_limits_of_three_dtypes():
    """The array and the bounds are converted to the dtype that holds all three, not to that of any two of
    them."""
    codes = ["i1", "u1", "i2", "u2", "i4", "u8", "f2", "f4", "f8"]
    for array, low, high in [(a, b, c) for a in codes for b in codes for c in codes]:
        ends = numpy.ones(5, low), numpy.full(5, 3, high)
        theirs = numpy.clip(numpy.arange(5).astype(array), *ends)
        assert_same(
            numelt.clip(numelt.arange(5).astype(array), *ends), theirs, context=f"{array} {low} {high}"
        )


@pytest.mark.parametrize("shape", [(3, 4), (40, 50)])
@pytest.mark.parametrize(("axis", "part"), [(0, (0,)), (0, (-1,)), (1, (slice(None), 1))])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "u1"])
def test_range_stored_in_its_operand(shape, axis, part, dtype):
    """NumPy stores the largest elements before it looks for the smallest."""

    def changed(np):
        x = np.array((numpy.arange(numpy.prod(shape)).reshape(shape) * 7 % 100 + 5).astype(dtype))
        np.ptp(x, axis=axis, out=x[part])
        return x

    assert_same(changed(numelt), changed(numpy))
