"""Sums, products, statistics and scans have NumPy's bits for all dtypes, layouts and axes."""

import warnings

import numpy
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import numelt

DTYPES = ["float32", "float64", "int32", "int64", "uint8", "bool", "complex64", "complex128"]
NAMES = ["sum", "prod", "mean", "var", "std", "min", "max", "cumsum", "cumprod"]

SHAPES = [
    (), (1,), (7,), (8,), (129,), (1000,), (8193,), (20_001,), (5, 7), (1, 300), (300, 1), (100, 50),
    (300, 200), (3, 9000), (9000, 3), (2, 5000), (4, 4100), (5, 4, 6), (30, 40, 50), (3, 1, 250),
    (3, 5000, 2), (20, 30, 5, 9),
]  # fmt: skip


def values(rng, dtype, shape):
    """Return values whose sums are rounded: of several magnitudes, with exact zeros of both signs."""
    kind = numpy.dtype(dtype).kind
    if kind == "b":
        return rng.random(shape) < 0.5
    if kind in "iu":
        limits = numpy.iinfo(dtype)
        return rng.integers(limits.min, limits.max, shape, dtype)
    data = rng.standard_normal(shape) * rng.choice([1e-3, 1.0, 30.0, 0.0], shape)
    if kind == "c":
        data = data + 1j * rng.standard_normal(shape)
    return data.astype(dtype)


def layout(rng, dtype, shape, name):
    """Return an array of this shape in the memory layout of this name."""
    rank = len(shape)
    if name == "C" or rank == 0:
        return values(rng, dtype, shape)
    if name == "F":
        return numpy.asfortranarray(values(rng, dtype, shape))
    if name == "rotated":
        return numpy.moveaxis(values(rng, dtype, shape[1:] + shape[:1]), -1, 0)
    if name == "window":
        inner = tuple(slice(1, -1) for _ in shape)
        return values(rng, dtype, tuple(n + 2 for n in shape))[inner]
    if name == "steps":
        return values(rng, dtype, (*shape[:-1], shape[-1] * 2))[..., ::2]
    if name == "rows":
        return values(rng, dtype, (shape[0] * 3, *shape[1:]))[::3]
    if name == "reversed":
        return values(rng, dtype, shape)[(slice(None, None, -1),) * rank]
    if name == "backwards":
        return values(rng, dtype, shape)[..., ::-1]
    if name == "row":
        return numpy.broadcast_to(values(rng, dtype, shape[-1:]), shape)
    return numpy.broadcast_to(values(rng, dtype, shape[:1] + (1,) * (rank - 1)), shape)


LAYOUTS = ["C", "F", "rotated", "window", "steps", "rows", "reversed", "backwards", "row", "column"]


def assert_bits(ours, theirs, context):
    """Assert equality of dtype, shape and every bit; all NaNs are considered equal."""
    ours, theirs = numpy.asarray(ours), numpy.asarray(theirs)
    assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape), context
    nan = numpy.isnan(theirs)
    assert (numpy.isnan(ours) == nan).all(), context
    a, b = ours[~nan], theirs[~nan]
    assert a.tobytes() == b.tobytes(), f"{context}\n{ours}\n{theirs}"


def call(np, name, x, axis, **kwargs):
    with warnings.catch_warnings(), numpy.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return getattr(np, name)(x, axis=axis, **kwargs)


@st.composite
def cases(draw):
    shape = draw(st.sampled_from(SHAPES))
    axes = draw(st.lists(st.integers(0, max(len(shape) - 1, 0)), unique=True, max_size=len(shape)))
    return shape, draw(st.sampled_from(LAYOUTS)), tuple(axes)


@pytest.mark.core
@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=30, deadline=None)
@given(case=cases(), dtype=st.sampled_from(DTYPES), seed=st.integers(0, 100))
@example(case=((3, 5000, 2), "C", (0, 2)), dtype="float32", seed=0)  # short rows, which are added first
@example(case=((5000, 3, 2), "steps", (1, 2)), dtype="float64", seed=1)
def test_bits(name, case, dtype, seed):
    shape, how, axes = case
    if dtype.startswith("complex") and name in ("prod", "cumprod"):
        return  # NumPy multiplies complex numbers with fused operations on some machines
    x = layout(numpy.random.default_rng(seed), dtype, shape, how)
    axis = axes if len(axes) > 1 else axes[0] if axes else None
    if name.startswith("cum") and isinstance(axis, tuple):
        axis = axis[0]
    ours = numelt.asarray(x)
    got, want = call(numelt, name, ours, axis), call(numpy, name, x, axis)
    if name in ("min", "max"):  # it is not specified which of two zeros is the result
        got, want = got + 0, want + 0
    assert_bits(got, want, (name, dtype, shape, how, axis))


def masks(rng, shape, how):
    """Return a mask that selects from arrays of this shape."""
    if how == "row":
        shape = shape[1:]
    elif how == "column":
        shape = (*shape[:1], *(1 for _ in shape[1:]))
    mask = rng.random(shape) < 0.7
    return numpy.array(mask, order="F") if how == "F" else mask[::-1] if how == "reversed" and shape else mask


FLOATS = ["float16", "float32", "float64", "complex64", "complex128"]
WIDER = {"float16": "float32", "float32": "float64", "complex64": "complex128"}
INITIAL = [None, 3, -60000, 2.5, -0.0, 0, 1, numpy.float32(1.1), numpy.inf, True]


@st.composite
def general_cases(draw):
    """Return the operands of a reduction with `initial`, `where`, `dtype`, `out` and `keepdims`."""
    shape, how, axes = draw(cases())
    return {
        "shape": shape,
        "layout": how,
        "axis": axes or None,
        "keepdims": draw(st.booleans()),
        "dtype": draw(st.sampled_from(["float16", *FLOATS])),
        "converted": draw(st.sampled_from([False, False, False, True])),
        "initial": draw(st.sampled_from(INITIAL)),
        "mask": draw(st.sampled_from([None, "C", "F", "reversed", "row", "column"])),
        "out": draw(st.sampled_from([None, None, "C", "F"])),
    }


@pytest.mark.core
@pytest.mark.parametrize("name", ["sum", "prod"])
@settings(max_examples=60, deadline=None)
@given(case=general_cases(), seed=st.integers(0, 100))
def test_bits_with_initial_and_where(name, case, seed):
    rng = numpy.random.default_rng(seed)
    x = layout(rng, case["dtype"], case["shape"], case["layout"])
    kwargs = {"keepdims": case["keepdims"]}
    if case["initial"] is not None:
        kwargs["initial"] = case["initial"]
    if case["converted"]:
        kwargs["dtype"] = WIDER.get(case["dtype"])
    theirs, ours = dict(kwargs), dict(kwargs)
    if case["mask"] is not None:
        mask = masks(rng, case["shape"], case["mask"])
        theirs["where"], ours["where"] = mask, numelt.asarray(mask)
    if case["out"] is not None:
        result = call(numpy, name, x, case["axis"], **kwargs)
        theirs["out"] = numpy.empty(result.shape, result.dtype, case["out"])
        ours["out"] = numelt.empty(result.shape, result.dtype, case["out"])
    want = call(numpy, name, x, case["axis"], **theirs)
    assert_bits(call(numelt, name, numelt.asarray(x), case["axis"], **ours), want, (name, case))


@pytest.mark.core
def test_half_precision_starts_from_the_initial_value():
    for np in (numpy, numelt):
        assert float(np.array([60000.0, 60000.0], "f2").sum(initial=-60000)) == 6e4
        assert float(np.array([300.0, 300.0, 0.01], "f2").prod(initial=0.01)) == float(numpy.float16(9.0))


@pytest.mark.core
@pytest.mark.parametrize("dtype", ["float16", "float32", "complex64"])
def test_a_mask_takes_part_in_the_order_of_the_loops(dtype):
    rng = numpy.random.default_rng(8)
    x = values(rng, dtype, (110, 116)).T
    mask = rng.random(x.shape) < 0.9
    for axis in (0, 1, (0, 1)):
        for where in (mask, numpy.asfortranarray(mask)):
            for name in ("sum", "prod"):
                want = call(numpy, name, x, axis, where=where)
                got = call(numelt, name, numelt.asarray(x), axis, where=numelt.asarray(where))
                assert_bits(got, want, (name, dtype, axis, where.strides))


@pytest.mark.core
def test_elements_that_are_not_selected_do_not_change_complex_products():
    x = numpy.array([[numpy.inf + 1j, 2 - 0j], [complex(-0.0, -0.0), 1j]])
    mask = numpy.array([[True, False], [True, False]])
    for axis in (0, 1, None):
        want = call(numpy, "prod", x, axis, where=mask)
        assert_bits(call(numelt, "prod", numelt.asarray(x), axis, where=numelt.asarray(mask)), want, axis)


@pytest.mark.parametrize("source", ["float32", "int64", "uint8", "bool", "float64"])
@pytest.mark.parametrize("target", ["float32", "float64", "complex128"])
@pytest.mark.parametrize("how", ["C", "window", "rows", "F", "backwards"])
def test_conversion_bits(source, target, how):
    rng = numpy.random.default_rng(3)
    for shape in [(20_001,), (300, 200), (3, 9000), (30, 40, 50)]:
        x = layout(rng, source, shape, how)
        for axis in (None, 0, len(shape) - 1):
            for name in ("sum", "mean", "prod", "var"):
                if numpy.can_cast(source, target, "same_kind"):
                    got = call(numelt, name, numelt.asarray(x), axis, dtype=target)
                    want = call(numpy, name, x, axis, dtype=target)
                    assert_bits(got, want, (name, source, target, how, shape, axis))


def test_fused_sums_keep_their_bits():
    rng = numpy.random.default_rng(5)
    base = rng.standard_normal((302, 202))
    x, y = base[1:-1, 1:-1], numelt.array(base)[1:-1, 1:-1]
    # the sums of a view, of a temporary and of a conversion add the same elements in different orders
    ours = [y.sum(), (y * 2).sum(), y.astype("float32").sum(dtype="float64"), y.max(), (y * y).mean()]
    theirs = [x.sum(), (x * 2).sum(), x.astype("float32").sum(dtype="float64"), x.max(), (x * x).mean()]
    for a, b in zip(ours, theirs, strict=True):
        assert_bits(a, b, "fused")


@pytest.mark.parametrize("threads", [1, 3])
def test_bits_do_not_depend_on_threads(threads):
    rng = numpy.random.default_rng(6)
    x = rng.integers(-(2**60), 2**60, 400_000)
    base = rng.standard_normal((1502, 402))
    before = numelt.config.threads
    numelt.config.threads = threads
    try:
        assert_bits(numelt.asarray(x).mean(), x.mean(), "mean of integers")
        assert_bits(numelt.asarray(base)[1:-1, 1:-1].sum(), base[1:-1, 1:-1].sum(), "window")
    finally:
        numelt.config.threads = before


@pytest.mark.parametrize("shape", [(40, 2), (3, 2000, 3), (2, 500, 7), (2, 500, 8), (1500, 9)])
@pytest.mark.parametrize("dtype", ["float16", "float64", "int64", "complex128"])
def test_scans_of_few_neighbouring_lines(shape, dtype):
    """A result in its own operand, and parts of records, whose elements are not aligned."""
    rng = numpy.random.default_rng(8)
    axis = len(shape) - 2
    x = values(rng, "float64", shape).astype(dtype)
    want = numpy.cumsum(x, axis=axis)
    ours = numelt.array(x)
    assert numpy.asarray(numelt.cumsum(ours, axis=axis)).tobytes() == want.tobytes()
    numelt.cumsum(ours, axis=axis, out=ours)
    assert numpy.asarray(ours).tobytes() == want.tobytes()
    records = numpy.zeros(shape, [("byte", "u1"), ("x", dtype)])
    records["x"] = x
    got = numelt.cumsum(numelt.array(records)["x"], axis=axis)
    assert numpy.asarray(got).tobytes() == want.tobytes()
