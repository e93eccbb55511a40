"""Measures what code for one geometry gains: stencils of 1 to 4 axes, Gauss, LU (paper 003, section 7.6).

Dynamic code takes extents and strides as arguments, fixed code has them as constants, and "selected" is what
numelt runs: fixed code if a geometry recurs and fixed code is faster for it.
`crates/engine-cpu/examples/variants.rs` measures launches on one thread, also on arrays of short rows. Gauss
elimination and LU, whose views shrink in each iteration, are measured here as whole programs.
"""

import json
import shutil
import subprocess
import time

import numelt
import programs
import timing
from numelt import _core


def kernels(rounds):
    """Return the figures of the Rust example: one row per kernel and geometry."""
    if shutil.which("cargo") is None:
        print("no cargo: the kernels are not measured")
        return []
    command = ["cargo", "run", "--release", "-q", "-p", "numelt-engine-cpu", "--example", "variants"]
    done = subprocess.run(
        [*command, "--", str(40 * rounds)], cwd=timing.ROOT, capture_output=True, text=True, check=True
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def program(make, size, mode):
    """Return the milliseconds of a program's first and of a later run, and how much was compiled for it."""
    run = make(numelt, size)
    numelt.config.variants = mode  # changing the setting also empties the caches
    _core.reset_stats()
    seconds = []
    for _ in range(2 if mode == "fixed" else 30):
        start = time.perf_counter()
        timing.force(run())
        seconds.append(time.perf_counter() - start)
    stats = _core.stats()
    return {
        "name": make.__name__,
        "size": size,
        "mode": mode,
        "first_ms": 1e3 * seconds[0],
        "later_ms": 1e3 * sorted(seconds[1:])[len(seconds[1:]) // 2],
        "structures": stats["kernels_compiled"],
        "variants": stats["variants_compiled"],
    }


def measure(rounds=7):
    """Measure the launches, and the programs in each mode."""
    sizes = (24, 100)
    modes = ("dynamic", "fixed", "selected")
    try:
        made = [
            program(make, n, mode) for make in (programs.gauss, programs.lu) for n in sizes for mode in modes
        ]
    finally:
        numelt.config.variants = "selected"
    return {"kernels": kernels(rounds), "programs": made}


def text(found):
    """Render both tables."""
    rows = [
        (
            row["name"],
            " x ".join(map(str, row["shape"])),
            f"{row['dynamic_us']:.2f}",
            f"{row['fixed_us']:.2f}",
            f"{row['selected_us']:.2f}",
            row["tier"],
            f"{row['dynamic_us'] / row['selected_us'] - 1:+.0%}",
        )
        for row in found["kernels"]
    ]
    head = ["kernel", "points", "dynamic, us", "fixed, us", "selected, us", "selected runs", "and gains"]
    made = [
        (
            row["name"],
            row["size"],
            row["mode"],
            f"{row['first_ms']:.1f}",
            f"{row['later_ms']:.2f}",
            row["structures"],
            row["variants"],
        )
        for row in found["programs"]
    ]
    titles = [
        "program",
        "n",
        "code",
        "first run, ms",
        "later runs, ms",
        "kernel structures",
        "variants compiled",
    ]
    return f"{timing.table(head, rows)}\n\n{timing.table(titles, made)}"
