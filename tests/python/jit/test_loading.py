"""``python -m numelt --jit-loops``: programs print the same as without the option."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import numpy as np
from helpers import smooth

values = np.linspace(0, 1, 50)
total = 0.0
for i in range(len(values)):
    if i % 3 == 0:
        continue
    total += values[i] * i
    if total > 500:
        break
print(repr(total), i)


class Walk:
    __steps = 7

    def run(self, n):
        x = 1
        for k in range(n):
            x = (x * self.__steps + k) % 1009
        return x


print(Walk().run(1000))
print(smooth(values).sum())
print(sorted(name for name in globals() if not name.startswith("__")))
for i in range(3):
    print(values[40 + i * 5])
"""

HELPERS = """
import numpy as np


def smooth(a):
    b = a.copy()
    for i in range(1, len(a) - 1):
        b[i] = (a[i - 1] + a[i] + a[i + 1]) / 3
    return b
"""


def run(folder, *options, **settings):
    command = [sys.executable, "-m", "numelt", *options, "program.py"]
    environment = {**os.environ, **settings}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "helpers.py").write_text(HELPERS)
    return tmp_path


@pytest.mark.parametrize("way", ["option", "setting"])
def test_programs_print_the_same(folder, way):
    wanted = run(folder)
    assert "IndexError" in wanted.stderr
    got = run(folder, "--jit-loops") if way == "option" else run(folder, NUMELT_JIT_LOOPS="1")
    assert got.stdout == wanted.stdout
    assert got.stderr == wanted.stderr
    assert got.returncode == wanted.returncode == 1


def test_errors_of_syntax_are_pythons(folder):
    (folder / "program.py").write_text("for i in range(3)\n    pass\n")
    assert run(folder, "--jit-loops").stderr == run(folder).stderr


TOLD = """
import sys

import numpy as np


def half(x):
    return x / 2


def sums(a):
    s = 0.0
    for i in range(len(a)):
        s += half(a[i])
    return s


a = np.linspace(0, 1, 40_000)
print(sums(a), sums(a))
"""
# the modules that use syntax trees, and whether the loops have run compiled
REPORT = """
print([name for name in ("twin", "lower") if f"numelt._jit.{name}" in sys.modules], file=sys.stderr)
print(any(r["runs"] for u in __numelt_units__ for r in u.report()["variants"]), file=sys.stderr)
"""


def runs(folder, count, **settings):
    """Run the program this many times; return the report of each run."""
    settings = {"NUMELT_CACHE_DIR": str(folder / "cache"), **settings}
    made = [run(folder, "--jit-loops", **settings) for _ in range(count)]
    assert [one.stdout for one in made] == [run(folder).stdout] * count
    return [one.stderr.splitlines() for one in made]


def test_twins_are_kept_on_disk(folder):
    (folder / "program.py").write_text(TOLD.replace("half(a[i])", "a[i] / 2") + REPORT)
    assert runs(folder, 2) == [["['twin', 'lower']", "True"], ["[]", "True"]]
    # a loop that calls a function needs the file's tree, not the twin
    (folder / "program.py").write_text(TOLD + REPORT)
    assert runs(folder, 2) == [["['twin', 'lower']", "True"], ["['lower']", "True"]]


def test_twins_belong_to_a_text_and_a_name(folder):
    (folder / "program.py").write_text(TOLD)
    runs(folder, 2)
    (folder / "program.py").write_text(TOLD.replace("x / 2", "x / 4"))
    runs(folder, 2)
    (folder / "program.py").write_text(TOLD + "\n\nnothing\n")
    (folder / "other.py").write_text(TOLD + "\n\nnothing\n")
    first = run(folder, "--jit-loops", NUMELT_CACHE_DIR=str(folder / "cache"))
    assert "program.py" in first.stderr
    (folder / "program.py").rename(folder / "before.py")
    (folder / "other.py").rename(folder / "program.py")
    assert run(folder, "--jit-loops", NUMELT_CACHE_DIR=str(folder / "cache")).stderr == first.stderr


def test_what_others_wrote_is_not_read(folder):
    (folder / "program.py").write_text(TOLD + REPORT)
    runs(folder, 1)
    kept = [path for path in (folder / "cache").rglob("*.o") if b"__numelt_units__" in path.read_bytes()]
    assert kept
    for path in kept:
        data = bytearray(path.read_bytes())
        data[-200] ^= 1
        path.write_bytes(data)
    assert runs(folder, 2)[0][0] == "['twin', 'lower']"


def test_the_main_file_warns_in_each_run(folder):
    (folder / "program.py").write_text("for i in range(3):\n    print(i is 2)\n")
    settings = {"NUMELT_CACHE_DIR": str(folder / "cache")}
    wanted = run(folder)
    assert "SyntaxWarning" in wanted.stderr
    for _ in range(2):
        assert run(folder, "--jit-loops", **settings).stderr == wanted.stderr
        assert run(folder, "--jit-loops", **settings, PYTHONWARNINGS="ignore").stderr == ""


TARGETS = """
class Box:
    pass

def variables(n):
    box, total, kept = Box(), 0, []
    for i in range(n):
        for k, *rest in [(i, 1, 2), (i,)]:
            total += k
            kept.append(rest)
            for box.x in range(3):
                total += box.x * len(rest)
        for [p, [*q, z]] in [[1, [2, 3]]]:
            total += p * z
    return total, box.x, rest, kept[-2:], q

print(variables(20000))
for first, *others in [(1, 2, 3), "ab"] * 5000:
    total = 0
    for j in range(len(others)):
        total += j
print(first, others, total)
"""


def test_variables_of_loops_may_have_a_star_or_be_attributes(folder):
    (folder / "program.py").write_text(TARGETS)
    wanted, got = run(folder), run(folder, "--jit-loops", NUMELT_JIT="sync")
    assert (got.stdout, got.stderr) == (wanted.stdout, "")


MANY_FILES = """
import ast, gc
from importlib import import_module

for k in range(12):
    print(import_module(f"part{k}").total(200000))
trees = sum(type(each) is ast.Module for each in gc.get_objects())
assert 0 < trees < 6, trees
"""

PART = """
def square(i):
    return i * i + {k}


def total(n):
    total = 0
    for i in range(n):
        total += square(i)
    return total
"""


def test_few_syntax_trees_are_kept(folder):
    """The collector of garbage looks at each object of a tree, again and again."""
    (folder / "program.py").write_text(MANY_FILES)
    for k in range(12):
        (folder / f"part{k}.py").write_text(PART.format(k=k))
    wanted = [f"{sum(i * i + k for i in range(200000))}" for k in range(12)]
    for _ in range(2):  # the second process finds the twins on the disk
        got = run(folder, "--jit-loops", NUMELT_JIT="sync", NUMELT_CACHE_DIR=str(folder / "cache"))
        assert (got.stdout.split(), got.stderr) == (wanted, "")
