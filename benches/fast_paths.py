"""Measures what each fast path of numelt gains.

Calls on five elements and loops over a hundred are timed with the path and without it.

``python benches/fast_paths.py`` prints a table. Processes with and without a path (``NUMELT_FAST_PATHS``)
take turns, and each figure is the shortest time of all rounds. A path that gains less than 5 % of the time of
its calls is not worth its code. The last rows have no path, because numelt writes only to its own types.
"""

import argparse
import json
import os
import subprocess
import sys
import timeit

PATHS = {
    "slots": ["a + b", "2.0 * a", "a[1]", "m[0]", "m[0, 1]", "a[0] = 1.0", "list(v)", "list(w)"],
    "calls": [
        "np.add(a, b)", "np.sqrt(a)", "a.sort()", "a.take(1)", "g.normal()", "a.reshape(5, 1)", "a.ravel()",
        "m.transpose()", "a.squeeze()", "a.item(1)", "a.tolist()", "a.fill(1.0)", "a.astype('f4')",
    ],
    "functions": ["np.sort(a)", "np.linalg.norm(a)", "np.linalg.norm(m)"],
    "objects": ["a + b", "a[1:]", "a.T", "np.zeros(5)", "np.sqrt(a)"],
}  # fmt: skip

# a NumPy number on the left of an array, and a name looked up in the package
WITHOUT = ["s * a", "a * s", "i + a", "s < a", "np.add"]

SETUP = """
import numpy, numelt as np
a = np.arange(1.0, 6.0); b = a + 1; m = np.ones((3, 4)); g = np.random.default_rng(1)
s = numpy.float64(2); i = numpy.int64(2)
v = np.arange(100.0); w = np.ones((100, 3))
"""


def nanoseconds(statement):
    """Return the shortest time of a statement."""
    timer = timeit.Timer(statement, SETUP)
    timer.timeit(2000)
    return min(timer.repeat(15, 4000)) / 4000 * 1e9


def measured(statements, paths):
    """Return the times of statements in a process with certain fast paths."""
    command = [sys.executable, __file__, "--only", json.dumps(statements)]
    environment = {**os.environ, "NUMELT_FAST_PATHS": paths}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def least(rounds):
    """Return the shortest time of each statement."""
    return [min(times) for times in zip(*rounds, strict=True)]


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description="What each fast path into numelt's own types buys.")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--only", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.only:
        print(json.dumps([nanoseconds(statement) for statement in json.loads(options.only)]))
        return
    print("| path | statement | without, ns | with, ns | gain |\n| --- | --- | --- | --- | --- |")
    for path, statements in PATHS.items():
        others = ",".join(other for other in PATHS if other != path)
        rounds = [(measured(statements, others), measured(statements, "1")) for _ in range(options.rounds)]
        without, with_it = (least(times) for times in zip(*rounds, strict=True))
        for statement, off, on in zip(statements, without, with_it, strict=True):
            print(f"| {path} | `{statement}` | {off:.0f} | {on:.0f} | {1 - on / off:.0%} |")
    for statement, time in zip(WITHOUT, least([measured(WITHOUT, "1") for _ in range(2)]), strict=True):
        print(f"| none | `{statement}` |  | {time:.0f} |  |")


if __name__ == "__main__":
    main()
