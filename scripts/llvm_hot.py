r"""Write crates/llvm/src/hot.txt: prefixes of the names of LLVM's functions that run to compile kernels.

These functions are linked next to each other, so that compiling loads half as much of LLVM into memory. First
build with symbols (``NUMELT_LLVM_SYMBOLS=1``) and compile all kinds of kernels under valgrind:

    NUMELT_JIT=sync NUMELT_CACHE_DIR= NUMELT_AT_ONCE=0 NUMELT_PIECEMEAL=0 \
        valgrind --tool=callgrind --callgrind-out-file=calls python programs.py
    python scripts/llvm_hot.py calls python/numelt/libnumelt_llvm.so
"""

import re
import subprocess
import sys
from pathlib import Path

OUT = Path(__file__).resolve().parent.parent / "crates" / "llvm" / "src" / "hot.txt"
# the cost of a line of the file, and of a hot function that no line covers, in bytes of functions
LINE, MISSING = 2000, 8000


def executed(calls, library):
    """Return the readable names of those functions of the library that ran, from callgrind's output."""
    objects, functions, ran, current = {}, {}, set(), ""
    for line in Path(calls).read_text().splitlines():
        found = re.match(r"(c?)(ob|fn)=\((\d+)\)(?: (.*))?", line)
        if not found:
            continue
        called, kind, number, name = found.groups()
        table = objects if kind == "ob" else functions
        if name:
            table[number] = re.sub(r"'\d+$", "", name.strip())
        if kind == "ob" and not called:
            current = objects[number]
        elif kind == "fn" and not called and Path(current).name == Path(library).name:
            ran.add(functions[number])
    return ran


def symbols(library, *options):
    """Return name and size of each function by address."""
    text = subprocess.run(
        ["nm", "-S", "--defined-only", *options, library], capture_output=True, text=True, check=True
    ).stdout
    rows = [line.split(" ", 3) for line in text.splitlines()]
    return {row[0]: (row[3], int(row[1], 16)) for row in rows if len(row) == 4 and row[2] in "tTwW"}


def beginnings(names, sizes, hot, shared=0):
    """Return the cost of covering the hot functions among sorted names, and prefixes that do so."""
    if not any(name in hot for name in names):
        return 0, []
    missing = sum(sizes[name] + MISSING for name in names if name in hot)
    if len(names) == 1:
        return min((missing, []), (LINE, [names[0][: max(shared, 1)]]))
    first, last = names[0], names[-1]
    end = next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))
    groups = {}
    for name in names:
        groups.setdefault(name[end : end + 1], []).append(name)
    parts = [beginnings(group, sizes, hot, end + 1) for group in groups.values()]
    apart = sum(cost for cost, _ in parts), [line for _, lines in parts for line in lines]
    cold = sum(sizes[name] for name in names if name not in hot)
    return min(apart, (LINE + cold, [first[:end]]), (missing, []), key=lambda choice: choice[0])


def main(calls, library):
    """Write the file."""
    ran = executed(calls, library)
    readable = symbols(library, "-C")
    sizes, hot = {}, set()
    for address, (name, size) in symbols(library).items():
        sizes[name] = size
        if readable[address][0] in ran:
            hot.add(name)
    _, lines = beginnings(sorted(sizes), sizes, hot)
    OUT.write_text("\n".join(lines) + "\n")
    print(f"{len(hot)} of {len(sizes)} functions ran; {len(lines)} lines")


if __name__ == "__main__":
    sys.setrecursionlimit(10_000)
    main(*sys.argv[1:])
