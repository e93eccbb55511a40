"""Measures unmodified programs under ``python -m numelt --jit-loops``, against numelt without it and NumPy.

The programs are those of benches/fields. Each one becomes a script that makes its input, and runs the program
as often as NumPy does in a third of a second. So a measurement contains what the option costs as a whole:
the code that is generated for the file, and the compiling of the loops that are worth it. Every run is a
process of its own; the three ways to run the script take turns. The first run of each way has an empty cache
folder ("cold"), the others find there what it left.

Two times are taken: that of the process from its start to its end, and that of the program's runs in it.
The result of a script's last run must be equal with and without the option.
"""

import os
import pickle
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import field
import timing

SECONDS = 0.3
# where Python's compiled modules are kept
MODULES = timing.ROOT / "target" / "loaded"
# how slow a process may become by the option, and how many times faster than NumPy these programs must run
LEAST = 0.95
LOOPS = ("garch", "dither", "nussinov", "crc16_one", "edit_distance", "filters", "deriche")
LEAST_LOOPS = 10.0
WAYS = {"numpy": (), "numelt": ("-m", "numelt"), "jit_loops": ("-m", "numelt", "--jit-loops")}

SCRIPT = """import sys, time
import {module}
run = {module}.{name}({size})
count = int(sys.argv[1])
start = time.perf_counter()
for _ in range(count):
    result = run()
passed = time.perf_counter() - start
import pickle, numpy
parts = [numpy.array(part) for part in (result if isinstance(result, (list, tuple)) else [result])]
with open(sys.argv[2], "wb") as file:
    pickle.dump((passed, parts), file)
"""


def once(folder, way, count):
    """Run a folder's script; return the process's seconds, those of the program's runs, and the result."""
    out = folder / "result"
    # as after an installation: Python's compiled modules exist, and are not written in the first measured run
    modules = {"PYTHONPYCACHEPREFIX": str(MODULES), "PYTHONDONTWRITEBYTECODE": ""}
    environment = os.environ | modules | {"NUMELT_CACHE_DIR": str(folder / way)}
    start = time.perf_counter()
    command = [sys.executable, *WAYS[way], str(folder / "script.py"), str(count), str(out)]
    subprocess.run(command, env=environment, check=True)
    passed = time.perf_counter() - start
    runs, result = pickle.loads(out.read_bytes())
    return passed, runs, result


def program(path, name, size, rounds):
    """Return the row of a program at one size."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / path.name).write_text(path.read_text())
        (folder / "script.py").write_text(SCRIPT.format(module=path.stem, name=name, size=size))
        seconds = once(folder, "numpy", 1)[1]
        once(folder, "numelt", 1)
        count = max(1, round(SECONDS / seconds))
        cold = {way: once(folder, way, count) for way in WAYS}
        times = {way: [] for way in WAYS}
        for _ in range(rounds):
            for way in WAYS:
                times[way].append(once(folder, way, count)[:2])
    row = {"name": f"{path.stem}.{name}", "size": size, "count": count}
    row["correct"] = field.same(cold["jit_loops"][2], cold["numpy"][2])
    row["equal"] = all(
        (a == b).all() or field.same(a, b, 0)
        for a, b in zip(cold["jit_loops"][2], cold["numelt"][2], strict=True)
    )
    for way in WAYS:
        whole, runs = zip(*times[way], strict=True)
        row[f"{way}_s"], row[f"{way}_runs_s"] = statistics.median(whole), statistics.median(runs)
        row[f"{way}_cold_s"] = cold[way][0]
    row["over_numelt"] = row["numelt_s"] / row["jit_loops_s"]
    row["cold_over_numelt"] = row["numelt_cold_s"] / row["jit_loops_cold_s"]
    row["runs_over_numpy"] = row["numpy_runs_s"] / row["jit_loops_runs_s"]
    return row


def measure(rounds=5, only="", sizes=(0,)):
    """Return a row per program."""
    rows = []
    for path in sorted(field.FOLDER.glob("*.py")):
        for make, both in field.load(path).PROGRAMS.items():
            if only not in f"{path.stem}.{make.__name__}":
                continue
            for which in sizes:
                row = program(path, make.__name__, both[which], rounds)
                rows.append(row)
                print(
                    f"{row['name']:36s} {row['size']:9d} x{row['count']:6d}"
                    f"  numelt {row['numelt_s'] * 1e3:7.0f} ms,"
                    f" with the option {row['over_numelt']:5.2f} of that speed"
                    f" (cold {row['cold_over_numelt']:5.2f}); runs {row['runs_over_numpy']:7.2f} of NumPy"
                    f"{'' if row['equal'] else '  DIFFERS'}{'' if row['correct'] else '  WRONG'}",
                    flush=True,
                )
    return rows


def text(rows):
    """Render the programs, slowest first, and the geometric means."""
    head = ("program", "size", "runs", "NumPy, s", "numelt, s", "--jit-loops, s", "of numelt's speed", "cold",
            "runs: times NumPy")  # fmt: skip
    lines = [
        (
            row["name"], f"{row['size']:,}", f"{row['count']:,}",
            *(f"{row[f'{way}_s']:.2f}" for way in WAYS),
            f"{row['over_numelt']:.2f}", f"{row['cold_over_numelt']:.2f}", f"{row['runs_over_numpy']:.1f}",
        )
        for row in sorted(rows, key=lambda row: row["over_numelt"])
    ]  # fmt: skip
    slow = [f"{row['name']} ({row['over_numelt']:.2f})" for row in rows if row["over_numelt"] < LEAST]
    loops = [row["runs_over_numpy"] for row in rows if row["name"].split(".")[1] in LOOPS]
    said = [
        f"Speed of a process with the option over that without, geometric mean: "
        f"{timing.mean([row['over_numelt'] for row in rows]):.2f}, with an empty cache "
        f"{timing.mean([row['cold_over_numelt'] for row in rows]):.2f}; "
        f"below {LEAST}: {', '.join(slow) or 'none'}.",
    ]
    if loops:
        said.append(
            f"Programs of loops ({', '.join(LOOPS)}): {timing.mean(loops):.1f} times NumPy in the mean"
            f" (the bound is {LEAST_LOOPS:.0f})."
        )
    return f"{timing.table(head, lines)}\n\n{' '.join(said)}"
