"""Arrays on an OpenCL device: the CPU's bits, NumPy's warnings, and clear messages without a device.

Debian's pocl-opencl-icd makes any processor an OpenCL device; scripts/setup.sh installs it.
"""

import warnings

import numpy
import pytest

import numelt

from ..support.compare import as_numpy
from ..support.devices import NEEDS_OPENCL, check_homes, run


def on_both(program):
    """Return what a program returns on the CPU and on the device, and how many steps ran there."""
    with numelt.engine("cpu"):
        host = as_numpy(program())
    before = numelt._core.stats()["on_devices"]
    with numelt.engine("opencl"):
        device = as_numpy(program())
    return host, device, numelt._core.stats()["on_devices"] - before


def assert_same_bits(program, steps=1):
    """Assert that a program has the same bits on both, and at least this many steps on the device."""
    host, device, ran = on_both(program)
    assert ran >= steps
    assert (host.dtype, host.shape) == (device.dtype, device.shape)
    numbers = host.dtype.kind in "fc"
    same = (host == device) | (numpy.isnan(host) & numpy.isnan(device)) if numbers else host == device
    assert same.all()
    if host.dtype.kind == "f":
        assert (numpy.signbit(host) == numpy.signbit(device))[~numpy.isnan(host)].all()


N = 20_000


@NEEDS_OPENCL
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_functions_have_the_bits_of_the_cpu(dtype):
    def program():
        x = numelt.linspace(-20, 20, N).astype(dtype)
        y = numelt.exp(-x * x) + numelt.sin(x) * numelt.tanh(x)
        return y + numelt.log(1 + x * x) ** numelt.float64(1.5).astype(dtype)

    assert_same_bits(program)


@NEEDS_OPENCL
@pytest.mark.parametrize(
    "dtype", ["int8", "uint16", "int64", "float16", "float32", "complex64", "complex128"]
)
def test_views_of_all_kinds(dtype):
    def program():
        x = (numelt.arange(200 * 300) % 251).astype(dtype).reshape(200, 300)
        window = x[5:190:3, ::-2]
        column = x[: window.shape[0], :1]
        return window * column + x.T[: window.shape[1], : window.shape[0]].T - numelt.roll(window, 7, 1)

    assert_same_bits(program)


@NEEDS_OPENCL
@pytest.mark.parametrize("axis", [None, 0, 1, 2, (0, 2)])
@pytest.mark.parametrize("name", ["sum", "max", "any", "argmin"])
def test_reductions_over_all_axes(name, axis):
    if name == "argmin" and isinstance(axis, tuple):
        axis = 0

    def program():
        x = numelt.sin(numelt.arange(60 * 50 * 40.0)).reshape(60, 50, 40)
        return numelt.asarray(getattr(x * x - 0.25, name)(axis))

    assert_same_bits(program)


@NEEDS_OPENCL
def test_empty_arrays_and_arrays_without_axes():
    with numelt.engine("opencl"):
        assert float(numelt.zeros((0, 70_000)).sum()) == 0.0
        assert (numelt.zeros((0, 70_000)) + 1).shape == (0, 70_000)
        assert (numelt.zeros((70_000, 0)).sum(1) == numelt.zeros(70_000)).all()
        assert float(numelt.asarray(2.0) * 3) == 6.0


@NEEDS_OPENCL
def test_gathers_and_loops_in_place():
    def program():
        x = numelt.arange(float(N))
        positions = (numelt.arange(N) * 7) % N
        for _ in range(3):
            x[1:-1] = (x[:-2] + x[2:]) * 0.5 + x[positions][1:-1]
        return x

    assert_same_bits(program, steps=3)


@NEEDS_OPENCL
def test_warnings_are_those_of_numpy():
    def told(module):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            x = module.arange(float(N)) - 5
            y = module.sqrt(x) + 1 / x
            z = (y * module.float64(1e308) * 1e10).astype("int32")
            assert int(z[-1]) == -(2**31)
        return sorted({str(warning.message) for warning in caught})

    with numelt.engine("opencl"):
        ours = told(numelt)
    assert ours == told(numpy)


@NEEDS_OPENCL
@pytest.mark.parametrize("generator", ["PCG64", "PCG64DXSM", "Philox"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_random_numbers_are_drawn_on_the_device(generator, dtype):
    def program():
        numbers = numelt.random.Generator(getattr(numelt.random, generator)(7))
        numbers.random(5, dtype)
        return numbers.random(N, dtype) * 2 - 1

    assert_same_bits(program)


@NEEDS_OPENCL
def test_scans_and_scatters_run_on_the_device():
    def program():
        steps = numelt.arange(N) % 1000 - 500
        line = numelt.cumsum(steps)
        columns = numelt.cumsum((steps * 0.1).reshape(10, N // 10), axis=0)
        counts = numelt.zeros(1000, int)
        numelt.add.at(counts, (steps * steps) % 1000, steps)
        last = numelt.zeros(1000)
        last[(steps * steps) % 1000] = columns.ravel()
        return numelt.concatenate([line, columns.ravel(), counts, last])

    numelt.coverage(reset=True)
    assert_same_bits(program, steps=4)
    assert "on the host instead of a device" not in str(numelt.coverage())


@NEEDS_OPENCL
def test_what_a_device_cannot_do_runs_on_the_host_and_is_counted():
    numelt.coverage(reset=True)

    def program():
        z = numelt.arange(float(N)) + 1j
        return numelt.sqrt(z) + numelt.cumsum(z)

    assert_same_bits(program, steps=0)
    assert "on the host instead of a device" in str(numelt.coverage())
    numelt.coverage(reset=True)


@NEEDS_OPENCL
def test_explain_prints_the_text_that_is_compiled():
    with numelt.engine("opencl"):
        y = numelt.exp(numelt.arange(float(N)) * 1e-3)
        text = numelt.explain(y, kernels=True)
        assert "KERNEL void numelt_kernel(" in text
        assert "exp_f64(" in text
        assert "runs on: opencl" in text
        y.sum()


@NEEDS_OPENCL
def test_little_memory_moves_arrays_to_the_host():
    code = """
        import numelt
        arrays = [numelt.arange(1e5) + k for k in range(12)]
        assert [float(a[7]) for a in arrays] == [7.0 + k for k in range(12)]
        print(numelt._core.stats()["on_devices"] > 0)
    """
    done = run(code, NUMELT_ENGINE="opencl", NUMELT_DEVICE_MEMORY="4M")
    assert done.stdout == "True\n", done.stderr


NO_DRIVER = {"OCL_ICD_VENDORS": "/nonexistent", "OPENCL_VENDOR_PATH": "/nonexistent"}


def test_without_a_device_the_message_says_what_is_missing():
    code = """
        import numelt
        try:
            numelt.use("opencl")
        except RuntimeError as error:
            print(error)
        print(float((numelt.arange(1e5) + 1).sum()))
    """
    done = run(code, **NO_DRIVER)
    assert done.returncode == 0, done.stderr
    assert "opencl: there is no " in done.stdout
    assert done.stdout.endswith("\n5000050000.0\n")


def test_the_setting_without_a_device_says_so_and_programs_run():
    done = run("import numelt; print(numelt.zeros(3).sum())", NUMELT_ENGINE="opencl", **NO_DRIVER)
    assert (done.returncode, done.stdout) == (0, "0.0\n"), done.stderr
    assert done.stderr.startswith("numelt: opencl: there is no ")
    assert done.stderr.endswith("; programs run on the CPU\n")


def test_processors_are_left_to_the_cpu_engine_by_auto():
    code = """
        import numelt
        x = numelt.arange(1e6) * 2
        print(float(x.sum()), numelt._core.stats()["on_devices"])
    """
    done = run(code, NUMELT_ENGINE="auto")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[0] == "999999000000.0"


@NEEDS_OPENCL
def test_drivers_leave_the_programs_signal_handlers_alone():
    code = """
        import signal, numelt as np
        def caught():
            return [line for line in open("/proc/self/status") if line.startswith(("SigCgt", "SigIgn"))]
        signal.signal(signal.SIGINT, signal.default_int_handler)
        before = caught()
        x = np.arange(100_000.0) * 2
        print(float(np.sqrt(x + 1).max()) > 0, caught() == before)
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            print("interrupted")
    """
    done = run(code, NUMELT_ENGINE="opencl")
    assert done.stdout.split() == ["True", "True", "interrupted"], done.stderr


@NEEDS_OPENCL
def test_arrays_are_put_on_the_device():
    check_homes("opencl")
