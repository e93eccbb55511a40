"""Check numerical routines on a device against NumPy, and measure their speed, for `gpu_check.py`.

In: numelt, which uses the device. Out: for each routine and dtype whether a library of the device has
computed it, whether the result is right, and its time beside CuPy's, where CuPy is installed.
"""

import importlib
import statistics
import time

import numpy

# by name: the module of NumPy, the size of the operand in units of the size that is asked for, and its kind
ROUTINES = {
    "fft": ("fft", lambda n: (n, n), "any"),
    "ifft": ("fft", lambda n: (n, n), "complex"),
    "rfft": ("fft", lambda n: (n, n), "real"),
    "irfft": ("fft", lambda n: (n, n + 1), "complex"),
    "fft2": ("fft", lambda n: (n, n), "any"),
    "inv": ("linalg", lambda n: (n // 2, n // 2), "any"),
    "cholesky": ("linalg", lambda n: (n // 2, n // 2), "definite"),
    "eigvalsh": ("linalg", lambda n: (n // 4, n // 4), "definite"),
    "svdvals": ("linalg", lambda n: (n // 4, n // 4), "any"),
}
TRANSFORMS_ONLY = {"opencl"}


def operand(kind, shape, dtype):
    """Return a random operand, or None if the routine does not take this dtype."""
    is_complex = numpy.dtype(dtype).kind == "c"
    if (kind == "real" and is_complex) or (kind == "complex" and not is_complex):
        return None
    rng = numpy.random.default_rng(11)
    x = rng.standard_normal(shape)
    x = (x + 1j * rng.standard_normal(shape) if is_complex else x).astype(dtype)
    return x @ x.conj().T + len(x) * numpy.eye(len(x), dtype=dtype) if kind == "definite" else x


def median(run, rounds=5):
    """Return the median seconds of a run, after two runs that are not counted."""
    taken = []
    for _ in range(rounds + 2):
        start = time.perf_counter()
        run()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken[2:])


def cupys_time(home, name, x):
    """Return the seconds that CuPy takes, or None without it."""
    try:
        cupy = importlib.import_module("cupy")
        function = getattr(getattr(cupy, home), name)
    except (ImportError, AttributeError):
        return None
    on_device = cupy.asarray(x)

    def run():
        function(on_device)
        cupy.cuda.Device().synchronize()

    return median(run)


def routines(numelt, engine, size):
    """Return for each routine and dtype whether it is right, and a line that says so."""
    for name, (home, shape, kind) in ROUTINES.items():
        if (home == "linalg" and engine in TRANSFORMS_ONLY) or not hasattr(getattr(numpy, home), name):
            continue
        for dtype in ("float32", "float64", "complex64", "complex128"):
            x = operand(kind, shape(size), dtype)
            if x is not None:
                yield routine(numelt, home, name, x)


def routine(numelt, home, name, x):
    """Check and measure one routine."""
    ours, function = numelt.array(x) * 1, getattr(getattr(numelt, home), name)
    used = []
    numelt._core.set_hooks(on_library=lambda library, seconds: used.append(library))
    try:
        got = numpy.asarray(function(ours))
    finally:
        numelt._core.set_hooks(on_library=None)
    want = getattr(getattr(numpy, home), name)(x)
    error = abs(got - want).max() / abs(want).max()
    there = len(used) > 1
    right = there and error < (1e-4 if x.dtype.itemsize // (1 + (x.dtype.kind == "c")) == 4 else 1e-9)
    spent = median(lambda: float(abs(function(ours).ravel()[-1])))
    line = f"{name} of {x.shape[0]} x {x.shape[1]} {x.dtype}: {1e3 * spent:.2f} ms"
    if (theirs := cupys_time(home, name, x)) is not None:
        line += f", cupy {1e3 * theirs:.2f} ms"
    words = f"error {error:.0e} of the largest number, by {used[0]}" if there else "NOT ON THE DEVICE"
    return right, f"{line}; {'' if right or not there else 'WRONG, '}{words}"
