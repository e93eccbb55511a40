"""Measures the papers' programs: numelt against NumPy, and against the limits of the machine.

The bytes are those that numelt's kernels read and write, each array once per kernel. The operations are those
of the program, where a library function counts as 20. The share of the limit is the larger one of two ratios:
bytes per second over the highest bandwidth that NumPy reached in the same run, and operations per second over
those of NumPy's matrix product. Programs whose arrays stay in a cache can exceed the bandwidth of memory.
"""

import math

import numpy

import limits
import programs
import timing

FUNCTIONS = {
    *("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "sinh", "cosh", "tanh"),
    *("arcsin", "arccos", "arctan", "arctan2", "arcsinh", "arccosh", "arctanh"),
    *("power", "float_power", "cbrt", "hypot", "erf"),
}
FUNCTION_COST = 20
# instructions that multiply and add
PRODUCT_COST = 2
# instructions without arithmetic
FREE = {
    *("copy", "fill", "range", "where", "gather"),
    *("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"),
}


def operations(elements):
    """Return the number of floating-point operations, from the counts of an inspection."""
    cost = dict.fromkeys(FUNCTIONS, FUNCTION_COST) | dict.fromkeys(FREE, 0) | {"matmul": PRODUCT_COST}
    return sum(count * cost.get(op, 1) for op, count in elements.items())


def inspected(candidate, run):
    """Return bytes moved and operations of one run."""
    candidate.flush()
    with candidate.inspect() as seen:
        timing.force(run())
        candidate.flush()
    return seen.bytes_moved, sum(operations(flush["elements"]) for flush in seen.flushes)


def share(row, ceilings, seconds, threads):
    """Return the larger one of the shares of bandwidth and arithmetic."""
    best = max(ceilings[f"{p}_{threads}"] for p in ("copy", "add", "read"))
    flops = ceilings["product"] / (timing.cores() if threads == "1" else 1)
    return max(row["bytes"] / seconds / best, row["operations"] / seconds / flops)


def measure_one(candidate, make, size, ceilings, rounds):
    """Return the figures of one program."""
    runs = {"numpy": make(numpy, size), "candidate": make(candidate, size)}
    correct = bool(timing.agree(timing.force(runs["candidate"]()), runs["numpy"]()))
    timing.settle(runs["candidate"])
    row = {"name": make.__name__, "size": size, "correct": correct}
    row["bytes"], row["operations"] = inspected(candidate, runs["candidate"])
    times = timing.measure(runs, rounds, 0.003)
    row |= {"numpy_ms": times["numpy"] * 1e3, "candidate_ms": times["candidate"] * 1e3}
    row["speedup"] = times["numpy"] / times["candidate"]
    row["share"] = share(row, ceilings, times["candidate"], "all")
    candidate.config.threads = 1
    try:
        alone = make(candidate, size)
        timing.settle(alone)
        seconds = timing.measure({"alone": alone}, rounds, 0.003)["alone"]
    finally:
        candidate.config.threads = 0
    row["one_thread_ms"], row["one_thread_share"] = seconds * 1e3, share(row, ceilings, seconds, "1")
    return row


def measure(candidate, rounds=5, only=""):
    """Return the ceilings and one row per program and size."""
    ceilings, rows = limits.measure(), []
    for make, sizes in programs.PROGRAMS.items():
        for kind, size in zip(("small", "large"), sizes, strict=True):
            if only in make.__name__:
                row = measure_one(candidate, make, size, ceilings, rounds) | {"kind": kind}
                rows.append(row)
                wrong = "" if row["correct"] else "  WRONG"
                print(
                    f"{row['name']:20s} {size:>10,} NumPy {row['numpy_ms']:9.3f} ms"
                    f"  numelt {row['candidate_ms']:9.3f} ms  x{row['speedup']:6.2f}"
                    f"  {row['share']:5.0%} of the limit{wrong}",
                    flush=True,
                )
    return {"ceilings": ceilings, "rows": rows}


def text(found):
    """Render the limits and the programs."""
    head = [
        *("program", "size", "NumPy, ms", "numelt, ms", "times NumPy", "MB moved", "GB/s", "Gop/s"),
        *("of the limit", "1 thread, ms", "of its limit"),
    ]
    lines = []
    for row in found["rows"]:
        seconds = row["candidate_ms"] / 1e3
        lines.append(
            (
                row["name"],
                f"{row['size']:,}",
                f"{row['numpy_ms']:.2f}",
                f"{row['candidate_ms']:.2f}",
                f"{row['speedup']:.2f}",
                f"{row['bytes'] / 1e6:,.1f}",
                f"{row['bytes'] / seconds / 1e9:.1f}",
                f"{row['operations'] / seconds / 1e9:.1f}",
                f"{row['share']:.0%}",
                f"{row['one_thread_ms']:.2f}",
                f"{row['one_thread_share']:.0%}",
            )
        )
    means = []
    for kind in ("small", "large"):
        own = [row["speedup"] for row in found["rows"] if row["kind"] == kind]
        if own:
            means.append(f"{kind} {timing.mean(own):.2f}")
    parts = [limits.text(found["ceilings"]), timing.table(head, lines)]
    return "\n\n".join([*parts, f"Geometric mean of the speed-ups: {', '.join(means)}."])


def correct(found):
    """Tell whether all results agreed with NumPy's."""
    return all(row["correct"] for row in found["rows"]) and not any(
        math.isnan(row["speedup"]) for row in found["rows"]
    )
