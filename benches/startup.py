"""Measures how much later programs that only import libraries end under ``python -m numelt``.

Each run is a process of its own; those of plain Python and of the launcher take turns. The measured time is
that from the start of the process to its end. The processor time of the process is reported as well, because
other work on the machine disturbs it less. Python's compiled modules exist already, as after an installation.
"""

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import timing

# what a program imports besides NumPy
LIBRARIES = ("numpy", "pandas", "matplotlib.pyplot", "scipy.optimize")
LIMIT_MS = 30.0


def run(arguments, environment):
    """Return the milliseconds that a process took: elapsed time and processor time."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([sys.executable, *arguments], env=environment, check=True)
    passed, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return 1e3 * passed, 1e3 * used


def measure(rounds=15, only=""):
    """Return one row per library."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"PYTHONPYCACHEPREFIX": str(Path(folder) / "cache"), "MPLBACKEND": "agg"}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        for library in LIBRARIES if not only else [name for name in LIBRARIES if only in name]:
            program = Path(folder) / f"{library.replace('.', '_')}_program.py"
            program.write_text(f"import numpy\nimport {library}\n")
            kinds = {"python": [str(program)], "numelt": ["-m", "numelt", str(program)]}
            for arguments in kinds.values():  # writes the compiled modules
                run(arguments, environment)
            times = {kind: [] for kind in kinds}
            for _ in range(rounds):
                for kind, arguments in kinds.items():
                    times[kind].append(run(arguments, environment))
            row = {"library": library, "limit_ms": LIMIT_MS}
            for kind, found in times.items():
                wall, used = zip(*found, strict=True)
                row |= {f"{kind}_ms": statistics.median(wall), f"{kind}_cpu_ms": statistics.median(used)}
                row[f"{kind}_least_ms"] = min(wall)
            row["later_ms"] = row["numelt_ms"] - row["python_ms"]
            row["later_least_ms"] = row["numelt_least_ms"] - row["python_least_ms"]
            row["later_cpu_ms"] = row["numelt_cpu_ms"] - row["python_cpu_ms"]
            rows.append(row)
            print(
                f"{library:20s} python {row['python_ms']:8.1f} ms, numelt {row['later_ms']:6.1f} ms later"
                f" (least {row['later_least_ms']:6.1f}, processor {row['later_cpu_ms']:6.1f})",
                flush=True,
            )
    return rows


def text(rows):
    """Render the libraries."""
    head = ("program imports", "python, ms", "numelt, ms", "later, ms", "processor, ms more")
    lines = [
        (
            row["library"],
            *(f"{row[key]:.1f}" for key in ("python_ms", "numelt_ms", "later_ms", "later_cpu_ms")),
        )
        for row in rows
    ]
    return timing.table(head, lines)


if __name__ == "__main__":
    print(text(measure()))
