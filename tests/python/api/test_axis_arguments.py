"""How functions treat their axis argument: every kind of value, on arrays of every rank."""

import numpy
import pytest

import numelt

CALLS = [
    "np.squeeze(x, axis=a)", "x.squeeze(a)", "x.squeeze((a,))", "np.sum(x, axis=a)", "x.any(a)",
    "x.max(axis=a)", "np.flip(x, a)", "np.argmax(x, a)", "np.sort(x, a)", "np.cumsum(x, a)",
    "np.take(x, [0], a)", "x.take(0, a)", "np.repeat(x, 2, a)", "x.repeat([2], a)", "np.mean(x, a)",
    "np.std(x, a)", "np.median(x, a)", "np.count_nonzero(x, a)", "np.argsort(x, a)", "np.ptp(x, a)",
    "np.nansum(x, a)", "np.nanmax(x, a)", "np.expand_dims(x, a)", "np.roll(x, 1, a)",
    "np.partition(x, 0, a)", "np.diff(x, axis=a)", "np.add.reduce(x, a)", "np.add.accumulate(x, a)",
    "np.add.reduce(x, (a,))", "np.compress([1], x, a)", "np.concatenate([x, x], a)", "np.stack([x, x], a)",
    "np.percentile(x, 50, a)", "np.average(x, a)", "np.unique(x, axis=a)", "np.delete(x, 0, a)",
    "np.append(x, x, a)", "np.split(x, 1, a)[0]", "np.swapaxes(x, a, 0)", "np.moveaxis(x, a, 0)",
    "np.linalg.norm(x, axis=a)", "np.fft.fft(x, axis=a)", "np.trapezoid(x, axis=a)",
    "np.gradient(x, axis=a)", "np.apply_along_axis(np.sum, a, x)", "np.packbits(x.astype('u1'), a)",
    "np.lexsort((x, x), a)", "np.cumulative_sum(x, axis=a)", "np.vecdot(x, x, axis=a)",
    "np.insert(x, 0, 1, a)",
]  # fmt: skip
SHAPES = [(), (1,), (3,), (1, 1), (2, 3), (0,), (2, 0)]
AXES = [0, -1, 1, -2, None, 1.0, True, False, (0,), (0, 0), numpy.int64(0), "x", numpy.array(0)]


def outcome(call, np, shape, dtype, axis):
    try:
        value = eval(call, {"np": np, "x": np.ones(shape, dtype), "a": axis})
    except Exception as error:
        return type(error).__name__, str(error)
    plain = numpy.asarray(value)
    strides = value.strides if plain.size and isinstance(value, np.ndarray) else None
    return type(value).__name__, str(plain.dtype), plain.shape, strides, repr(plain)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("call", CALLS)
def test_axis(call):
    for shape in SHAPES:
        for dtype in ("f8", "i4", "?"):
            for axis in AXES:
                case = (shape, dtype, axis)
                assert (case, outcome(call, numelt, *case)) == (case, outcome(call, numpy, *case))
