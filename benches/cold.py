"""Times the first call of a program in a fresh process, with nothing compiled and an empty cache on disk.

Each figure comes from a process of its own with an empty cache directory; NumPy's and numelt's processes take
turns. The measured time is that of the first call alone, after the import and after the input was made
(because numelt is lazy, the input may be computed only in that call). Run as a script, this file is such a
process.
"""

import importlib
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import programs
import timing

# the first call may take twice as long as NumPy's, plus this many milliseconds
GRACE_MS = 5.0


def child(module, name, size):
    """Print the milliseconds of a first call."""
    make = next(make for make in programs.PROGRAMS if make.__name__ == name)
    run = make(importlib.import_module(module), int(size))
    print(1e3 * timing.once(run))


def first_call(module, name, size):
    """Start a process that makes a first call; returns its milliseconds."""
    with tempfile.TemporaryDirectory() as empty:
        done = subprocess.run(
            [sys.executable, __file__, module, name, str(size)],
            env=os.environ | {"NUMELT_CACHE_DIR": str(Path(empty) / "cache")},
            cwd=Path(__file__).parent,
            capture_output=True,
            text=True,
            check=True,
        )
    return float(done.stdout.split()[-1])


def measure(rounds=3, only=""):
    """Return one row per program and size."""
    rows = []
    for make, sizes in programs.PROGRAMS.items():
        for size in sizes if only in make.__name__ else ():
            name, modules = make.__name__, ("numpy", "numelt")
            pairs = [[first_call(module, name, size) for module in modules] for _ in range(rounds)]
            plain, ours = (statistics.median(times) for times in zip(*pairs, strict=True))
            limit = 2 * plain + GRACE_MS
            figures = {"numpy_ms": plain, "candidate_ms": ours, "limit_ms": limit}
            rows.append({"name": name, "size": size, **figures})
            print(
                f"{name:20s} {size:>10,} first call: NumPy {plain:8.2f} ms, numelt {ours:8.2f} ms", flush=True
            )
    return rows


def text(rows):
    """Render the first calls."""
    lines = [
        (
            row["name"],
            f"{row['size']:,}",
            f"{row['numpy_ms']:.2f}",
            f"{row['candidate_ms']:.2f}",
            f"{row['candidate_ms'] / row['limit_ms']:.0%}",
        )
        for row in rows
    ]
    return timing.table(("program", "size", "NumPy, ms", "numelt, ms", "of twice NumPy's and 5 ms"), lines)


if __name__ == "__main__":
    child(*sys.argv[1:])
