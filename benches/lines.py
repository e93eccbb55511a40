"""Lists the lines of a program that lose the most time under numelt.

    python benches/lines.py program.py [arguments]
    python benches/lines.py steps.kalman_matrices [size]

The first form runs a file from beginning to end, the second one runs a program of benches/fields. Each is run
alternately under NumPy and numelt, every time in a new process. Before each statement of the program's own
file, a call is inserted that reads the clock; the time since the last such call is attributed to the line
that ran. These calls cost the same under NumPy and numelt, so their cost cancels out in the difference. Code
inside libraries is not traced at all. The time of a line is the shortest of all rounds.

Operations that numelt records are computed when their values are read, and the time is attributed to the line
that reads them.
"""

import argparse
import ast
import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
import time
import types
from pathlib import Path

FIELDS = Path(__file__).with_name("fields")
IMPORT = "import numpy as np\n"
# names of the functions that the instrumented program calls
BEFORE, ENTER, LEAVE = "__line_starts__", "__function_starts__", "__function_ends__"


class Clock:
    """Nanoseconds and visits by line."""

    def __init__(self):
        self.nanoseconds, self.visits = {}, {}
        self.line, self.since = 0, time.perf_counter_ns()

    def before(self, line):
        """Note that a statement begins."""
        now = time.perf_counter_ns()
        self.nanoseconds[self.line] = self.nanoseconds.get(self.line, 0) + now - self.since
        self.visits[line] = self.visits.get(line, 0) + 1
        self.line = line
        self.since = time.perf_counter_ns()

    def enter(self):
        """Return the line that called a function."""
        return self.line

    def leave(self, line):
        """Note that a function has ended; the following time is attributed to the line that called it."""
        now = time.perf_counter_ns()
        self.nanoseconds[self.line] = self.nanoseconds.get(self.line, 0) + now - self.since
        self.line = line
        self.since = time.perf_counter_ns()

    def names(self):
        """Return the functions that the instrumented program calls, by name."""
        return {BEFORE: self.before, ENTER: self.enter, LEAVE: self.leave}


def _call(name, *args):
    return ast.Call(ast.Name(name, ast.Load()), list(args), [])


class Instrument(ast.NodeTransformer):
    """Inserts calls that read the clock."""

    def statements(self, body):
        """Return the statements, each preceded by a call that states its line."""
        told = []
        for statement in body:
            call = ast.Expr(_call(BEFORE, ast.Constant(statement.lineno)))
            told += [ast.copy_location(call, statement), self.visit(statement)]
        return told

    def generic_visit(self, node):
        """Insert calls into every list of statements."""
        for field, value in ast.iter_fields(node):
            if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
                setattr(node, field, self.statements(value))
            elif isinstance(value, list):
                for item in value:
                    if isinstance(item, ast.AST):
                        self.visit(item)
        return node

    def visit_Module(self, node):
        """Leave `from __future__` imports, and the docstring before them, at the beginning."""
        first = [ast.get_docstring(node) is not None and node.body[0]]
        first += [s for s in node.body if isinstance(s, ast.ImportFrom) and s.module == "__future__"]
        node.body = [s for s in first if s] + self.statements([s for s in node.body if s not in first])
        return node

    def visit_FunctionDef(self, node):
        """Return to the caller's line when the function ends."""
        saved = ast.Assign([ast.Name("__caller_line__", ast.Store())], _call(ENTER))
        restored = ast.Expr(_call(LEAVE, ast.Name("__caller_line__", ast.Load())))
        guarded = ast.Try(self.statements(node.body), [], [], [restored])
        node.body = [ast.copy_location(saved, node.body[0]), ast.copy_location(guarded, node.body[0])]
        return node


def instrumented(source, path):
    """Return the code of a program with calls that read the clock."""
    tree = Instrument().visit(ast.parse(source, str(path)))
    return compile(ast.fix_missing_locations(tree), str(path), "exec")


def locate(target):
    """Return the file of a target, and the name of the program in it if it is a program of benches/fields."""
    if target.endswith(".py"):
        return Path(target).resolve(), None
    module, _, name = target.partition(".")
    return FIELDS / f"{module}.py", name


def run(target, package, arguments):
    """Run a program in this process; return its clock."""
    path, name = locate(target)
    source, clock = path.read_text(), Clock()
    module = types.ModuleType("__main__" if name is None else path.stem)
    module.__dict__.update(clock.names(), __file__=str(path))
    if name is None:
        sys.argv, sys.path[0] = [str(path), *arguments], str(path.parent)
        sys.modules["__main__"] = module
        with contextlib.redirect_stdout(io.StringIO()):
            exec(instrumented(source, path), module.__dict__)
        clock.before(0)
        return clock
    source = source.replace(IMPORT, f"import {package} as np\n")
    exec(instrumented(source, path), module.__dict__)
    make = getattr(module, name)
    program = make(int(arguments[0]) if arguments else module.PROGRAMS[make][1])
    program()
    clock.nanoseconds.clear()
    clock.visits.clear()
    program()
    clock.before(0)
    return clock


def child(target, package, arguments):
    """Run a program in a new process; return nanoseconds and visits by line."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "lines.json"
        hook = ["-m", "numelt"] if package == "numelt" and target.endswith(".py") else []
        command = [sys.executable, *hook, __file__, "--child", str(out), package, target, *arguments]
        subprocess.run(command, check=True, env=os.environ)
        found = json.loads(out.read_text())
    return [{int(line): value for line, value in part.items()} for part in found]


def compare(target, arguments, rounds):
    """Return nanoseconds by package and line, and visits by line."""
    best, visits = {"numpy": {}, "numelt": {}}, {}
    for _ in range(rounds):
        for package, least in best.items():
            times, visits = child(target, package, arguments)
            for line, value in times.items():
                least[line] = min(value, least.get(line, value))
    return best, visits


def report(target, best, visits, most):
    """Return the lines that lose the most time, as text."""
    path, _ = locate(target)
    source = path.read_text().splitlines()
    theirs, ours = best["numpy"], best["numelt"]
    lost = {line: ours.get(line, 0) - theirs.get(line, 0) for line in {*theirs, *ours} if line}
    text = [f"{'line':>5} {'visits':>8} {'NumPy, ms':>10} {'numelt, ms':>10} {'lost, ms':>9} {'us each':>8}"]
    for line in sorted(lost, key=lost.get, reverse=True)[:most]:
        count = max(visits.get(line, 0), 1)
        times = f"{theirs.get(line, 0) / 1e6:10.2f} {ours.get(line, 0) / 1e6:10.2f} {lost[line] / 1e6:9.2f}"
        each = f"{lost[line] / 1e3 / count:8.2f}"
        text.append(f"{line:>5} {count:>8} {times} {each}  {source[line - 1].strip()[:80]}")
    totals = [sum(value for line, value in times.items() if line) / 1e6 for times in (theirs, ours)]
    text.append(f"{'all':>5} {'':>8} {totals[0]:10.2f} {totals[1]:10.2f} {totals[1] - totals[0]:9.2f}")
    return "\n".join(text)


def main():
    """Run and print."""
    if sys.argv[1:2] == ["--child"]:
        out, package, target, *arguments = sys.argv[2:]
        clock = run(target, package, arguments)
        Path(out).write_text(json.dumps([clock.nanoseconds, clock.visits]))
        return
    parser = argparse.ArgumentParser(description="List the lines of a program that lose most under numelt.")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each; the least time counts")
    parser.add_argument("--most", type=int, default=15, help="lines to list")
    parser.add_argument("target", help="a file, or a program of benches/fields as in steps.kalman_matrices")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="the file's, or the program's size")
    options = parser.parse_args()
    best, visits = compare(options.target, options.arguments, options.rounds)
    print(report(options.target, best, visits, options.most))


if __name__ == "__main__":
    main()
