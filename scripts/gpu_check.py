"""Check numelt on this machine's device, and measure its speed there.

In: the engine (``cuda`` by default), and perhaps a wheel, which is then used instead of the installed
package. Out: exit status 0 if all tests pass, and a file of results under benches/results; or a line that
states that there is no device, and another status. Other libraries are measured for comparison if they are
installed.
"""

import argparse
import ctypes
import datetime
import importlib
import math
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "benches"), str(ROOT / "scripts")]

programs = importlib.import_module("programs")
timing = importlib.import_module("timing")
gpu_sharing = importlib.import_module("gpu_sharing")
gpu_routines = importlib.import_module("gpu_routines")

# the core tests that `make test-hostile` runs on an OpenCL device, too
CORE = [
    "ufunc/test_floating_point_warnings.py",
    "api/test_reduction_bits.py",
    "engine/test_stencils_in_place.py",
]

# the tests of matrix products, routines and masks, which choose the engine by themselves
CALLS = [
    "engine/test_products_on_devices.py",
    "engine/test_routines_on_devices.py",
    "engine/test_masks_on_devices.py",
]

# The sizes of the papers' programs at which their arrays fill a device: 30 million numbers each, where
# the program has so many at once. Programs that are not listed have too little parallel work for that.
FILLING = {
    "poly": 64_000_000,
    "pythagorean": 32_000_000,
    "black_scholes": 16_000_000,
    "heat_equation": 6000,
    "shallow_water": 4000,
    "nbody": 6000,
    "nbody_nice": 4_000_000,
    "game_of_life": 6000,
    "leibnitz_pi": 64_000_000,
    "monte_carlo_pi": 32_000_000,
    "rosenbrock": 64_000_000,
    "stencil27": 320,
    "sor": 6000,
    "gauss": 1000,
    "lu": 1000,
    "kmeans": 1_000_000,
    "knn": 200_000,
    "rnn": 2048,
    "snakes_and_ladders": 2000,
    "lattice_boltzmann": 2000,
    "softmax_rows": 100_000,
    "moments": 64_000_000,
}

# what is done without `--parts`
PARTS = ["tests", "sanitizer", "sharing", "bandwidth", "products", "routines", "workloads"]

# Fused kernels whose speed is limited by memory: the numbers of arrays read and written, and the expression.
FUSED = {
    "axpy": (3, lambda np, x, y: 2.5 * x + y),
    "polynomial": (2, lambda np, x, y: ((x * 0.5 + 1.0) * x - 2.0) * x + 3.0),
    "distance": (3, lambda np, x, y: np.sqrt(x * x + y * y)),
}


def device_or_exit(engine):
    """Select the engine for this process; exit with a clear message if there is no device."""
    numelt = importlib.import_module("numelt")
    try:
        numelt.use(engine)
    except RuntimeError as why:
        sys.exit(f"no {'CUDA' if engine == 'cuda' else engine} device: {why}")
    return numelt


def name_of_device(engine):
    """Return the device's name from the driver's tool, or the engine's name if there is no such tool."""
    command = ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    except (OSError, subprocess.SubprocessError):
        return engine
    return re.sub(r"[^A-Za-z0-9]+", "-", done.stdout.splitlines()[0]).strip("-")


def rust_tests(folder):
    """Return the commands of the Rust tests: one of cargo's, or the compiled test programs in a folder."""
    if folder is None:
        return [["cargo", "test", "-p", "numelt-engine-gpu"]]
    return [[str(program)] for program in sorted(folder.iterdir()) if os.access(program, os.X_OK)]


def test(engine, count, timeout, folder):
    """Run the tests on the engine; return lines that describe the outcome."""
    tests = [str(ROOT / "tests" / "python" / name) for name in [*CORE, f"engine/test_{engine}.py", *CALLS]]
    settings = {"NUMELT_ENGINE": engine, "NUMELT_AT_ONCE": "0", "NUMELT_PIECEMEAL": "0"}
    python = [sys.executable, "-m", "pytest", "-q"]
    random = f"operations, functions, reductions and {count} random programs against the interpreter"
    runs = [
        ("core tests", [*python, "-m", "core", str(ROOT / "tests" / "python")], settings),
        ("tests of warnings, sums, loops, products and masks", [*python, *tests], settings),
    ]
    settings = {"NUMELT_TEST_ENGINE": engine, "NUMELT_TEST_PROGRAMS": str(count)}
    for command in rust_tests(folder):
        name = random if folder is None else f"{random}: {Path(command[0]).name}"
        runs.append((name, command, settings))
    for name, command, added in runs:
        yield ran(name, command, added, timeout)


def ran(name, command, added, timeout):
    """Run a command with these settings in addition; return whether it passed, and words about it."""
    start = time.perf_counter()
    try:
        done = subprocess.run(
            command,
            cwd=ROOT,
            env={**os.environ, **added},
            capture_output=True,
            text=True,
            timeout=timeout,
        )
        passed, output = done.returncode == 0, done.stdout + done.stderr
    except (OSError, subprocess.TimeoutExpired) as why:
        passed, output = False, str(why)
    words = f"{'passed' if passed else 'FAILED'}: {name} ({time.perf_counter() - start:.0f} s)"
    return passed, words if passed else f"{words}\n{output[-3000:]}"


def sanitizer(count, timeout, folder):
    """Run the Rust tests of kernels in NVIDIA's compute-sanitizer; return lines that describe the outcome."""
    tool = shutil.which("compute-sanitizer") or shutil.which("compute-sanitizer", path="/usr/local/cuda/bin")
    if tool is None:
        yield True, "not checked by compute-sanitizer, which comes with CUDA toolkits"
        return
    settings = {"NUMELT_TEST_ENGINE": "cuda", "NUMELT_TEST_PROGRAMS": str(count)}
    for check in ("memcheck", "racecheck"):
        for command in rust_tests(folder):
            command = [tool, "--tool", check, "--error-exitcode", "9", "--target-processes", "all", *command]
            yield ran(f"compute-sanitizer {check}: {Path(command[-1]).name}", command, settings, timeout)


def seconds(run, rounds=7):
    """Return the median time of a run, at the end of which an element is read, which waits for the device."""
    taken = []
    for _ in range(rounds + 2):
        start = time.perf_counter()
        abs(run().ravel()[-1])
        taken.append(time.perf_counter() - start)
    return statistics.median(taken[2:])


def driver_copy(size):
    """Return the bytes per second, read and written, that a copy by the CUDA driver reaches on the device."""
    cuda = ctypes.CDLL("libcuda.so.1")

    def call(name, *arguments):
        if code := getattr(cuda, name)(*arguments):
            sys.exit(f"{name} failed ({code})")

    device, context = ctypes.c_int(), ctypes.c_void_p()
    call("cuInit", 0)
    call("cuDeviceGet", ctypes.byref(device), 0)
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
    call("cuCtxPushCurrent_v2", context)
    places = [ctypes.c_uint64(), ctypes.c_uint64()]
    for place in places:
        call("cuMemAlloc_v2", ctypes.byref(place), ctypes.c_size_t(size))
    taken = []
    for _ in range(9):
        start = time.perf_counter()
        call("cuMemcpyDtoD_v2", *places, ctypes.c_size_t(size))
        call("cuCtxSynchronize")
        taken.append(time.perf_counter() - start)
    for place in places:
        call("cuMemFree_v2", place)
    call("cuCtxPopCurrent_v2", ctypes.byref(context))
    call("cuDevicePrimaryCtxRelease_v2", device)
    return 2 * size / statistics.median(taken[2:])


def bandwidth(numelt, engine, elements):
    """Return lines with the bytes per second of fused kernels, and their share of those of a copy.

    On CUDA, the copy is the driver's; on OpenCL, it is a kernel that copies.
    """
    for dtype in ("float32", "float64"):
        x = numelt.arange(elements).astype(dtype) + numelt.asarray(1, dtype)
        y = x * numelt.asarray(0.5, dtype)
        float(y[-1])
        size = elements * numpy.dtype(dtype).itemsize
        kernel = 2 * size / seconds(lambda x=x: x + 0)
        yield f"{dtype} x + 0: {kernel / 1e9:,.1f} GB/s"
        copied = driver_copy(size) if engine == "cuda" else kernel
        if engine == "cuda":
            yield f"{dtype} device-to-device copy of the driver: {copied / 1e9:,.1f} GB/s"
        for name, (arrays, expression) in FUSED.items():
            rate = arrays * size / seconds(lambda e=expression, x=x, y=y: e(numelt, x, y))
            yield f"{dtype} {name}: {rate / 1e9:,.1f} GB/s, {rate / copied:.0%} of it"
            for library, seconds_there in compiled_elsewhere(expression, dtype, elements):
                yield f"{dtype} {name} by {library}: {arrays * size / seconds_there / 1e9:,.1f} GB/s"


def compiled_elsewhere(expression, dtype, elements):
    """Return the names of libraries that compile an expression, with the seconds that it takes there."""
    if cupy := installed("cupy"):
        x, y = (cupy.arange(elements).astype(dtype) + number for number in (1, 2))

        @cupy.fuse
        def fused(x, y):
            return expression(cupy, x, y)

        yield "cupy.fuse", waited(lambda: fused(x, y), lambda _: cupy.cuda.Device().synchronize())
    if (jax := installed("jax")) and (jnp := installed("jax.numpy")):
        jax.config.update("jax_enable_x64", True)
        x, y = (jnp.arange(elements).astype(dtype) + number for number in (1, 2))
        jitted = jax.jit(lambda x, y: expression(jnp, x, y))
        yield "jax.jit", waited(lambda: jitted(x, y), jax.block_until_ready)
    if (torch := installed("torch")) and torch.cuda.is_available():
        x, y = (torch.arange(elements, device="cuda").to(getattr(torch, dtype)) + number for number in (1, 2))
        compiled = torch.compile(lambda x, y: expression(torch, x, y))
        yield "torch.compile", waited(lambda: compiled(x, y), lambda _: torch.cuda.synchronize())


# Shapes of factors, multiplied by a size: matrices, a matrix and a vector, stacks of small matrices.
FACTORS = {
    "matrices": ((1, 1), (1, 1)),
    "a matrix and a vector": ((1, 1), (1,)),
    "stacks of matrices of 64 rows": ((64, 64), (64, 64)),
}


def factors(name, size, dtype):
    """Return two factors of NumPy's, with numbers between -1 and 1."""
    rng = numpy.random.default_rng(3)

    def of(shape):
        shape = (size, *shape) if name.startswith("stacks") else tuple(extent * size for extent in shape)
        x = rng.random(shape, "float32") * 2 - 1
        return (x + 1j * x[::-1] if numpy.dtype(dtype).kind == "c" else x).astype(dtype)

    return [of(shape) for shape in FACTORS[name]]


def products(numelt, size):
    """Return for each dtype and form whether products are within their bound, and the operations per second.

    The bound is checked on a few rows, against products of the next wider dtype by NumPy.
    """
    cupy = installed("cupy")
    for dtype in ("float32", "float64", "complex64", "complex128"):
        for name in FACTORS:
            a, b = factors(name, size, dtype)
            x, y = numelt.array(a), numelt.array(b)
            before = numelt._core.stats()["declined"]
            got = numpy.asarray((x @ y)[:4])
            there = numelt._core.stats()["declined"] == before
            some = (a[:4], b[:4]) if name.startswith("stacks") else (a[:4], b)
            wide = {"float32": "float64", "complex64": "complex128"}.get(dtype, "longdouble")
            wide = "clongdouble" if dtype == "complex128" else wide
            want = numpy.matmul(*(each.astype(wide) for each in some))
            bound = numpy.matmul(*(abs(each).astype("float64") for each in some))
            bound *= (a.shape[-1] + 2) * numpy.finfo(dtype).eps
            right = there and bool((abs(got - want) <= bound).all())
            steps = a.size * (b.shape[-1] if b.ndim > 1 else 1) * (8 if a.dtype.kind == "c" else 2)
            line = f"{dtype} {name}: {steps / seconds(lambda x=x, y=y: x @ y) / 1e12:.2f} Tflop/s"
            if cupy:
                u, v = cupy.asarray(a), cupy.asarray(b)
                took = waited(lambda u=u, v=v: cupy.matmul(u, v), lambda _: cupy.cuda.Device().synchronize())
                line += f", cupy.matmul {steps / took / 1e12:.2f}"
            words = "within the bound" if right else "WRONG" if there else "NOT ON THE DEVICE"
            yield right, f"{line}; {words}"


def waited(run, wait, rounds=7):
    """Return the median time of a run until its result is there."""
    taken = []
    for _ in range(rounds + 2):
        start = time.perf_counter()
        wait(run())
        taken.append(time.perf_counter() - start)
    return statistics.median(taken[2:])


def installed(name):
    """Return a module, or None if it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def others():
    """Return the installed libraries for comparison, as namespaces by name, NumPy first."""
    found = {"numpy": numpy, "cupy": installed("cupy"), "jax": installed("jax.numpy")}
    found = {name: module for name, module in found.items() if module is not None}
    if "jax" in found:
        importlib.import_module("jax").config.update("jax_enable_x64", True)
    return found


def finish(name, module, value):
    """Wait until a library has computed a value."""
    if name == "cupy":
        module.cuda.Device().synchronize()
    elif name == "jax":
        importlib.import_module("jax").block_until_ready(value)
    elif name == "numelt" and not isinstance(value, (list, tuple, float, int)):
        float(value.ravel()[-1])
    else:
        timing.force(value)


def milliseconds(name, module, make, size, rounds=5):
    """Return the shortest time of a program in a library, or None if the library cannot run it.

    NumPy's first run is measured: at a device's sizes it takes long, and NumPy needs no run before.
    """
    taken = []
    before, rounds = (0, 1) if name == "numpy" else (2, rounds)
    try:
        run = make(module, size)
        for _ in range(before + rounds):
            start = time.perf_counter()
            finish(name, module, run())
            taken.append(1e3 * (time.perf_counter() - start))
    except (AttributeError, TypeError, ValueError, NotImplementedError):
        return None
    return min(taken[before:])


def workloads(numelt, small, chosen):
    """Return lines with the times of the papers' programs here and in other libraries (all eager)."""
    libraries = {"numelt": numelt, **{name: each for name, each in others().items() if name in chosen}}
    ratios = {name: [] for name in libraries}
    for make, sizes in programs.PROGRAMS.items():
        size = sizes[0] if small else FILLING[make.__name__]
        taken = {name: milliseconds(name, module, make, size) for name, module in libraries.items()}
        words = [f"{name} -" if spent is None else f"{name} {spent:.2f} ms" for name, spent in taken.items()]
        yield f"{make.__name__}: {', '.join(words)}"
        for name, spent in taken.items():
            if spent is not None and taken["numelt"] is not None:
                ratios[name].append(spent / taken["numelt"])
    for name, each in ratios.items():
        if each and name != "numelt":
            mean = math.exp(statistics.mean(map(math.log, each)))
            yield f"{name} takes {mean:.2f} times as long as numelt, geometric mean of {len(each)} programs"


def with_wheel(wheel):
    """Run this script again with a wheel's package instead of the installed one; return its status."""
    with tempfile.TemporaryDirectory() as folder:
        install = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", folder, wheel]
        subprocess.run(install, check=True)
        at = sys.argv.index("--wheel")
        rest = sys.argv[1:at] + sys.argv[at + 2 :]
        settings = {**os.environ, "PYTHONPATH": folder}
        return subprocess.run([sys.executable, __file__, *rest], env=settings, check=False).returncode


def main():
    """Run all parts, print their lines, and store them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--engine", default="cuda", choices=["cuda", "opencl"])
    parser.add_argument("--wheel", help="a wheel to check, as two words")
    parser.add_argument("--parts", nargs="*", default=PARTS)
    parser.add_argument("--programs", type=int, default=2000, help="random programs")
    parser.add_argument("--elements", type=int, default=1 << 27, help="elements of an array for bandwidths")
    parser.add_argument("--factors", type=int, default=4096, help="rows of the matrices of products")
    parser.add_argument("--small", action="store_true", help="programs at sizes that a test can afford")
    parser.add_argument("--rust-tests", type=Path, help="a folder of compiled Rust tests, if no cargo")
    parser.add_argument("--libraries", nargs="*", default=["numpy", "cupy", "jax"], help="to compare with")
    parser.add_argument("--timeout", type=float, default=3600, help="seconds that a run of tests may take")
    parser.add_argument("--keep", type=Path, help="the file of results; one under benches/results without")
    arguments = parser.parse_args()
    if arguments.wheel:
        sys.exit(with_wheel(arguments.wheel))
    # JAX would take three quarters of the device's memory when it starts
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    numelt = device_or_exit(arguments.engine)
    engine, name = arguments.engine, name_of_device(arguments.engine)
    today = datetime.datetime.now(tz=datetime.UTC).date()
    lines, passed = [f"numelt {numelt.__version__}, {engine}, {name}, {today}"], True
    print(lines[0], flush=True)
    parts = {
        "tests": lambda: test(engine, arguments.programs, arguments.timeout, arguments.rust_tests),
        "sanitizer": lambda: (
            sanitizer(min(arguments.programs, 100), arguments.timeout, arguments.rust_tests)
            if engine == "cuda"
            else ()
        ),
        "sharing": lambda: gpu_sharing.sharing(numelt) if engine == "cuda" else (),
        "bandwidth": lambda: ((True, line) for line in bandwidth(numelt, engine, arguments.elements)),
        "products": lambda: products(numelt, arguments.factors),
        "routines": lambda: gpu_routines.routines(numelt, engine, arguments.factors),
        "workloads": lambda: (
            (True, line) for line in workloads(numelt, arguments.small, arguments.libraries)
        ),
    }
    for part in arguments.parts:
        for right, line in parts[part]():
            passed &= right
            lines.append(line)
            print(line, flush=True)
    path = arguments.keep or ROOT / "benches" / "results" / f"{today}-gpu-{name}.txt"
    path.write_text("\n".join(lines) + "\n")
    sys.exit(0 if passed else 1)


if __name__ == "__main__":
    main()
