"""Times every recorded call by itself under NumPy and numelt, to find the calls that numelt slows down.

There are three sets of calls: the rows of the parity table (`tests/python/parity/records.py`) and the calls
in `SINGLE`, both on arrays of 3, 100 and 10,000 elements, and every call of
`tests/python/support/surface_records.py` on the dozen elements that it is recorded with. The arguments are
made before the measurement, and are the same for both packages. The measured time is that of the call and of
reading one element of each array that it returns: numelt may only have recorded the call, and reading an
element makes it compute the whole array. NumPy and numelt take turns in one process, and the shortest round
of each counts.

For each call that is slower than it should be, `calls_explained.toml` states the reason in one line, which
docs/calls.md repeats.
"""

import functools
import gc
import sys
import time
import tomllib
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from operator import methodcaller

import numpy

import timing

sys.path.insert(0, str(timing.ROOT))

from tests.python.parity import records
from tests.python.support import layouts, surface_records

DOCUMENT = timing.ROOT / "docs" / "calls.md"
EXPLAINED = timing.ROOT / "benches" / "calls_explained.toml"
SIZES = (3, 100, 10_000)
AS_RECORDED = "as recorded"
# labels and headings of the sets of calls
GROUPS = {
    "parity": ("parity table", "The parity table"),
    "single": ("common calls", "Common calls"),
    "surface": ("every public function", "Every public function, as recorded"),
}
# A call whose ratio is below the first bound needs an explanation; one that reaches the second bound at all
# sizes must have none.
SLOW, RECOVERED = 0.8, 0.9
# the least number of seconds that one round of calls of one package takes
ROUND = 0.0002
PREFERRED = ("float64", "int64", "int32", "complex128")
# rows of the parity table whose results have as many elements as the square of the operand's number
SQUARED = ("outer", "diag")

# Common calls as source code. `a` and `b` are vectors of n elements; `m`, `c` and `q` are square matrices of
# about n elements; `v` is a row of such a matrix; `i` holds n positions; `p` is a mask; `k` holds whole
# numbers; `s` is sorted; `items` is a list of floats; and `z` is a complex matrix.
SINGLE = """
np.trace(m); np.diag(m); a.dot(b); a @ b; m @ v; m @ c; m.dot(c); m.dot(v); np.dot(a, b); np.outer(v, v)
np.einsum('ij,j->i', m, v); np.einsum('ij,ij->i', m, c); np.linalg.norm(a); a + b; a * 2.0; a += b
a[1:] - a[:-1]; -a; a < b; np.sqrt(a); np.exp(a); a ** 2; int(a.argmin()); a.argmax(); float(a.sum())
a.sum(); a.mean(); a.max(); a.std(); m.sum(axis=0); m.mean(axis=1); m.max(axis=0); np.any(np.isinf(a))
(a < b).all(); np.cumsum(a); np.diff(a); np.clip(a, 0.2, 0.8); np.where(p, a, b); np.maximum(a, 0.0)
a[i]; a[p]; a[i] = b; a[p] = 0.5; a[0]; a[1] = 2.0; m[0]; m[:, 0]; m[0, 0]; a[:, None]; a[::-1]
np.take(a, i); a.reshape(-1, 1); m.T; m.ravel(); np.zeros(n); np.ones(n); np.empty(n); np.full(n, 3.0)
np.arange(n); np.linspace(0.0, 1.0, n); np.eye(len(v)); np.zeros_like(a); np.array(items)
np.asarray(items); np.array(a); a.copy(); a.astype('f4'); a.tolist(); np.asarray(a); list(v); len(a)
a.shape; np.concatenate([a, b]); np.stack([a, b]); np.vstack([a, b]); np.column_stack([a, b])
np.append(a, 1.0); np.repeat(a, 2); np.tile(a, 2); np.apply_along_axis(np.sum, 0, m); np.sort(a)
np.argsort(a); np.unique(k); np.bincount(k); np.searchsorted(s, b); np.nonzero(p); np.interp(b, s, a)
np.median(a); np.histogram(a); np.fft.fft(a); np.fft.rfft(a); np.fft.fftn(z); np.roll(a, 1)
np.meshgrid(v, v); np.linalg.solve(q, v); np.linalg.inv(q); np.allclose(a, b); np.array_equal(a, a)
np.isnan(a); np.round(a, 2); rng.normal(size=n); rng.random(n); rng.integers(0, 9, n)
rng.uniform(0.0, 1.0, n); np.random.rand(n); np.random.randn(n); rng.normal()
"""

# calls that state their own size
OWN_SIZE = ("np.fft.fftn(z256)", "np.fft.fftn(z512)", "np.fft.fft2(z256.real)")


@dataclass
class Row:
    """A call at one size: a name for the table, and NumPy's and numelt's function without arguments."""

    group: str
    name: str
    size: int | str
    runs: dict[str, Callable]


def side(n):
    """Return the side of a square matrix of about n elements."""
    return max(2, round(n**0.5))


def parity_shape(record, n):
    """Return the shape of a record's arguments: a vector, unless the record is for matrices only."""
    if record.name in SQUARED:
        return (side(n),)
    if not record.layouts or "vector" in record.layouts:
        return (n,)
    return (side(n), side(n))


def parity_rows(modules):
    """Yield the rows of the parity table; functions without array arguments occur once."""
    for record in records.TABLE:
        dtype = next((dtype for dtype in PREFERRED if dtype in record.dtypes), record.dtypes[0])
        kind = f" {dtype}" if dtype not in ("float64", None) else ""
        for size in SIZES if record.arity else (AS_RECORDED,):
            runs = {}
            for name, np in modules.items():
                shape = parity_shape(record, size) if record.arity else ()
                data = [layouts.data(dtype, shape, i, record.domain) for i in range(record.arity)]
                arguments = [np.array(values) for values in data]
                runs[name] = functools.partial(record.call, np, *arguments)
            yield Row("parity", record.name + kind, size, runs)


def surface_rows(modules):
    """Yield the calls of every public function, as recorded."""
    calls = {code: None for module in surface_records.RECORDS for code in calls_of(module)}
    for code in calls:
        runs = {name: compiled(code, surface_records.operands(np)) for name, np in modules.items()}
        yield Row("surface", code, AS_RECORDED, runs)


def calls_of(module):
    """Yield the recorded calls of a module's public functions."""
    for calls in surface_records.calls(module).values():
        yield from calls


def compiled(code, space):
    """Return a function without arguments that runs an expression or an assignment."""
    try:
        return eval(f"lambda: {code}", space)
    except SyntaxError:
        target = code.split()[0].split("[")[0]
        exec(f"def run():\n    global {target}\n    {code}\n    return {target}", space)
        return space["run"]


def single_operands(np, n):
    """Return the operands of the calls in `SINGLE`, made by NumPy or numelt."""
    rng = numpy.random.default_rng(3)
    a, b, m, c = rng.uniform(0.1, 0.9, n), rng.uniform(0.1, 0.9, n), *rng.uniform(0, 1, (2, side(n), side(n)))
    z = m + 1j * c
    return {
        "np": np, "n": n, "a": np.array(a), "b": np.array(b), "m": np.array(m), "c": np.array(c),
        "v": np.array(m[0]),
        "i": np.array(rng.integers(0, n, n)), "p": np.array(a > 0.5), "k": np.array(rng.integers(0, 9, n)),
        "s": np.array(numpy.sort(a)), "q": np.array(m + side(n) * numpy.eye(side(n))), "z": np.array(z),
        "items": a.tolist(), "rng": np.random.default_rng(5),
    }  # fmt: skip


def single_rows(modules):
    """Yield the calls in `SINGLE` and `OWN_SIZE`."""
    for code in SINGLE.replace("\n", ";").split(";"):
        for size in SIZES if code.strip() else ():
            runs = {name: compiled(code.strip(), single_operands(np, size)) for name, np in modules.items()}
            yield Row("single", code.strip(), size, runs)
    rng = numpy.random.default_rng(3)
    grids = {f"z{n}": rng.normal(size=(n, n)) + 1j * rng.normal(size=(n, n)) for n in (256, 512)}
    for code in OWN_SIZE:
        spaces = {
            name: {key: np.array(z) for key, z in grids.items()} | {"np": np} for name, np in modules.items()
        }
        yield Row(
            "single", code, AS_RECORDED, {name: compiled(code, space) for name, space in spaces.items()}
        )


def reader(result):
    """Return a function that reads an element of each array in a result like this; None without arrays."""
    if isinstance(result, numpy.ndarray):
        return methodcaller("item", 0) if result.size else None
    if isinstance(result, numpy.generic):
        return methodcaller("item")
    if not isinstance(result, (list, tuple)):
        return None
    parts = [(at, read) for at, read in enumerate(map(reader, result)) if read]

    def read_all(result):
        for at, read in parts:
            read(result[at])

    return read_all if parts else None


def timed(run, read, count):
    """Return the seconds that `count` calls take, including reading their results."""
    start = time.perf_counter()
    if read is None:
        for _ in range(count):
            run()
    else:
        for _ in range(count):
            read(run())
    return time.perf_counter() - start


def settled(run, read, pause):
    """Call until everything is compiled and cached, and return how many calls fill a round."""
    least = timed(run, read, 1)
    for _ in range(6):
        least = min(least, timed(run, read, 5) / 5)
    time.sleep(pause)
    least = min(least, timed(run, read, 5) / 5)
    return max(1, round(ROUND / least))


def measure_row(row, rounds):
    """Return the shortest seconds of a call under both, or None if NumPy refuses the call."""
    try:
        read = reader(row.runs["numpy"]())
    except Exception:
        return None  # errors are tested elsewhere; how long they take does not matter
    counts = {
        name: settled(run, read, 0.02 if row.size == SIZES[-1] else 0.0) for name, run in row.runs.items()
    }
    least = dict.fromkeys(row.runs, float("inf"))
    for attempt in range(3):
        for _ in range(rounds * (attempt + 1)):
            for name, run in row.runs.items():
                least[name] = min(least[name], timed(run, read, counts[name]) / counts[name])
        if least["numpy"] / least["numelt"] > 1.1 * SLOW:
            break  # otherwise other processes may have interfered: the next attempt has more rounds
    return least


def measure(candidate, rounds=15, only=""):
    """Measure all calls whose name contains `only`; returns a row of figures for each call and size."""
    modules, found = {"numpy": numpy, "numelt": candidate}, []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for make in (parity_rows, single_rows, surface_rows):
            for row in make(modules):
                if only not in row.name:
                    continue
                gc.collect(0)
                gc.disable()
                least = measure_row(row, rounds)
                gc.enable()
                if least is None:
                    continue
                ratio = least["numpy"] / least["numelt"]
                figures = {
                    "numpy_us": least["numpy"] * 1e6,
                    "numelt_us": least["numelt"] * 1e6,
                    "ratio": ratio,
                }
                found.append({"group": row.group, "name": row.name, "size": row.size, **figures})
    return found


def explanations():
    """Return the reasons why calls are slow, by the names of the calls."""
    reasons = tomllib.loads(EXPLAINED.read_text())["reasons"]
    return {name: reason["why"] for reason in reasons for name in reason["calls"]}


def lowest(rows):
    """Return the rows of each call, those with the lowest ratio first."""
    calls = {}
    for row in rows:
        calls.setdefault((row["group"], row["name"]), []).append(row)
    return sorted(calls.items(), key=lambda item: min(row["ratio"] for row in item[1]))


def verdict(rows):
    """Return the names of slow calls without explanation, and of explained calls that are not slow."""
    known, unexplained = explanations(), []
    best = {}
    for (_, name), own in lowest(rows):
        ratio = min(row["ratio"] for row in own)
        best[name] = min(ratio, best.get(name, ratio))
        if ratio < SLOW and name not in known:
            unexplained.append(name)
    recovered = [name for name in known if best.get(name, RECOVERED) >= RECOVERED]
    return unexplained, recovered


def summary(rows):
    """Render the geometric mean for each set and size."""
    lines = []
    for group, (label, _) in GROUPS.items():
        for size in (*SIZES, AS_RECORDED):
            ratios = [row["ratio"] for row in rows if (row["group"], row["size"]) == (group, size)]
            if ratios:
                slow = sum(ratio < SLOW for ratio in ratios)
                lines.append(
                    (label, cell(size), len(ratios), f"{timing.mean(ratios):.2f}", slow, f"{min(ratios):.2f}")
                )
    return timing.table(("calls", "elements", "number", "geometric mean", f"below {SLOW}", "lowest"), lines)


def cell(size):
    """Render a size."""
    return f"{size:,}" if isinstance(size, int) else size


def page(rows):
    """Render the tables of all calls, the slowest first."""
    known, parts = explanations(), []
    for group, (_, title) in GROUPS.items():
        lines = []
        for (kind, name), own in lowest(rows):
            if kind == group:
                figures = [
                    f"{row['numpy_us']:.2f} / {row['numelt_us']:.2f} = {row['ratio']:.2f}" for row in own
                ]
                why = known.get(name, "") if min(row["ratio"] for row in own) < SLOW else ""
                sizes = figures if own[0]["size"] == SIZES[0] or group == "surface" else [*figures, "", ""]
                lines.append((f"`{name}`".replace("|", "\\|"), *sizes, why))
        sizes = (AS_RECORDED,) if group == "surface" else map(cell, SIZES)
        parts.append(f"### {title}\n\n{timing.table(('call', *sizes, 'why below 0.8'), lines)}")
    return "\n\n".join(parts)


def text(rows):
    """Render the summary, the slow calls without an explanation, and the explanations that are not needed."""
    unexplained, recovered = verdict(rows)
    parts = [summary(rows)]
    if unexplained:
        parts.append(f"Below {SLOW} and not explained: {', '.join(f'`{name}`' for name in unexplained)}.")
    if recovered:
        parts.append(f"Explained, but slow no more: {', '.join(f'`{name}`' for name in recovered)}.")
    return "\n\n".join(parts)
