"""``python -m numelt --jit-loops``: programs print what they print without."""

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
