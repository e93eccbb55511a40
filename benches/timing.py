"""Timing for all benchmarks: interleaved rounds in one process, medians, and a record of the environment.

The timed functions take no arguments and return arrays, numbers, or lists of these. NumPy and numelt run
alternately, so that other work on the machine affects both.
"""

import gc
import importlib.metadata
import json
import math
import os
import platform
import statistics
import subprocess
import time
from datetime import UTC, datetime
from pathlib import Path

import numpy

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benches" / "results"


def force(value):
    """Make sure that a lazy result has been computed, without copying it.

    `numpy.asarray` would first try the buffer protocol, whose formats NumPy parses in Python for all but the
    simplest dtypes. For an array of few strings, that takes a tenth of the time of the program.
    """
    for part in value if isinstance(value, (list, tuple)) else (value,):
        if hasattr(part, "__array__"):
            part.__array__()
        elif not isinstance(part, (float, int)):
            numpy.asarray(part)
    return value


def agree(got, want):
    """Tell whether two results are equal to NumPy's precision."""
    if isinstance(want, (list, tuple)):
        return len(got) == len(want) and all(agree(g, w) for g, w in zip(got, want, strict=True))
    return numpy.allclose(numpy.asarray(got), want, rtol=1e-9, atol=1e-9, equal_nan=True)


def once(run):
    """Return the seconds of one call."""
    start = time.perf_counter()
    force(run())
    return time.perf_counter() - start


def repeats(run, least_seconds):
    """Return how many calls of `run` take about `least_seconds`, enough for the clock's resolution."""
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
    """Time callables in turn; returns for each the median seconds of one call."""
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


def settle(run, calls=4, pause=0.05):
    """Call until kernels have had enough time to be compiled in the background."""
    for _ in range(calls):
        force(run())
    time.sleep(pause)
    for _ in range(2):
        force(run())


def mean(ratios):
    """Return the geometric mean."""
    return math.exp(statistics.fmean(math.log(r) for r in ratios))


def cores():
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


def cpu_name():
    """Return the processor's name."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "")


def circumstances():
    """Return everything that influences the figures."""
    commit = subprocess.run(
        ["git", "-C", str(ROOT), "describe", "--always", "--dirty"],
        capture_output=True,
        text=True,
        check=False,
    ).stdout.strip()
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "cpu": cpu_name(),
        "cores": cores(),
        "settings": {k: v for k, v in sorted(os.environ.items()) if k.startswith("NUMELT_")},
        "versions": {
            # the `__version__` of a drop-in replacement is that of the NumPy that it replaces
            "numelt": importlib.metadata.version("numelt"),
            "commit": commit,
            "numpy": numpy.__version__,
            "python": platform.python_version(),
            "system": platform.platform(),
        },
    }


def keep(name, report):
    """Write a report into the history: one file for each date and time."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    path = RESULTS / f"{datetime.now(UTC):%Y-%m-%dT%H%M}-{name}.json"
    path.write_text(json.dumps(report, indent=1) + "\n")
    return path


def replace(document, marker, text):
    """Put text between `<!-- marker -->` and `<!-- end of marker -->` of a document."""
    start, end = f"<!-- {marker} -->", f"<!-- end of {marker} -->"
    before, rest = document.read_text().split(start)
    document.write_text(before + f"{start}\n{text}\n{end}" + rest.split(end)[1])


def table(head, rows):
    """Render a table in Markdown."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows])


def plotter():
    """Return matplotlib's pyplot, set up so that equal figures give equal SVG files."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "numelt"
    from matplotlib import pyplot

    return pyplot
