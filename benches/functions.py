"""Compares the time of every elementwise function with NumPy's, by type and instruction set, on one thread.

Each instruction set is measured in a process of its own: the variable `NPY_DISABLE_CPU_FEATURES` makes NumPy
leave out its loops for better instruction sets, and `NUMELT_ISA` does the same for numelt. Arrays have 10^6
elements, with arguments from the usual range of each function, and all code is compiled before. The measured
time is the processor time of the process, on which other programs have less influence than on elapsed time.
Run as a script, this file is such a process.
"""

import json
import os
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy

import timing

COUNT = 1_000_000
TYPES = {"f8": "float64", "f4": "float32", "f2": "float16", "c16": "complex128", "c8": "complex64"}
# the features that both leave out so that better instruction sets are not used; the processor must have the
# others
LEFT_OUT = {"avx512": "", "avx2": "X86_V4 AVX512_ICL AVX512_SPR"}
NAMES = {"avx512": "AVX-512", "avx2": "AVX2"}
UNARY = [
    "exp",
    "exp2",
    "expm1",
    "log",
    "log2",
    "log10",
    "log1p",
    "sin",
    "cos",
    "tan",
    "arcsin",
    "arccos",
    "arctan",
    "sinh",
    "cosh",
    "tanh",
    "arcsinh",
    "arccosh",
    "arctanh",
    "cbrt",
    "sqrt",
    "square",
    "reciprocal",
    "absolute",
    "fabs",
    "negative",
    "positive",
    "sign",
    "floor",
    "ceil",
    "trunc",
    "rint",
    "isnan",
    "isinf",
    "isfinite",
    "signbit",
    "spacing",
    "deg2rad",
    "rad2deg",
]
BINARY = [
    "add",
    "subtract",
    "multiply",
    "divide",
    "floor_divide",
    "remainder",
    "fmod",
    "power",
    "arctan2",
    "hypot",
    "maximum",
    "minimum",
    "fmax",
    "fmin",
    "copysign",
    "nextafter",
    "logaddexp",
    "logaddexp2",
    "heaviside",
    "less",
    "equal",
]
COMPLEX = [
    "add",
    "subtract",
    "multiply",
    "divide",
    "exp",
    "log",
    "sqrt",
    "sin",
    "cos",
    "tan",
    "absolute",
    "square",
    "reciprocal",
    "conjugate",
    "angle",
    "power",
]
RANGES = {
    "arcsin": (-1, 1),
    "arccos": (-1, 1),
    "arctanh": (-0.99, 0.99),
    "log": (0.01, 100),
    "log2": (0.01, 100),
    "log10": (0.01, 100),
    "sqrt": (0.01, 100),
    "log1p": (-0.9, 100),
    "arccosh": (1, 100),
    "reciprocal": (0.1, 10),
    "power": (0.1, 10),
}
EXPONENTS = (-3, 3)
DIVISORS = (0.1, 10)
# a function is named as slower below this ratio, because differences of 5 % vary from run to run
SLOWER = 0.95


def arguments(name, ty):
    """Return NumPy arrays to call a function with."""
    rng = numpy.random.default_rng(1)
    low, high = RANGES.get(name, (-10, 10))
    real = "f8" if ty in ("f8", "c16") else "f4"

    def numbers(low, high):
        values = rng.uniform(low, high, COUNT).astype(real)
        if ty[0] == "c":
            values = values + 1j * values[::-1]
        return values.astype(ty)

    first = numbers(low, high)
    if name in BINARY:
        return [first, numbers(*(EXPONENTS if name == "power" else DIVISORS))]
    return [first]


def seconds(run, calls):
    """Return the processor time of the fastest of several calls."""
    least = float("inf")
    for _ in range(calls):
        start = time.process_time()
        run()
        least = min(least, time.process_time() - start)
    return least


def compare(module, name, ty, rounds):
    """Return the milliseconds that NumPy and numelt take."""
    inputs = arguments(name, ty)
    ours = [module.array(x) for x in inputs]
    function, candidate = getattr(numpy, name), getattr(module, name)

    def theirs():
        return function(*inputs)

    def run():
        return numpy.asarray(candidate(*ours))

    timing.settle(run)
    theirs()
    best = [float("inf"), float("inf")]
    for _ in range(rounds):
        best = [min(b, seconds(f, 3)) for b, f in zip(best, (theirs, run), strict=True)]
    return [1e3 * b for b in best]


def child(rounds, only):
    """Measure in this process and print the figures."""
    import numelt

    warnings.simplefilter("ignore")
    rows = []
    for ty in TYPES:
        for name in COMPLEX if ty[0] == "c" else UNARY + BINARY:
            if only in name:
                rows.append([name, ty, *compare(numelt, name, ty, rounds)])
    print(json.dumps(rows))


def measure(rounds=7, only=""):
    """Return one row per function, type and instruction set."""
    found = []
    features = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    for isa, left_out in LEFT_OUT.items():
        if isa == "avx512" and "avx512bw" not in features:
            print("no AVX-512 here: not measured")
            continue
        settings = {"NUMELT_ISA": isa, "NUMELT_THREADS": "1", "NUMELT_JIT": "sync"}
        done = subprocess.run(
            [sys.executable, __file__, str(rounds), only],
            env=os.environ | settings | ({"NPY_DISABLE_CPU_FEATURES": left_out} if left_out else {}),
            cwd=Path(__file__).parent,
            capture_output=True,
            text=True,
            check=True,
        )
        for name, ty, theirs, ours in json.loads(done.stdout.splitlines()[-1]):
            found.append(
                {
                    "isa": isa,
                    "name": name,
                    "type": ty,
                    "numpy_ms": theirs,
                    "numelt_ms": ours,
                    "ratio": theirs / ours,
                }
            )
    return found


def text(rows):
    """Render the ratios: one line per function, one column per type and instruction set."""
    sets = [isa for isa in LEFT_OUT if any(r["isa"] == isa for r in rows)]
    columns = [(ty, isa) for ty in TYPES for isa in sets]
    ratios = {(r["name"], r["type"], r["isa"]): r["ratio"] for r in rows}
    head = ("function", *(f"{TYPES[ty]}, {NAMES[isa]}" for ty, isa in columns))
    lines = []
    for name in dict.fromkeys(r["name"] for r in rows):
        cells = [ratios.get((name, ty, isa)) for ty, isa in columns]
        lines.append(
            (name, *("" if r is None else f"**{r:.2f}**" if r < SLOWER else f"{r:.2f}" for r in cells))
        )
    count = sum(r["ratio"] < SLOWER for r in rows)
    mean = timing.mean([r["ratio"] for r in rows])
    summary = f"{count} of {len(rows)} below {SLOWER}; geometric mean {mean:.2f}."
    return f"{timing.table(head, lines)}\n\n{summary}"


if __name__ == "__main__":
    child(int(sys.argv[1]), sys.argv[2])
