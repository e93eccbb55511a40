"""Matrix products by the library of a device: their error, NaN and infinities, views, and what moves.

CLBlast computes them for OpenCL devices (libclblast1 on Debian; scripts/setup.sh installs it), cuBLAS
for those of NVIDIA, on which the tests run with ``NUMELT_ENGINE=cuda``. Products are the only operations
whose last bits may differ from those of NumPy, by what ``assert_close`` allows.
"""

import numpy
import pytest

import numelt

from ..support.compare import as_numpy
from ..support.devices import NEEDS_OPENCL, run

ENGINE, LIBRARY = ("cuda", "cuBLAS") if numelt.config.engine == "cuda" else ("opencl", "CLBlast")


def has_library():
    """Return whether there is a device with a library of matrix products."""
    try:
        with numelt.engine(ENGINE):
            x = numelt.ones((300, 300)) + 1
            return LIBRARY in numelt.explain(x @ x)
    except RuntimeError:
        return False


NEEDS_LIBRARY = pytest.mark.skipif(not has_library(), reason=f"no {LIBRARY}: install libclblast1")

DTYPES = ["float32", "float64", "complex64", "complex128"]
EXACT = {"f": numpy.longdouble, "c": numpy.clongdouble}


@pytest.fixture
def device():
    """Run the test on the device, also where operations on few elements would run at once."""
    before = numelt.config.at_once
    numelt.config.at_once = 0
    with numelt.engine(ENGINE):
        yield
    numelt.config.at_once = before


def numbers(shape, dtype, seed=0):
    """Return random numbers of both signs and several sizes."""
    rng = numpy.random.default_rng(seed)
    x = rng.standard_normal(shape) * 10.0 ** rng.integers(-2, 3, shape)
    return (x + 1j * rng.standard_normal(shape) if numpy.dtype(dtype).kind == "c" else x).astype(dtype)


def assert_close(got, a, b, product=numpy.matmul):
    """Assert the error bound: for each product that is added, one epsilon of the sum of all moduli."""
    got = as_numpy(got)
    wide = EXACT[got.dtype.kind]
    want = product(a.astype(wide), b.astype(wide))
    assert got.shape == want.shape
    depth = a.shape[-1]
    bound = (depth + 2) * numpy.finfo(got.dtype).eps * product(abs(a).astype(float), abs(b).astype(float))
    assert (abs(got - want) <= bound).all()


SHAPES = [
    ((1, 1), (1, 1)),
    ((1, 700), (700, 1)),
    ((700, 1), (1, 90)),
    ((5, 7), (7, 3)),
    ((200, 300), (300, 100)),
    ((300,), (300,)),
    ((300,), (300, 4)),
    ((40, 300), (300,)),
    ((6, 5, 7), (6, 7, 3)),
    ((2, 1, 5, 7), (3, 7, 4)),
    ((6, 5, 7), (7,)),
]


@NEEDS_LIBRARY
@pytest.mark.parametrize("dtype", DTYPES)
def test_products_of_all_shapes_are_within_the_bound(dtype, device):
    for left, right in SHAPES:
        a, b = numbers(left, dtype), numbers(right, dtype, 1)
        before = numelt._core.stats()["declined"]
        got = numelt.array(a) @ numelt.array(b)
        assert got.dtype == dtype
        numelt.flush()
        assert numelt._core.stats()["declined"] == before
        assert_close(got, a, b)


@NEEDS_LIBRARY
@pytest.mark.parametrize("dtype", DTYPES)
def test_products_of_empty_arrays_are_zeros(dtype, device):
    for left, right in [((0, 5), (5, 3)), ((4, 0), (0, 3)), ((4, 5), (5, 0)), ((2, 0, 3, 4), (4, 5))]:
        got = numelt.zeros(left, dtype) @ numelt.zeros(right, dtype)
        want = numpy.zeros(left, dtype) @ numpy.zeros(right, dtype)
        assert (got.shape, got.dtype) == (want.shape, want.dtype)
        assert (as_numpy(got) == want).all()


VIEWS = {
    "transposed": (lambda x: x.T, lambda x: x.T),
    "reversed": (lambda x: x[::-1, ::-1], lambda x: x[:, ::-1]),
    "every other": (lambda x: x[::2, ::2], lambda x: x[::2, 1:]),
    "the last window": (lambda x: x[30:, 25:], lambda x: x[25:, 38:]),
    "a window": (lambda x: x[3:33, 5:25], lambda x: x[5:25, 2:40]),
    "itself": (lambda x: x, lambda x: x.T),
    "one row for all": (lambda x: x[:1, :20].repeat(4, 0), lambda x: x[7:27, ::-3]),
    "columns and rows": (lambda x: x[:, 3], lambda x: x[2]),
    "a column backwards": (lambda x: x, lambda x: x[::-1, 9]),
    "stacks backwards": (lambda x: x.reshape(5, 8, 40)[::-1], lambda x: x[:, :6]),
}


@NEEDS_LIBRARY
@pytest.mark.parametrize("dtype", ["float64", "complex64"])
@pytest.mark.parametrize("name", VIEWS)
def test_views_of_all_kinds(name, dtype, device):
    left, right = VIEWS[name]
    x = numbers((40, 40), dtype)
    ours = numelt.array(x)
    a, b = left(x), right(x)
    before = numelt._core.stats()["declined"]
    assert_close(left(ours) @ right(ours), a, b)
    assert numelt._core.stats()["declined"] == before


@NEEDS_LIBRARY
def test_windows_that_overlap_and_repeated_factors(device):
    x = numbers(60, "float64")
    ours = numelt.array(x)
    windows = numpy.lib.stride_tricks.sliding_window_view(x, 11)
    ours_windows = numelt.lib.stride_tricks.sliding_window_view(ours, 11)
    assert_close(ours_windows @ ours_windows.T, windows, windows.T)
    one, many = numpy.broadcast_to(x[:20].reshape(4, 5), (3, 4, 5)), numbers((3, 5, 6), "float64", 2)
    assert_close(numelt.broadcast_to(ours[:20].reshape(4, 5), (3, 4, 5)) @ numelt.array(many), one, many)


@NEEDS_LIBRARY
def test_results_go_into_views_and_what_lies_between_them_stays(device):
    a, b = numbers((20, 30), "float64"), numbers((30, 10), "float64", 1)
    for view in [numpy.s_[::2, ::3], numpy.s_[::-2, 5:15], numpy.s_[3:23, 29:9:-2]]:
        target = numelt.full((40, 30), numelt.nan)
        numelt.matmul(numelt.array(a), numelt.array(b), out=target[view])
        got = as_numpy(target)
        assert_close(got[view], a, b)
        got[view] = 0
        assert numpy.isnan(got).sum() == 1200 - 200


@NEEDS_LIBRARY
@pytest.mark.parametrize("dtype", DTYPES)
def test_old_values_of_the_result_have_no_influence(dtype, device):
    a, b = numbers((30, 30), dtype), numbers((30, 30), dtype, 1)
    for old in (numpy.nan, numpy.inf):
        target = numelt.full((30, 30), old, dtype)
        vector = numelt.full(30, old, dtype)
        numelt.matmul(numelt.array(a), numelt.array(b), out=target)
        numelt.matmul(numelt.array(a), numelt.array(b[0]), out=vector)
        assert_close(target, a, b)
        assert_close(vector, a, b[0])


@NEEDS_LIBRARY
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_nan_and_infinities_are_those_of_numpy(dtype, device):
    a, b = numbers((37, 41), dtype), numbers((41, 33), dtype, 1)
    a[3, 4], a[9, 0], a[20, 40] = numpy.nan, numpy.inf, -numpy.inf
    b[0, 7], b[40, 2], b[12, 30] = 0, 0, numpy.inf
    with numpy.errstate(all="ignore"), numelt.errstate(all="ignore"):
        want, got = a @ b, as_numpy(numelt.array(a) @ numelt.array(b))
    assert (numpy.isnan(want) == numpy.isnan(got)).all()
    infinite = numpy.isinf(want)
    assert (infinite == numpy.isinf(got)).all()
    assert (want[infinite] == got[infinite]).all()


@NEEDS_LIBRARY
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_results_that_are_not_finite_are_so_in_numpy(dtype, device):
    a, b = numbers((37, 41), dtype), numbers((41, 33), dtype, 1)
    a[3, 4], b[12, 30] = numpy.nan, numpy.inf
    with numpy.errstate(all="ignore"), numelt.errstate(all="ignore"):
        want, got = a @ b, as_numpy(numelt.array(a) @ numelt.array(b))
    assert (numpy.isfinite(want) == numpy.isfinite(got)).all()


@NEEDS_LIBRARY
@pytest.mark.parametrize("dtype", ["float32", "complex128"])
def test_the_other_products(dtype, device):
    a, b, m = numbers(500, dtype), numbers(500, dtype, 1), numbers((20, 500), dtype, 2)
    x, y, z = numelt.array(a), numelt.array(b), numelt.array(m)
    assert_close(numelt.vdot(x, y), a.conj(), b)
    assert_close(numelt.dot(x, y), a, b)
    assert_close(numelt.inner(z, z), m, m.T)
    assert_close(numelt.matvec(z, x), m, a)
    assert_close(numelt.vecmat(x, z.T), a.conj(), m.T)
    assert_close(numelt.vecdot(z, z), m.conj(), m, lambda u, v: (u * v).sum(-1))
    assert_close(numelt.tensordot(z, z, (1, 1)), m, m.T)


@NEEDS_LIBRARY
def test_mixed_dtypes_are_converted_as_numpy_does(device):
    a, b = numpy.arange(600).reshape(20, 30) % 7, numbers((30, 10), "float64")
    for left in (a.astype("int8"), a, a > 3, a.astype("float32")):
        assert_close(numelt.array(left) @ numelt.array(b), left.astype(float), b)


@NEEDS_LIBRARY
def test_exact_products_have_the_bits_of_the_cpu():
    a, b = numbers((150, 170), "float32"), numbers((170, 130), "float32", 1)

    def program():
        x, y = numelt.array(a), numelt.array(b)
        return numelt.tanh((x + 1) @ y) @ (y.T - 1)

    with numelt.engine("cpu"):
        host = as_numpy(program())
    numelt.config.exact_products = True
    try:
        before = numelt._core.stats()
        with numelt.engine(ENGINE):
            assert (as_numpy(program()) == host).all()
        after = numelt._core.stats()
        assert after["on_devices"] - before["on_devices"] >= 2
        assert after["declined"] - before["declined"] == 2
    finally:
        numelt.config.exact_products = False


@NEEDS_LIBRARY
def test_loops_of_products_leave_their_arrays_on_the_device(device):
    weights, bias, start = (
        numbers((300, 300), "float64") / 300,
        numbers(300, "float64", 1),
        numbers(300, "float64", 2),
    )

    def loop(np):
        w, b, x = np.array(weights), np.array(bias), np.array(start)
        for _ in range(20):
            x = np.tanh(w @ x + b)
            if np is numelt:
                numelt.flush()
        return x

    before = numelt._core.stats()
    x = loop(numelt)
    after = numelt._core.stats()
    assert after["bytes_there"] - before["bytes_there"] == 8 * (300 * 300 + 300 + 300)
    assert after["bytes_back"] == before["bytes_back"]
    assert after["declined"] == before["declined"]
    numpy.testing.assert_allclose(as_numpy(x), loop(numpy), rtol=1e-10)


@NEEDS_LIBRARY
def test_explain_says_which_library_and_that_bits_may_differ(device):
    x = numelt.ones((300, 300)) + 1
    text = numelt.explain(x @ x)
    assert f"runs on: {ENGINE}, by {LIBRARY}" in text
    assert "exact_products" in text
    numelt.config.exact_products = True
    try:
        assert f"runs on: cpu ({ENGINE} cannot do it)" in numelt.explain((x + 1) @ x)
    finally:
        numelt.config.exact_products = False


@NEEDS_LIBRARY
def test_products_of_integers_and_halves_run_on_the_host(device):
    x = numelt.arange(10_000).reshape(100, 100) % 11
    half = x.astype("float16")
    numelt.coverage(reset=True)
    assert (as_numpy(x @ x) == as_numpy(x) @ as_numpy(x)).all()
    assert (as_numpy(half @ half) == as_numpy(half) @ as_numpy(half)).all()
    assert "2  matmul" in str(numelt.coverage()).split("on the host instead of a device")[1]
    numelt.coverage(reset=True)


@NEEDS_OPENCL
def test_without_the_library_products_run_on_the_host_and_are_counted(tmp_path):
    (tmp_path / "libclblast.so.1").write_text("no library")
    code = """
        import numpy, numelt
        x = numelt.arange(90_000.0).reshape(300, 300) / 90_000
        y = numelt.sqrt(x) @ x
        print("cannot do it" in numelt.explain(y))
        host = numpy.asarray(y)
        numelt.use("cpu")
        print((host == numpy.asarray(numelt.sqrt(x) @ x)).all())
        print("1  matmul" in str(numelt.coverage()).split("on the host instead of a device")[1])
    """
    done = run(code, NUMELT_ENGINE="opencl", LD_LIBRARY_PATH=str(tmp_path))
    assert done.stdout.split() == ["True"] * 3, done.stdout + done.stderr
