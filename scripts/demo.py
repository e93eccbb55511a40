"""Run every example under plain Python and under numelt, compare the results, print one table.

In: examples/*.py, plain NumPy programs that print `time: <seconds> s` and take `--save FILE.npz`. Out: the
table on standard output and in demo-output/demo.md, the picture of the heat equation, and exit status 1 if
any result differs or any run fails. Every program runs in a process of its own, twice under each package: the
first run is the cold one, with nothing compiled, and the second one is reported in the table. This script
does not import numelt; numelt's settings (NUMELT_JIT, NUMELT_THREADS, ...) reach the processes through the
environment.
"""

import argparse
import json
import math
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "examples"
PROGRAMS = (
    "heat_equation",
    "black_scholes",
    "shallow_water",
    "nbody",
    "kmeans",
    "game_of_life",
    "mandelbrot",
)
PICTURES = {"heat_equation": "heat.png", "mandelbrot": "mandelbrot.png"}
# Smaller problem sizes for `--quick`, which the tests use.
QUICK = {
    "heat_equation": ["--size", "120", "--limit", "20"],
    "black_scholes": ["--count", "20000", "--scenarios", "3"],
    "shallow_water": ["--size", "60", "--steps", "10"],
    "nbody": ["--count", "120", "--steps", "4"],
    "kmeans": ["--count", "4000", "--limit", "5"],
    "game_of_life": ["--size", "150", "--generations", "20"],
    "mandelbrot": ["--width", "160", "--height", "120", "--limit", "40"],
}
# Elementwise results have the same bits; exp, log, sin and pow may differ in the last one.
RTOL, ATOL = 1e-10, 1e-12
# A program that runs longer than this is considered to hang.
LONGEST_SECONDS = 300


class DemoError(Exception):
    """A program failed, or its result differs from NumPy's."""


@dataclass
class Run:
    """One finished process: the time that its program measured, the total time, and its arrays."""

    seconds: float
    process_seconds: float
    arrays: dict[str, np.ndarray]
    output: str


@dataclass
class Row:
    """One line of the table."""

    name: str
    numpy: Run
    cold: Run
    warm: Run
    stats: dict[str, int]
    difference: float
    equal: bool


def run_program(name, prefix, arguments, folder):
    """Run one example, with `prefix` between the interpreter and the script; returns its Run."""
    saved = folder / f"{name}.npz"
    saved.unlink(missing_ok=True)
    script = str(EXAMPLES / f"{name}.py")
    command = [sys.executable, *prefix, script, "--save", str(saved), *arguments]
    # The demo has its own cache of compiled code, so that the first run is really the first.
    environment = {"NUMELT_CACHE_DIR": str(folder / "cache"), **os.environ}
    start = time.perf_counter()
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, env=environment, timeout=LONGEST_SECONDS
        )
    except subprocess.TimeoutExpired as error:
        raise DemoError(f"{' '.join(command)}\nstill running after {LONGEST_SECONDS} s") from error
    process_seconds = time.perf_counter() - start
    if done.returncode != 0:
        raise DemoError(f"{' '.join(command)}\nexit status {done.returncode}\n{done.stdout}{done.stderr}")
    measured = re.search(r"^time: ([0-9.]+) s$", done.stdout, re.MULTILINE)
    if measured is None:
        raise DemoError(f"{' '.join(command)}\nprinted no 'time:' line:\n{done.stdout}")
    with np.load(saved) as file:
        arrays = {key: file[key] for key in file.files}
    return Run(float(measured[1]), process_seconds, arrays, done.stdout)


def run_numelt(name, arguments, folder):
    """Run one example under numelt; returns its Run and the counts that numelt reports."""
    report = folder / f"{name}.stats.json"
    report.unlink(missing_ok=True)
    run = run_program(name, ["-m", "numelt", "--stats-json", str(report)], arguments, folder)
    return run, json.loads(report.read_text())


def compare(expected, actual):
    """Return the largest difference between two sets of arrays, and whether it is within tolerance."""
    if expected.keys() != actual.keys():
        return math.inf, False
    largest, equal = 0.0, True
    for key, want in expected.items():
        got = actual[key]
        if want.shape != got.shape or want.dtype != got.dtype:
            return math.inf, False
        if want.size:
            gap = np.abs(want.astype(np.complex128) - got.astype(np.complex128))
            gap = np.where((want == got) | (np.isnan(want) & np.isnan(got)), 0.0, gap)
            largest = max(largest, float(np.max(gap)))
        # The absolute tolerance follows the scale of the whole array, because elements near zero result from
        # cancellation.
        scale = float(np.max(np.abs(want))) if want.size else 0.0
        equal &= bool(np.allclose(got, want, rtol=RTOL, atol=max(ATOL, RTOL * scale), equal_nan=True))
    return largest, equal


def measure(name, arguments, folder, pictures):
    """Run one example under both packages and return its Row."""
    plain = [run_program(name, [], arguments, folder) for _ in range(2)]
    # The picture is made in the cold run, so that drawing it does not influence the counts.
    picture = ["--picture", str(pictures / PICTURES[name])] if name in PICTURES else []
    cold, _ = run_numelt(name, [*arguments, *picture], folder)
    warm, stats = run_numelt(name, arguments, folder)
    best = min(plain, key=lambda run: run.seconds)
    gaps = [compare(best.arrays, run.arrays) for run in (cold, warm)]
    return Row(name, best, cold, warm, stats, max(g for g, _ in gaps), all(ok for _, ok in gaps))


def cpu_name():
    """Return the processor's name."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.processor() or platform.machine()
    found = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    return found[1] if found else platform.machine()


def conditions():
    """Return one line that describes the machine on which the figures were measured."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    settings = " ".join(f"{k}={v}" for k, v in sorted(os.environ.items()) if k.startswith("NUMELT_"))
    line = f"{cpu_name()}, {cores} cores, Python {platform.python_version()}, NumPy {np.__version__}"
    return f"{line}, {settings}" if settings else line


def human_bytes(count):
    """Return a byte count with three significant digits and a unit."""
    value = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if value < 999.5:
            return f"{value:.3g} {unit}"
        value /= 1000.0
    return f"{value:.3g} TB"


def table(rows):
    """Return the lines of the Markdown table, with columns aligned for a terminal, too."""
    head = [
        "program", "NumPy s", "numelt s", "speed-up", "first run s", "process s (NumPy / numelt)",
        "kernels", "bytes moved", "fallbacks", "largest difference",
    ]  # fmt: skip
    lines = [head]
    for row in rows:
        lines.append(
            [
                row.name,
                f"{row.numpy.seconds:.3f}",
                f"{row.warm.seconds:.3f}",
                f"{row.numpy.seconds / row.warm.seconds:.2f}",
                f"{row.cold.seconds:.3f}",
                f"{row.numpy.process_seconds:.2f} / {row.warm.process_seconds:.2f}",
                str(row.stats["kernels"]),
                human_bytes(row.stats["bytes_moved"]),
                str(row.stats["fallbacks"]),
                ("0" if row.difference == 0 else f"{row.difference:.1e}") + ("" if row.equal else " WRONG"),
            ]
        )
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    rule = ["-" * widths[0], *("-" * (w - 1) + ":" for w in widths[1:])]
    texts = []
    for line in [head, rule, *lines[1:]]:
        cells = [line[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(line[1:], widths[1:], strict=True))]
        texts.append("| " + " | ".join(cells) + " |")
    return texts


def summary(rows):
    """Return a line of text with the geometric mean of the speed-ups."""
    mean = math.exp(sum(math.log(row.numpy.seconds / row.warm.seconds) for row in rows) / len(rows))
    return f"Geometric mean of the speed-ups: {mean:.2f}."


def main():
    """Run the demo; returns the exit status."""
    parser = argparse.ArgumentParser(description="Compare the example programs under NumPy and numelt.")
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help=f"any of {', '.join(PROGRAMS)}")
    parser.add_argument("--output", type=Path, default=ROOT / "demo-output", help="folder for the results")
    parser.add_argument("--quick", action="store_true", help="small problems: a check, not a measurement")
    options = parser.parse_args()
    unknown = set(options.programs) - set(PROGRAMS)
    if unknown:
        parser.error(f"unknown program: {', '.join(sorted(unknown))}")

    options.output.mkdir(parents=True, exist_ok=True)
    rows, failures = [], []
    with tempfile.TemporaryDirectory(prefix="numelt-demo-") as folder:
        for name in options.programs or PROGRAMS:
            print(f"{name} ...", file=sys.stderr, flush=True)
            try:
                row = measure(name, QUICK[name] if options.quick else [], Path(folder), options.output)
            except DemoError as error:
                failures.append(f"{name}: {error}")
                continue
            rows.append(row)
            if not row.equal:
                failures.append(f"{name}: results differ from NumPy's by up to {row.difference:.3e}")
    if rows:
        lines = [*table(rows), "", summary(rows), f"Measured by `make demo` on {conditions()}."]
        print("\n".join(lines))
        (options.output / "demo.md").write_text("\n".join(lines) + "\n")
    for name, picture in PICTURES.items():
        if any(row.name == name for row in rows):
            print(f"Picture of {name}: {options.output / picture}")
    for failure in failures:
        print(f"FAILED {failure}", file=sys.stderr)
    if not failures:
        print(f"All {len(rows)} programs give NumPy's results (rtol {RTOL:g}).")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
