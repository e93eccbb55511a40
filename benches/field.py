"""Times programs from many fields, written as their authors write them, at a small and at a large size.

Each file of benches/fields is a module of plain NumPy programs (`import numpy as np`). Its `PROGRAMS` maps
functions to two sizes: at the first, all arrays fit into a core's cache; at the second, a run takes NumPy 0.1
to 1 s. Such a function makes the input for a size, and returns a function without arguments that runs the
program once. The module is loaded twice: as it is, and with numelt in place of NumPy. The runs of both take
turns in one process.
"""

import types
from pathlib import Path

import numpy

import timing

FOLDER = Path(__file__).with_name("fields")
KINDS = ("small", "large")
IMPORT = "import numpy as np\n"


def load(path, package="numpy"):
    """Return the module at `path`, with `package` in NumPy's place."""
    source = path.read_text()
    if IMPORT not in source:
        raise ValueError(f"{path.name} does not contain {IMPORT!r}")
    module = types.ModuleType(f"{path.stem}_{package}")
    module.__file__ = str(path)
    code = source.replace(IMPORT, f"import {package} as np\n")
    exec(compile(code, str(path), "exec"), module.__dict__)
    return module


def programs(only=""):
    """Yield name, sizes, NumPy's and numelt's function for every program whose name contains `only`."""
    for path in sorted(FOLDER.glob("*.py")):
        theirs, ours = load(path), load(path, "numelt")
        for make, sizes in theirs.PROGRAMS.items():
            name = f"{path.stem}.{make.__name__}"
            if only in name:
                yield name, sizes, make, getattr(ours, make.__name__)


def same(got, want, tolerance=1e-10):
    """Tell whether a result has NumPy's dtype, shape and values; floats may differ by `tolerance`."""
    if isinstance(want, (list, tuple)):
        return len(got) == len(want) and all(same(g, w, tolerance) for g, w in zip(got, want, strict=True))
    got, want = numpy.asarray(got), numpy.asarray(want)
    if got.dtype != want.dtype or got.shape != want.shape:
        return False
    if want.dtype.kind not in "fc":
        return bool((got == want).all())
    if want.dtype.itemsize < 8 or want.dtype == numpy.complex64:
        tolerance = 1e-4
    scale = float(numpy.abs(want[numpy.isfinite(want)]).max(initial=0.0))
    return numpy.allclose(got, want, rtol=tolerance, atol=tolerance * scale, equal_nan=True)


def measure(rounds=5, only=""):
    """Return a row per program and size: seconds of NumPy and numelt, and whether the results agree."""
    rows = []
    for name, sizes, theirs, ours in programs(only):
        for kind, size in zip(KINDS, sizes, strict=True):
            runs = {"numpy": theirs(size), "numelt": ours(size)}
            correct = same(timing.force(runs["numelt"]()), runs["numpy"]())
            timing.settle(runs["numelt"], calls=2)
            times = timing.measure(runs, rounds, 0.003)
            row = {"name": name, "kind": kind, "size": size, "correct": correct}
            row |= {"numpy_ms": times["numpy"] * 1e3, "numelt_ms": times["numelt"] * 1e3}
            row["speedup"] = times["numpy"] / times["numelt"]
            rows.append(row)
            print(
                f"{name:40s} {kind:5s} NumPy {row['numpy_ms']:9.3f} ms  numelt {row['numelt_ms']:9.3f} ms"
                f"  x{row['speedup']:6.2f}{'' if correct else '  WRONG'}",
                flush=True,
            )
    return rows


def text(rows):
    """Render the programs, and the geometric means."""
    head = (
        "program",
        "small: NumPy, ms",
        "numelt, ms",
        "times NumPy",
        "large: NumPy, ms",
        "numelt, ms",
        "times NumPy",
    )
    by_name = {}
    for row in rows:
        by_name.setdefault(row["name"], {})[row["kind"]] = row
    lines = [
        (name, *(f"{kinds[kind][key]:.2f}" for kind in KINDS for key in ("numpy_ms", "numelt_ms", "speedup")))
        for name, kinds in by_name.items()
    ]
    means = []
    for kind in KINDS:
        found = [row["speedup"] for row in rows if row["kind"] == kind]
        slow = sum(speedup < 0.9 for speedup in found)
        means.append(f"{kind} {timing.mean(found):.2f} ({slow} of {len(found)} below 0.9)")
    return f"{timing.table(head, lines)}\n\nGeometric mean of the speed-ups: {', '.join(means)}."
