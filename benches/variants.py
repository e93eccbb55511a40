"""Would kernels gain from constants for extents and strides? Stencils of 1 to 4 dimensions, Gauss, LU.

The kernels are those of paper 003, section 7.6: dynamic ones take their geometry as arguments, fixed ones
have it in the code, and "selected" is what numelt runs. `crates/engine-cpu/examples/variants.rs` measures
them on one thread. How many kernels Gauss elimination and LU compile is counted here: their views shrink
with every iteration.
"""

import json
import shutil
import subprocess

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


def structures(make, size):
    """Return how many kernels a program launches (nests count once), and how many were prepared."""
    run = make(numelt, size)
    numelt.config.fuse = "greedy"  # any setting empties the caches
    numelt.flush()
    _core.reset_stats()
    timing.force(run())
    numelt.flush()
    stats = _core.stats()
    figures = {"launched": stats["kernels"], "structures": stats["kernels_compiled"]}
    return {"name": make.__name__, "size": size, **figures}


def measure(rounds=7):
    """Measure the kernels and count the structures."""
    sizes = (24, 100, 300)
    counts = [structures(make, n) for make in (programs.gauss, programs.lu) for n in sizes]
    return {"kernels": kernels(rounds), "structures": counts}


def text(found):
    """Render both tables."""
    rows = [
        (
            row["name"],
            " x ".join(map(str, row["shape"])),
            f"{row['dynamic_us']:.2f}",
            f"{row['constant_us']:.2f}",
            f"{row['dynamic_us']:.2f}",
            f"{row['dynamic_us'] / row['constant_us'] - 1:+.0%}",
            f"{row['compile_ms']:.1f}",
        )
        for row in found["kernels"]
    ]
    head = ["kernel", "points", "dynamic, us", "fixed, us", "selected, us", "fixed would gain", "compile, ms"]
    counts = [(row["name"], row["size"], row["launched"], row["structures"]) for row in found["structures"]]
    launches = timing.table(["program", "n", "kernels and nests launched", "kernel structures"], counts)
    return f"{timing.table(head, rows)}\n\n{launches}"
