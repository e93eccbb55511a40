"""numelt's own benchmarks: numelt and NumPy side by side in one process, as medians of interleaved runs.

Two groups. `chains`: chains of 1, 3, 10 and 40 elementwise operations on arrays of 1 to 10^7 elements;
they show what recording, planning and launching cost on small arrays and what fusion saves on large ones.
`kernels`: the inner computations of the programs in examples/. Every result is checked against NumPy's
before it is timed. The output is a table on standard output and a JSON file in benches/results/ with the
date, the processor, and all versions.
"""

import argparse
import gc
import importlib.metadata
import json
import math
import os
import platform
import statistics
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import numpy

import kernels

ROOT = Path(__file__).resolve().parent.parent
SIZES = (1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000)
LENGTHS = (1, 3, 10, 40)


def force(value):
    """Make sure that a lazy result has been computed, without copying it."""
    for part in value if isinstance(value, (list, tuple)) else (value,):
        numpy.asarray(part)
    return value


def agree(got, want):
    """Tell whether two results are equal to NumPy's precision."""
    if isinstance(want, (list, tuple)):
        return len(got) == len(want) and all(agree(g, w) for g, w in zip(got, want, strict=True))
    return numpy.allclose(numpy.asarray(got), want, rtol=1e-9, atol=1e-9, equal_nan=True)


def repeats(run, least_seconds):
    """Return how many calls of `run` take about `least_seconds`, so that the clock can see them."""
    count = 1
    while True:
        start = time.perf_counter()
        for _ in range(count):
            force(run())
        elapsed = time.perf_counter() - start
        if elapsed >= least_seconds or count >= 1_000_000:
            return count
        count = math.ceil(count * min(10.0, 1.2 * least_seconds / max(elapsed, 1e-9)))


def measure(runs, rounds, least_seconds):
    """Time zero-argument callables in turn; returns for each the median seconds of one call."""
    inner = {name: repeats(run, least_seconds) for name, run in runs.items()}
    samples = {name: [] for name in runs}
    gc.collect()
    gc.disable()
    try:
        for _ in range(rounds):
            for name, run in runs.items():
                start = time.perf_counter()
                for _ in range(inner[name]):
                    force(run())
                samples[name].append((time.perf_counter() - start) / inner[name])
    finally:
        gc.enable()
    return {name: statistics.median(times) for name, times in samples.items()}


def chain(np, length, n):
    """Return a callable that runs `length` dependent elementwise operations on n elements."""
    x, y = np.linspace(0.5, 1.5, n), np.linspace(1.5, 0.5, n)

    def run():
        z = x
        for i in range(length):
            z = z * y if i % 2 else z + x
        return z

    return run


def cases(only):
    """Yield (group, name, parameters, factory) of every benchmark whose name contains `only`."""
    for length in LENGTHS:
        for n in SIZES:
            name = f"chain of {length}, n={n}"
            if only in name:
                yield (
                    "chains",
                    name,
                    {"operations": length, "n": n},
                    lambda np, k=length, n=n: chain(np, k, n),
                )
    for kernel in kernels.KERNELS:
        for size in kernels.SIZES:
            name = f"{kernel.__name__}, {size}"
            if only in name:
                yield "kernels", name, {"size": size}, lambda np, f=kernel, s=size: f(np, s)


def versions(candidate):
    """Return the versions of everything that has a say in the figures."""
    commit = subprocess.run(
        ["git", "-C", str(ROOT), "describe", "--always", "--dirty"],
        capture_output=True,
        text=True,
        check=False,
    ).stdout.strip()
    return {
        # a drop-in's __version__ is that of the NumPy it stands for
        candidate.__name__: importlib.metadata.version(candidate.__name__),
        "commit": commit,
        "numpy": numpy.__version__,
        "python": platform.python_version(),
        "system": platform.platform(),
    }


def cpu_name():
    """Return the processor's name."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "")


def run_case(factory, candidate, options):
    """Check and time one benchmark; returns its figures."""
    runs = {"numpy": factory(numpy), "candidate": factory(candidate)}
    start = time.perf_counter()
    first = force(runs["candidate"]())
    cold = time.perf_counter() - start
    correct = bool(agree(first, runs["numpy"]()))
    times = measure(runs, options.rounds, options.seconds)
    return {
        "numpy_us": times["numpy"] * 1e6,
        "candidate_us": times["candidate"] * 1e6,
        "speedup": times["numpy"] / times["candidate"],
        "first_call_us": cold * 1e6,
        "correct": correct,
    }


def main():
    """Run the benchmarks; returns 1 if any result was wrong."""
    parser = argparse.ArgumentParser(description="Time numelt against NumPy.")
    parser.add_argument("--only", default="", help="only the benchmarks whose name contains this")
    parser.add_argument("--rounds", type=int, default=9, help="interleaved rounds; their median counts")
    parser.add_argument("--seconds", type=float, default=0.005, help="shortest timed stretch")
    parser.add_argument("--module", default="numelt", help="the module to compare with NumPy")
    parser.add_argument("--json", type=Path, help="output file (default: benches/results/<date>.json)")
    options = parser.parse_args()
    candidate = importlib.import_module(options.module)

    rows = []
    for group, name, parameters, factory in cases(options.only):
        row = {"group": group, "name": name, **parameters, **run_case(factory, candidate, options)}
        rows.append(row)
        wrong = "" if row["correct"] else "  WRONG"
        print(
            f"{name:32s} NumPy {row['numpy_us']:12.2f} us  {options.module} {row['candidate_us']:12.2f} us"
            f"  x{row['speedup']:6.2f}  first call {row['first_call_us']:10.1f} us{wrong}",
            flush=True,
        )
    now = datetime.now(UTC)
    report = {
        "date": now.isoformat(timespec="seconds"),
        "cpu": cpu_name(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "settings": {k: v for k, v in sorted(os.environ.items()) if k.startswith("NUMELT_")},
        "versions": versions(candidate),
        "results": rows,
    }
    path = options.json or ROOT / "benches" / "results" / f"{now:%Y-%m-%dT%H%M%S}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(report, indent=1) + "\n")
    for group in sorted({row["group"] for row in rows}):
        logs = [math.log(row["speedup"]) for row in rows if row["group"] == group]
        print(
            f"{group}: geometric mean of the speed-ups {math.exp(sum(logs) / len(logs)):.2f} on {len(logs)}"
        )
    print(f"written to {path}")
    return 0 if all(row["correct"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
