"""Measures Python loops that `numelt.jit` compiles, against Numba, Pythran and CPython.

Each file of benches/loops is a module of plain functions that loop over the elements of arrays. Its
`PROGRAMS` maps each function to a function that makes its arguments, and to two sizes. At the first size,
only compiled code is measured, and a run takes milliseconds; at the second, smaller one, CPython runs the
function as well. CPython, Numba and Pythran get NumPy arrays, numelt gets its own. All runs of a program take
turns in one process.

A result of numelt must have the same types and bits as CPython's. Numba compiles each program twice, with and
without `parallel=True` (never with `fastmath`). Pythran compiles it ahead of time (`pythran_loops`). Of
the variants whose results equal CPython's to the precision of their types, the fastest one counts. The
programs are plain loops without `prange` or OpenMP's comments: Numba and Pythran run none of them on several
cores, whereas numelt does if the iterations do not depend on each other. At the larger size, numelt's results
are compared with theirs. Numba and Pythran are optional; without Numba, the columns of both are left out.

A first call is measured in a process of its own with an empty cache directory. The measured time is that of
wrapping the function and calling it once, after the compiler was imported and the arguments were made.
Numba's first call is measured without `parallel=True`, with which it takes longer. Run as a script, this file
is such a process.
"""

import functools
import gc
import importlib.metadata
import importlib.util
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy

import numelt
import pythran_loops
import timing

FOLDER = Path(__file__).with_name("loops")
HAS_NUMBA = importlib.util.find_spec("numba") is not None
HAS_PYTHRAN = importlib.util.find_spec("pythran") is not None
SEED = 1
# the number of elements of the arrays with which the cost of a call is measured
TINY = 3
# the milliseconds by which the first call may take longer than CPython's
GRACE_MS = 20.0
# the speed that loops must reach, as a multiple of CPython's
LEAST_OVER_CPYTHON = 50.0
# the speed that the geometric mean must reach, and that each program must reach, as a multiple of that of the
# faster one of Numba and Pythran
MEAN_OVER_PEERS, LEAST_OVER_PEERS = 1.3, 0.8
# the share of the time of Numba's first call that numelt's may take, in the geometric mean
FIRST_CALL_SHARE = 0.1


def programs(only=""):
    """Yield name, function, maker and the two sizes of every program whose name contains `only`."""
    for path in sorted(FOLDER.glob("*.py")):
        spec = importlib.util.spec_from_file_location(f"loops_{path.stem}", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        for function, (make, large, small) in module.PROGRAMS.items():
            if only in f"{path.stem}.{function.__name__}":
                yield f"{path.stem}.{function.__name__}", function, make, large, small


def arguments(make, size, is_numelt=False):
    """Return new arguments of a program; the same values for the same size."""
    made = make(size, numpy.random.default_rng(SEED))
    if is_numelt:
        return [numelt.asarray(x) if isinstance(x, numpy.ndarray) else x for x in made]
    return list(made)


def compiler(name):
    """Return the function of a compiler that wraps a Python function."""
    if name == "numelt":
        return numelt.jit
    import numba

    # Numba warns if it found nothing to run in parallel
    warnings.simplefilter("ignore", numba.errors.NumbaPerformanceWarning)
    return functools.partial(numba.njit, parallel=name == "parallel")


def compilers():
    """Return the names of the compilers that are measured."""
    pythran = ("pythran",) if HAS_PYTHRAN else ()
    return ("numelt", "njit", "parallel", *pythran) if HAS_NUMBA else ("numelt",)


def outcome(value, made):
    """Return everything that a program has computed: the values that it returned, and its arrays."""
    returned = list(value) if isinstance(value, tuple) else [] if value is None else [value]
    return returned + [x for x in made if hasattr(x, "shape")]


def is_identical(got, want):
    """Tell whether numelt's results have the types and bits of CPython's."""
    return len(got) == len(want) and all(map(_is_same, got, want))


def _is_same(got, want):
    if not isinstance(want, numpy.ndarray) and type(got) is not type(want):
        return False
    got, want = numpy.asarray(got), numpy.asarray(want)
    return got.dtype == want.dtype and got.shape == want.shape and got.tobytes() == want.tobytes()


def is_close(got, want):
    """Tell whether Numba's results are CPython's, to the precision of their types."""
    tolerance = {"f": 1e-4}
    return len(got) == len(want) and all(
        numpy.allclose(g, w, *2 * [tolerance.get(numpy.asarray(w).dtype.char, 1e-9)], equal_nan=True)
        for g, w in zip(got, want, strict=True)
    )


def left_to_cpython(compiled):
    """Return the lines of `numelt.explain` that say what CPython ran in the loops of a compiled function."""
    text = numelt.explain(compiled)
    if "has no compiled loops" in text:
        return [text.strip()]
    pattern = r"(left to CPython|goes on in CPython at): .*, \d+ times|run by CPython for .*"
    return [found.group(0) for found in re.finditer(pattern, text)]


def interleaved(runs, rounds, least_seconds):
    """Return the median seconds of one call for each callable; the results are not used."""
    counts = {name: timing.repeats(run, least_seconds) for name, run in runs.items()}
    samples = {name: [] for name in runs}
    gc.collect()
    gc.disable()
    try:
        for _ in range(rounds):
            for name, run in runs.items():
                turns = range(counts[name])
                start = time.perf_counter()
                for _ in turns:
                    run()
                samples[name].append((time.perf_counter() - start) / len(turns))
    finally:
        gc.enable()
    return {name: statistics.median(times) for name, times in samples.items()}


def child(name, which, size):
    """Print the milliseconds of a first call."""
    _, function, make, *_ = next(program for program in programs(name) if program[0] == name)
    wrap, made = compiler(which), arguments(make, int(size), which == "numelt")
    start = time.perf_counter()
    wrap(function)(*made)
    print(1e3 * (time.perf_counter() - start))


def first_call(name, which, size):
    """Start a process that makes a first call; returns its milliseconds."""
    with tempfile.TemporaryDirectory() as empty:
        done = subprocess.run(
            [sys.executable, __file__, name, which, str(size)],
            env=os.environ | {"NUMELT_CACHE_DIR": str(Path(empty) / "cache")},
            cwd=Path(__file__).parent,
            capture_output=True,
            text=True,
            check=True,
        )
    return float(done.stdout.split()[-1])


def check(function, make, size):
    """Compile a program and compare its results with CPython's.

    Returns
    -------
    compiled : dict of str to callable
        The functions that each compiler has made, without those of others that failed or gave wrong results.
    is_correct : bool
        Whether numelt's results have CPython's types and bits.
    notes : list of str
        What went wrong, and which code numelt left to CPython.
    """
    made = arguments(make, size)
    want = outcome(function(*made), made)
    compiled, is_correct, notes = {}, False, []
    for which in compilers():
        made = arguments(make, size, which == "numelt")
        try:
            is_ahead = which == "pythran"
            run = pythran_loops.compiled(function, made) if is_ahead else compiler(which)(function)
            got = outcome(run(*made), made)
        except Exception as error:
            notes.append(f"{which} fails: {type(error).__name__}")
            if which == "numelt":
                raise
            continue
        if which == "numelt":
            is_correct = is_identical(got, want)
            notes += left_to_cpython(run)
        elif not is_close(got, want):
            notes.append(f"{which} is wrong")
            continue
        compiled[which] = run
    return compiled, is_correct, notes


def agree_at(compiled, make, size):
    """Tell whether numelt's results equal those of others, at a size that would take CPython too long."""
    found = {}
    for which, run in compiled.items():
        made = arguments(make, size, which == "numelt")
        found[which] = outcome(run(*made), made)
    return all(is_close(found["numelt"], result) for result in found.values())


def seconds(compiled, make, size, rounds, least_seconds, function=None):
    """Return the median seconds of one call of each compiled function, and of `function` in CPython."""
    runs = {
        which: functools.partial(run, *arguments(make, size, which == "numelt"))
        for which, run in compiled.items()
    }
    if function is not None:
        runs["cpython"] = functools.partial(function, *arguments(make, size))
    return interleaved(runs, rounds, least_seconds)


def first_calls(name, size, rounds, has_njit):
    """Return the median milliseconds of numelt's first call, and of Numba's where it can compile."""
    names = ("numelt", "njit") if has_njit else ("numelt",)
    turns = [[first_call(name, which, size) for which in names] for _ in range(rounds)]
    return {
        which: statistics.median(times) for which, times in zip(names, zip(*turns, strict=True), strict=True)
    }


NUMBA = ("njit", "parallel")
PEERS = (*NUMBA, "pythran")


def best(times, names=PEERS):
    """Return the figure of the fastest of some compilers, or None."""
    return min((times[which] for which in names if which in times), default=None)


def over(theirs, ours):
    """Return a ratio, or None where others have no figure."""
    return None if theirs is None else theirs / ours


def measure(rounds=7, only="", quick=False):
    """Return one row per program.

    Parameters
    ----------
    rounds : int
        Number of interleaved rounds of compiled code; CPython and first calls have at most three.
    only : str
        Measure only programs whose name contains this.
    quick : bool
        Run compiled code at the small size only.
    """
    rows = []
    for name, function, make, large, small in programs(only):
        compiled, is_correct, notes = check(function, make, small)
        if not quick and not agree_at(compiled, make, large):
            is_correct = False
            notes.append(f"numelt and others differ at size {large:,}")
        at_large = seconds(compiled, make, small if quick else large, rounds, 0.01)
        at_small = seconds(compiled, make, small, min(rounds, 3), 0.002, function)
        at_call = seconds(compiled, make, TINY, max(rounds, 3), 0.005)
        first = first_calls(name, small, min(rounds, 3), "njit" in compiled)
        cpython_ms = 1e3 * at_small["cpython"]
        row = {
            "name": name,
            "size": small if quick else large,
            "small": small,
            "correct": is_correct,
            "notes": notes,
            "ms": {which: 1e3 * value for which, value in at_large.items()},
            "small_ms": {which: 1e3 * value for which, value in at_small.items()},
            "call_us": {which: 1e6 * value for which, value in at_call.items()},
            "first_ms": first,
            "over_peers": over(best(at_large), at_large["numelt"]),
            "over_cpython": at_small["cpython"] / at_small["numelt"],
            "call_over_numba": over(best(at_call, NUMBA), at_call["numelt"]),
            "first_over_numba": over(first.get("njit"), first["numelt"]),
            "is_first_in_limit": first["numelt"] <= cpython_ms + GRACE_MS,
        }
        rows.append(row)
        print(line(row), flush=True)
    return rows


def line(row):
    """Render a row for the terminal."""
    numba, pythran = best(row["ms"], NUMBA), row["ms"].get("pythran")
    text = f"{row['name']:28s} {row['ms']['numelt']:8.3f} ms  x{row['over_cpython']:6.1f} CPython"
    if numba is not None:
        text += f"  Numba {numba:8.3f} ms  Pythran {figure(pythran, 3)} ms  x{row['over_peers']:5.2f}"
    text += f"  first {' / '.join(f'{value:.1f}' for value in row['first_ms'].values())} ms"
    text += f"  call {' / '.join(f'{value:.2f}' for value in row['call_us'].values())} us"
    return text + ("" if row["correct"] else "  WRONG") + "".join(f"\n    {note}" for note in row["notes"])


def figure(value, digits=2):
    """Render a number, or its absence."""
    return "–" if value is None else f"{value:.{digits}f}"


def text(rows):
    """Render the programs, the geometric means, and which bounds are missed."""
    has_numba = any(best(row["ms"]) is not None for row in rows)
    head = ["program", "size", "numelt, ms"]
    head += ["Numba, ms", "Pythran, ms", "times the faster"] if has_numba else []
    head += ["times CPython", "first call, ms"] + (["Numba's, ms"] if has_numba else [])
    head += ["CPython's, ms", "call, µs"] + (["Numba's, µs"] if has_numba else [])
    lines = []
    for row in rows:
        cells = [row["name"], f"{row['size']:,}", figure(row["ms"]["numelt"])]
        if has_numba:
            cells += [figure(best(row["ms"], NUMBA)), figure(row["ms"].get("pythran"))]
            cells += [figure(row["over_peers"])]
        cells += [figure(row["over_cpython"], 0), figure(row["first_ms"]["numelt"], 1)]
        cells += [figure(row["first_ms"].get("njit"), 0)] if has_numba else []
        cells += [figure(row["small_ms"]["cpython"], 0), figure(row["call_us"]["numelt"])]
        cells += [figure(best(row["call_us"], NUMBA))] if has_numba else []
        lines.append(cells)
    found = [name for name, is_here in (("numba", HAS_NUMBA), ("pythran", HAS_PYTHRAN)) if is_here]
    about = "".join(f"{name.capitalize()} {importlib.metadata.version(name)}. " for name in found)
    return f"{timing.table(head, lines)}\n\n{about}{summary(rows)}"


def summary(rows):
    """Describe the means in sentences, and the programs that miss a bound."""
    found = [
        _against(rows, "over_cpython", "Geometric mean of the speed-ups over CPython", LEAST_OVER_CPYTHON)
    ]
    slow = [row["name"] for row in rows if not row["is_first_in_limit"]]
    found.append(f"First calls over CPython's time and {GRACE_MS:.0f} ms: {', '.join(slow) or 'none'}.")
    if any(row["over_peers"] is not None for row in rows):
        about = "Geometric mean of the speed-ups over the faster one of Numba and Pythran"
        about = f"{about} (the bound is {MEAN_OVER_PEERS})"
        found.insert(0, _against(rows, "over_peers", about, LEAST_OVER_PEERS))
        ratios = [row["first_over_numba"] for row in rows if row["first_over_numba"] is not None]
        share = 1 / timing.mean(ratios)
        found.append(
            f"Geometric mean of first calls: {share:.3f} of Numba's (the bound is {FIRST_CALL_SHARE})."
        )
        about = "Geometric mean of Numba's time for a call of three elements over numelt's"
        found.append(_against(rows, "call_over_numba", about, 1.0))
    return " ".join(found)


def _against(rows, key, about, bound):
    known = {row["name"]: row[key] for row in rows if row[key] is not None}
    below = [f"{name} ({value:.2f})" for name, value in known.items() if value < bound]
    return f"{about}: {timing.mean(known.values()):.2f}; below {bound:g}: {', '.join(below) or 'none'}."


if __name__ == "__main__":
    child(*sys.argv[1:])
