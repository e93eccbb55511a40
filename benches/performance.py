"""Measures the figures of docs/performance.md, and writes them there and into benches/results/.

There are these parts: `workloads` (the papers' programs against NumPy and against the machine's limits),
`field` (programs of many fields), `calls` (every recorded call by itself, also written into docs/calls.md),
`sweep` (all array sizes), `cold` (first calls), `startup` (how much later programs begin), `memory` (the most
resident memory), `variants` (kernels with and without constants for their geometry), `jit` (compiled Python
loops against Numba and CPython), `loaded` (programs under `--jit-loops`) and `functions` (every elementwise
function; its table is in docs/accuracy.md). If a part is measured alone, the text of the others stays as it
is. The machine should be otherwise idle.
"""

import argparse
import sys
import time

import calls
import cold
import field
import functions
import jit_loops
import loaded
import memory
import numelt
import startup
import sweep
import timing
import variants
import workloads

DOCUMENT = timing.ROOT / "docs" / "performance.md"
PARTS = ("workloads", "field", "calls", "sweep", "cold", "startup", "memory", "variants", "jit", "loaded",
         "functions")  # fmt: skip
# parts whose text is in another document
DOCUMENTS = {"functions": timing.ROOT / "docs" / "accuracy.md"}


def measure(part, options):
    """Return the figures of one part and their text."""
    quick = options.quick
    if part == "sweep":
        rows = sweep.measure(numelt, 1 << 12 if quick else sweep.MOST, 3 if quick else options.rounds)
        if not options.dry:
            sweep.plot(rows, DOCUMENT.with_name("performance-sweep.svg"))
        return rows, sweep.text(rows) + "\n\n![numelt over NumPy by array size](performance-sweep.svg)"
    if part == "workloads":
        found = workloads.measure(numelt, 1 if quick else 5, options.only)
        if not workloads.correct(found):
            raise SystemExit("a result differs from NumPy's")
        return found, workloads.text(found)
    if part == "field":
        rows = field.measure(1 if quick else options.rounds, options.only)
        if not all(row["correct"] for row in rows):
            raise SystemExit("a result differs from NumPy's")
        return rows, field.text(rows)
    if part == "calls":
        rows = calls.measure(numelt, 3 if quick else 2 * options.rounds, options.only)
        if not options.dry:
            timing.replace(calls.DOCUMENT, "calls", calls.page(rows))
        return rows, calls.text(rows)
    if part == "cold":
        rows = cold.measure(1 if quick else 3, options.only)
        return rows, cold.text(rows)
    if part == "startup":
        rows = startup.measure(3 if quick else 15, options.only)
        return rows, startup.text(rows)
    if part == "memory":
        rows = memory.measure(quick, options.only)
        return rows, memory.text(rows)
    if part == "jit":
        rows = jit_loops.measure(1 if quick else options.rounds, options.only, quick)
        if not all(row["correct"] for row in rows):
            raise SystemExit("a result differs from CPython's")
        return rows, jit_loops.text(rows)
    if part == "loaded":
        rows = loaded.measure(1 if quick else min(options.rounds, 3), options.only)
        if not all(row["correct"] and row["equal"] for row in rows):
            raise SystemExit("a result with --jit-loops differs from that without it")
        return rows, loaded.text(rows)
    if part == "functions":
        rows = functions.measure(1 if quick else options.rounds, options.only)
        return rows, functions.text(rows)
    rows = variants.measure(1 if quick else options.rounds)
    return rows, variants.text(rows)


def main():
    """Measure and write."""
    parser = argparse.ArgumentParser(description="Time numelt against NumPy; write docs/performance.md.")
    parser.add_argument("--part", choices=PARTS, action="append", help="this part only (may be given again)")
    parser.add_argument("--only", default="", help="programs whose name contains this")
    parser.add_argument("--rounds", type=int, default=7, help="interleaved rounds; their median counts")
    parser.add_argument("--quick", action="store_true", help="small sizes and few rounds, to try the script")
    parser.add_argument("--dry", action="store_true", help="print the tables, write nothing")
    options = parser.parse_args()
    about = timing.circumstances()
    for part in options.part or PARTS:
        start = time.perf_counter()
        figures, text = measure(part, options)
        print(f"{part}: {time.perf_counter() - start:.0f} s", flush=True)
        if options.dry:
            print(text)
            continue
        where = f"{about['cpu']}, {about['cores']} cores, {about['date'][:10]}"
        timing.replace(
            DOCUMENTS.get(part, DOCUMENT), part, f"{where}, commit {about['versions']['commit']}.\n\n{text}"
        )
        print(f"written to {timing.keep(part, about | {'part': part, 'figures': figures})}")


if __name__ == "__main__":
    sys.exit(main())
