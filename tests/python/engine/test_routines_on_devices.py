"""Fourier transforms, systems of equations and decompositions by the libraries of a device.

clFFT computes transforms for OpenCL devices (libclfft2 on Debian; scripts/setup.sh installs it), cuFFT and
cuSOLVER compute for those of NVIDIA. ``far`` is the test device, whose memory the host cannot read, with
libraries of its own. The last bits of the results may differ from those of NumPy.
"""

import numpy
import pytest

import numelt

from ..support.compare import as_numpy
from ..support.devices import has_opencl
from . import test_cuda

FOUND = {
    "opencl": has_opencl(),
    "cuda": test_cuda.has_device(),
    "far": "far" in numelt._core.engines(),
}
LIBRARIES = {"opencl": "clFFT", "cuda": "cuFFT", "far": "the tests' library"}
ENGINES = [name for name, is_here in FOUND.items() if is_here]
# those with decompositions
SOLVERS = [name for name in ENGINES if name != "opencl"]


def libraries(function, *args, **kwargs):
    """Return the result of a call, and the names of the library calls that it makes."""
    used = []
    numelt._core.set_hooks(on_library=lambda name, seconds: used.append(name))
    try:
        return function(*args, **kwargs), used
    finally:
        numelt._core.set_hooks(on_library=None)


def values(shape, dtype, seed=0):
    """Return random numbers."""
    rng = numpy.random.default_rng(seed)
    x = rng.standard_normal(shape) * 10
    return (x + 1j * rng.standard_normal(shape) if numpy.dtype(dtype).kind == "c" else x).astype(dtype)


def on_device(x):
    """Return numelt's array of the same values, computed where work runs."""
    return numelt.array(x) * 1


def assert_close(got, want, error=None):
    """Assert the same dtype, shape and memory order, and values within a share of the largest one."""
    assert type(got) is numelt.ndarray
    assert (got.dtype, got.shape, got.strides) == (want.dtype, want.shape, want.strides)
    if error is None:
        error = 2e-6 if want.dtype in (numpy.float32, numpy.complex64) else 1e-13
    assert abs(as_numpy(got) - want).max() <= error * abs(want).max()


NAMES = ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"]
PLANES = ["fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn"]


@pytest.mark.parametrize("dtype", ["int32", "float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("shape", [(20_000,), (128, 144), (30, 40, 50)])
@pytest.mark.skipif("far" not in ENGINES, reason="a build without the test device")
def test_transforms_of_all_kinds(shape, dtype):
    x = values(shape, dtype)
    few = [{}, {"norm": "ortho"}, {"norm": "forward"}]
    more = [{"axis": 0}, {"n": 20}, {"n": shape[-1] + 6}]
    cases = [(name, named) for name in NAMES for named in few + more]
    cases += [(name, named) for name in PLANES if len(shape) > 1 for named in few]
    with numelt.engine("far"):
        ours = on_device(x)
        for name, named in cases:
            if x.dtype.kind == "c" and name in ("rfft", "ihfft", "rfft2", "rfftn"):
                with pytest.raises(TypeError):
                    getattr(numelt.fft, name)(ours, **named)
                ours = on_device(x)  # NumPy has raised the error, on the host
                continue
            want = getattr(numpy.fft, name)(x, **named)
            got, used = libraries(getattr(numelt.fft, name), ours, **named)
            assert LIBRARIES["far"] in used
            assert_close(got, want)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft"])
def test_transforms_stay_on_the_device(name, engine):
    x = values((32, 1024), "float64")
    with numelt.engine(engine):
        got, used = libraries(getattr(numelt.fft, name), on_device(x), 1024)
        if engine == "opencl" and LIBRARIES[engine] not in used:
            pytest.skip("no clFFT: install libclfft2")
        assert LIBRARIES[engine] in used
        assert_close(got, getattr(numpy.fft, name)(x, 1024))
        # a loop of transforms and products moves nothing
        y = on_device(x) + 0j
        y = numelt.fft.ifft(numelt.fft.fft(y) * 0.5)
        numelt.flush()
        before = numelt._core.stats()
        for _ in range(5):
            y = numelt.fft.ifft(numelt.fft.fft(y) * 0.5)
        numelt.flush()
        after = numelt._core.stats()
        for way in ("bytes_there", "bytes_back"):
            assert after[way] == before[way]
        assert_close(y, x * 0.5**6 + 0j)


@pytest.mark.parametrize("engine", ENGINES)
def test_lengths_that_the_library_lacks_are_transformed_on_the_host(engine):
    x = values((17, 1009), "complex128")
    with numelt.engine(engine):
        assert_close(numelt.fft.fft(on_device(x)), numpy.fft.fft(x))


@pytest.mark.parametrize("engine", ENGINES)
def test_results_can_be_stored_in_views(engine):
    x = values((64, 512), "complex128")
    with numelt.engine(engine):
        ours, out = on_device(x), on_device(numpy.zeros((64, 1024), "complex128"))
        half = out[:, ::2]
        assert numelt.fft.fft(ours, out=half) is half
        numpy.testing.assert_allclose(as_numpy(out)[:, ::2], numpy.fft.fft(x), atol=1e-9)
        assert not as_numpy(out)[:, 1::2].any()
        # the operand itself is the result
        assert numelt.fft.fft(ours, out=ours) is ours
        numpy.testing.assert_allclose(as_numpy(ours), numpy.fft.fft(x), atol=1e-9)


def test_parts_that_numpy_ignores_are_ignored():
    x = values((64, 513), "complex128")
    for engine in ENGINES:
        with numelt.engine(engine):
            ours = on_device(x)
            assert_close(numelt.fft.irfft(ours), numpy.fft.irfft(x))
            numpy.testing.assert_array_equal(as_numpy(ours), x)


@pytest.mark.parametrize("engine", [name for name in ENGINES if name != "far"])
def test_exact_products_also_leave_routines_to_the_host(engine):
    x = values((32, 1024), "float64")
    numelt.config.exact_products = True
    try:
        with numelt.engine(engine):
            got, used = libraries(numelt.fft.fft, on_device(x))
            assert LIBRARIES[engine] not in used
            numpy.testing.assert_array_equal(as_numpy(got), numpy.fft.fft(x))
    finally:
        numelt.config.exact_products = False


def system(dtype, n=150):
    """Return a matrix, a positive definite one, and right-hand sides."""
    a = values((n, n), dtype)
    return a, a @ a.conj().T + numpy.eye(n, dtype=dtype), values((n, 3), dtype, 1)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("engine", SOLVERS)
def test_systems_and_factors(engine, dtype):
    a, positive, b = system(dtype)
    error = 1e-3 if dtype in ("float32", "complex64") else 1e-9
    with numelt.engine(engine):
        ours, definite, right = map(on_device, (a, positive, b))
        for name, operands, theirs in [
            ("solve", (ours, right), (a, b)),
            ("solve", (ours, right[:, 0]), (a, b[:, 0])),
            ("inv", (ours,), (a,)),
            ("cholesky", (definite,), (positive,)),
            ("eigvalsh", (definite,), (positive,)),
            ("svdvals", (ours,), (a,)),
        ]:
            if not hasattr(numpy.linalg, name):
                continue
            got, used = libraries(getattr(numelt.linalg, name), *operands)
            assert len(used) > 1, name
            assert_close(got, getattr(numpy.linalg, name)(*theirs), error)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("engine", SOLVERS)
def test_eigenvectors_and_singular_vectors(engine, dtype):
    a, positive, _ = system(dtype)
    with numelt.engine(engine):
        for part in "LU":
            # only one triangle counts
            half = numpy.tril(positive) if part == "L" else numpy.triu(positive)
            found = numelt.linalg.eigh(on_device(half), UPLO=part)
            w, v = map(as_numpy, found)
            assert type(found) is type(numpy.linalg.eigh(positive))
            numpy.testing.assert_allclose(positive @ v, v * w, atol=1e-8)
        for matrix in (a, a[:140], a[:, :140]):
            for full in (True, False):
                found = numelt.linalg.svd(on_device(matrix), full_matrices=full)
                want = numpy.linalg.svd(matrix, full_matrices=full)
                u, s, v = map(as_numpy, found)
                assert [x.shape for x in found] == [x.shape for x in want]
                assert [x.dtype for x in found] == [x.dtype for x in want]
                numpy.testing.assert_allclose((u[:, : s.size] * s) @ v[: s.size], matrix, atol=1e-8)
                numpy.testing.assert_allclose(u.conj().T @ u, numpy.eye(u.shape[1]), atol=1e-9)
                numpy.testing.assert_allclose(v @ v.conj().T, numpy.eye(v.shape[0]), atol=1e-9)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("engine", ENGINES)
def test_values_without_a_result_raise_as_in_numpy(engine, dtype):
    a, positive, b = system(dtype)
    with numelt.engine(engine):
        for name, operands in [
            ("solve", (a * 0, b)),
            ("inv", (a * 0,)),
            ("cholesky", (-positive,)),
            ("solve", (a, b[:-1])),
            ("eigh", (a[:-1],)),
        ]:
            with pytest.raises((numpy.linalg.LinAlgError, ValueError)) as wanted:
                getattr(numpy.linalg, name)(*operands)
            with pytest.raises(wanted.type) as found:
                getattr(numelt.linalg, name)(*map(on_device, operands))
            assert str(found.value) == str(wanted.value)


@pytest.mark.parametrize("engine", ENGINES)
def test_results_have_the_home_of_the_operand(engine):
    x = values((32, 1024), "float64")
    ours = numelt.asarray(x, device=engine)
    made = numelt.fft.rfft(ours)
    assert made.device == engine
    assert_close(made, numpy.fft.rfft(x))
