"""Kernels that share a loop over rows: NumPy's bits, one kernel, no large temporaries, NumPy's warnings."""

import warnings

import numpy
import pytest

import numelt


def softmax(np, x, axis):
    e = np.square(x - np.max(x, axis=axis, keepdims=True))
    return e / np.sum(e, axis=axis, keepdims=True)


def layer_norm(np, x, axis):
    n = x.shape[axis]
    d = x - np.sum(x, axis=axis, keepdims=True) / n
    return d / np.sqrt(np.sum(d * d, axis=axis, keepdims=True) / n + 1e-5)


def standardize(np, x, axis):
    return (x - np.mean(x, axis=axis, keepdims=True)) / np.std(x, axis=axis, keepdims=True)


def scaled_in_place(np, x, axis):
    y = x * 2.0
    y -= np.min(y, axis=axis, keepdims=True)
    y /= np.max(y, axis=axis, keepdims=True) + 1.0
    return y, np.sum(y, axis=axis)


PROGRAMS = [softmax, layer_norm, standardize, scaled_in_place]
LAYOUTS = {
    "plain": lambda x: x,
    "transposed": lambda x: x.T,
    "stepped": lambda x: x[::2, 1:],
    "backward": lambda x: x[::-1, ::-1],
    "three axes": lambda x: x.reshape(x.shape[0], 2, -1) if x.shape[1] % 2 == 0 else x[:, None, :],
}


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shape", [(1, 2), (2, 3), (7, 130), (130, 7), (40, 300), (900, 18), (3, 20_000)])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_same_bits(program, shape, layout):
    real = numpy.random.default_rng(5).standard_normal(shape)
    for dtype in ("f8", "f4"):
        theirs = LAYOUTS[layout](real.astype(dtype))
        ours = LAYOUTS[layout](numelt.asarray(real.astype(dtype)))
        for axis in range(theirs.ndim):
            want, got = program(numpy, theirs, axis), program(numelt, ours, axis)
            for w, g in zip(*((v if isinstance(v, tuple) else (v,)) for v in (want, got)), strict=True):
                g = numpy.asarray(g)
                assert g.dtype == w.dtype
                if layout in ("plain", "three axes"):
                    numpy.testing.assert_array_equal(g, w)
                else:  # NumPy's order of sums in other layouts depends on its buffers
                    numpy.testing.assert_allclose(g, w, rtol=1e-4 if dtype == "f4" else 1e-12, atol=1e-5)


@pytest.mark.usefixtures("on_the_host")
@pytest.mark.parametrize("program", PROGRAMS[:3], ids=lambda f: f.__name__)
def test_one_kernel_and_no_large_temporary(program):
    # a copy, because memory that others can see is computed at once
    x = numelt.asarray(numpy.random.default_rng(1).standard_normal((400, 500))).copy()
    numelt.flush()
    with numelt.inspect() as seen:
        y = program(numelt, x, 1)
        numelt.flush()
    assert seen.kernels == 1
    assert [size for size in seen.allocated if size > 64] in ([400 * 500 * 8], [])
    assert y.shape == x.shape


def test_warnings_of_later_stages():
    x = numpy.array([[0.0, 0.0, 0.0], [1.0, 2.0, 3.0]] * 50)

    def texts(np, a):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            e = a * 2.0
            numpy.asarray(e / np.sum(e, axis=1, keepdims=True))
        return [str(w.message) for w in seen]

    want = texts(numpy, x)
    assert want == ["invalid value encountered in divide"]
    assert texts(numelt, numelt.asarray(x).copy()) == want


def test_rows_of_one_kernel_and_columns_of_another_do_not_take_turns():
    """The two directions of a staggered grid have loops of equal length that read memory differently."""

    def program(np, h):
        return np.sqrt(h[1:, 1:-1] + h[:-1, 1:-1]), np.sqrt(h[1:-1, 1:] + h[1:-1, :-1])

    h = numpy.add.outer(numpy.arange(300.0) ** 2, numpy.arange(300.0) ** 2) + 1
    ours = numelt.array(h)
    with warnings.catch_warnings(), numelt.inspect() as seen:
        warnings.simplefilter("ignore")
        results = [numpy.asarray(result) for result in program(numelt, ours)]
        expected = program(numpy, h)
    for result, wanted in zip(results, expected, strict=True):
        assert result.tobytes() == wanted.tobytes()
    kernels = [text for flush in seen.flushes for text in flush["kernels"]]
    for text in kernels:
        shared = {
            line.rpartition("shared ")[2] for line in text.splitlines() if line.strip().startswith("stage")
        }
        assert len(shared) <= 1, text
