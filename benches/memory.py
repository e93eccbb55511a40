"""Measures the most memory that a program holds, in a process of its own.

The peak is the largest resident memory of the process. "Above the start" is the difference to what the
interpreter, NumPy and numelt take after the program's input has been made; the peak is reset at that point.
numelt is measured twice: with an empty cache on disk, so that it compiles, and with the cache that the first
run left. Run as a script, this file is such a process.
"""

import importlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy

import programs
import timing

# how often the program is called in a process: what the first call compiles or keeps has its effect in the
# next ones
CALLS = 3


def resident(what):
    """Return `VmRSS` or `VmHWM` of this process, in megabytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(what)) / 1024


def child(module, name, size):
    """Print the resident memory after import, with the input made, and at its peak."""
    np = importlib.import_module(module)
    imported = resident("VmRSS")
    make = next(make for make in programs.PROGRAMS if make.__name__ == name)
    run = make(np, int(size))
    if module == "numelt":
        np.flush()
    Path("/proc/self/clear_refs").write_text("5")  # resets the peak
    start = resident("VmRSS")
    for _ in range(CALLS):
        result = run()
        numpy.asarray(result).sum()
        del result
    print(imported, start, resident("VmHWM"))


def peak(module, name, size, cache):
    """Start a process that runs a program; returns its three figures."""
    done = subprocess.run(
        [sys.executable, __file__, module, name, str(size)],
        env=os.environ | {"NUMELT_CACHE_DIR": cache},
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        check=True,
    )
    return dict(zip(("imported", "start", "peak"), map(float, done.stdout.split()), strict=True))


def measure(quick=False, only=""):
    """Return one row per program."""
    rows = []
    for make, sizes in programs.PROGRAMS.items():
        name, size = make.__name__, sizes[0 if quick else 1]
        if only not in name:
            continue
        with tempfile.TemporaryDirectory() as empty:
            plain = peak("numpy", name, size, "")
            compiling = peak("numelt", name, size, empty)
            loading = peak("numelt", name, size, empty)
        rows.append(
            {"name": name, "size": size, "numpy": plain, "compiling": compiling, "candidate": loading}
        )
        print(
            f"{name:20s} {size:>10,} peak: NumPy {plain['peak']:6.0f} MB, numelt {loading['peak']:6.0f} MB, "
            f"compiling {compiling['peak']:6.0f} MB",
            flush=True,
        )
    return rows


def text(rows):
    """Render the peaks."""
    head = (
        "program",
        "size",
        "NumPy, MB",
        "numelt, MB",
        "compiling, MB",
        "numelt's of NumPy's",
        "above the start: NumPy, MB",
        "numelt, MB",
    )
    lines = [
        (
            row["name"],
            f"{row['size']:,}",
            *(f"{row[who]['peak']:.0f}" for who in ("numpy", "candidate", "compiling")),
            f"{row['candidate']['peak'] / row['numpy']['peak']:.2f}",
            *(f"{row[who]['peak'] - row[who]['start']:.0f}" for who in ("numpy", "candidate")),
        )
        for row in rows
    ]
    plain, ours = (min(row[who]["imported"] for row in rows) for who in ("numpy", "candidate"))
    return f"After import: NumPy {plain:.0f} MB, numelt {ours:.0f} MB.\n\n" + timing.table(head, lines)


if __name__ == "__main__":
    child(*sys.argv[1:])
