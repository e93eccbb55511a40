"""Compares a numelt result with NumPy's: class, dtype, shape and values, exactly or to a few ULP."""

from concurrent.futures import ThreadPoolExecutor

import numpy

import numelt


def as_numpy(value):
    """Return numelt arrays and scalars as NumPy's, also inside tuples and lists."""
    if isinstance(value, (tuple, list)):
        return (
            type(value)(map(as_numpy, value)) if type(value) in (tuple, list) else tuple(map(as_numpy, value))
        )
    if type(value) is numelt.ndarray:
        return numpy.asarray(value)
    return value


def ulps(x, y):
    """Return the largest distance of two real arrays in units of the last place; NaN equals NaN."""
    same = (x == y) | (numpy.isnan(x) & numpy.isnan(y))
    if same.all():
        return 0.0
    unit = numpy.spacing(numpy.maximum(numpy.abs(x), numpy.abs(y)))
    with numpy.errstate(all="ignore"):
        distance = numpy.where(same, 0, numpy.abs(x - y) / unit)
    return float(numpy.nan_to_num(distance, nan=numpy.inf).max())


def assert_same(ours, theirs, ulp=0, rtol=0.0, context="", norm=0):
    """Assert that `ours` is what NumPy returns."""
    if isinstance(theirs, (tuple, list)):
        assert len(ours) == len(theirs), context
        for a, b in zip(ours, theirs, strict=True):
            assert_same(a, b, ulp, rtol, context, norm)
        return
    if isinstance(theirs, numpy.ndarray):
        assert isinstance(ours, numelt.ndarray), f"{context}: {type(ours)} for an array"
    elif isinstance(theirs, numpy.generic):
        assert isinstance(ours, type(theirs)), f"{context}: {ours.__class__} for {type(theirs)}"
    ours = as_numpy(ours)
    if not isinstance(theirs, (numpy.ndarray, numpy.generic)):
        assert ours == theirs, context
        return
    assert ours.dtype == theirs.dtype, f"{context}: dtype {ours.dtype}, NumPy {theirs.dtype}"
    assert ours.shape == theirs.shape, f"{context}: shape {ours.shape}, NumPy {theirs.shape}"
    if theirs.dtype.kind == "c" and norm:
        unit = numpy.spacing(numpy.abs(theirs)) * norm
        near = (numpy.abs(ours - theirs) <= unit) | (ours == theirs) | ~numpy.isfinite(theirs)
        assert near.all(), f"{context}:\n{ours}\nNumPy:\n{theirs}"
    elif theirs.dtype.kind == "c":
        assert_same_values(ours.real, theirs.real, ulp, rtol, context)
        assert_same_values(ours.imag, theirs.imag, ulp, rtol, context)
    else:
        assert_same_values(ours, theirs, ulp, rtol, context)


def assert_same_values(ours, theirs, ulp, rtol, context):
    """Assert equality of real values within the tolerance."""
    if theirs.dtype.kind != "f":
        assert numpy.array_equal(ours, theirs), f"{context}:\n{ours}\nNumPy:\n{theirs}"
        return
    if rtol:
        numpy.testing.assert_allclose(ours, theirs, rtol=rtol, atol=rtol, equal_nan=True, err_msg=context)
        return
    distance = ulps(numpy.asarray(ours), numpy.asarray(theirs))
    assert distance <= ulp, f"{context}: {distance} ULP apart\n{ours}\nNumPy:\n{theirs}"


def in_threads(work, items):
    """Call `work` with each item in a thread of its own; returns the results, or raises."""
    items = list(items)
    with ThreadPoolExecutor(len(items)) as threads:
        return list(threads.map(work, items))


def outcome(function, *args):
    """Return ``("value", result)`` or ``("error", exception)``."""
    try:
        return "value", function(*args)
    except Exception as error:
        return "error", error


def some(dtype, shape, seed):
    """Return values that do not overflow, a few of which are special."""
    rng = numpy.random.default_rng(seed)
    values = rng.integers(-9, 9, shape) if numpy.dtype(dtype).kind in "iub" else rng.normal(size=shape)
    values = values.astype(dtype)
    if values.dtype.kind in "fc":
        values.flat[::7] = -0.0
    return values


def works_on_devices():
    """Return whether work runs on devices: then plans are made for these, and each batch gets a plan."""
    before, numelt.config.at_once = numelt.config.at_once, 1
    try:
        return not numelt._core.runs_at_once()
    finally:
        numelt.config.at_once = before
