"""Objects of a program's own classes that become arrays by ``__array__``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

CLASSES = """
import numpy as np
class Cell:
    def __init__(self, values):
        self.values = np.array(values, dtype=float)
    def __array__(self, dtype=None, copy=None):
        return self.values if dtype is None else self.values.astype(dtype)
class Own(Cell):
    "It has methods of the names of functions."
    def sum(self, axis=None, out=None):
        return "own sum"
class Long(Cell):
    def __len__(self):
        return len(self.values)
class Claiming(Cell):
    def __array_function__(self, function, types, args, kwargs):
        return function.__name__
class Carrying(Cell):
    def __array_ufunc__(self, ufunc, method, *args, **kwargs):
        return ufunc.__name__
class Wrapping(Cell):
    def __array_wrap__(self, array, context=None, scalar=False):
        return "wrapped", array.shape
class Refusing(Cell):
    __array_ufunc__ = None
    def __radd__(self, other):
        return "radd"
class Failing:
    def __array__(self, dtype=None, copy=None):
        raise KeyError("no array")
class Answering(Cell):
    def __radd__(self, other):
        return "answered"
x = np.arange(3.0)
"""

RESULTS = """
def show(*results):
    for r in results:
        print(type(r).__name__, getattr(r, "dtype", None), getattr(r, "shape", None), r)
for cell in Cell([[1, 2, 3], [4, 5, 6], [7, 8, 10]]), Own(np.eye(3)), Long(np.eye(3)):
    show(np.dot((1, 2, 3), cell), np.dot(x, cell), np.dot(cell, x))
    show(x + cell, x @ cell, x - cell, x < cell, x == cell, np.add(x, cell), np.sin(cell))
    show(np.sum(cell), np.sum(cell, axis=0), np.mean(cell), np.max(cell))
    show(np.linalg.norm(cell), np.linalg.inv(cell), np.maximum(cell, 2))
    show(np.concatenate([cell, cell]), np.where(x > 0, cell, 0), np.allclose(cell, cell))
    show(np.einsum("ij,j", cell, x))
    show(np.add.reduce(cell), np.multiply.outer(x, cell).shape, np.tile(cell, 2))
    show(np.asarray(cell) is cell.values)
    y = np.zeros((3, 3)); y[:] = cell; show(y)
    y[1] = Cell([7, 8, 9]); y[[0, 2]] = Cell(1); y[y > 8] = Cell([5]); y += cell; show(y)
    k = np.arange(9).reshape(3, 3); k[...] = cell; show(k)
    show(np.add(x, cell, out=np.zeros((3, 3))), np.add.at(y, 1, Cell(2)), y, np.copyto(y, cell), y)
    view = np.reshape(cell, 9); view[0] = 77; show(view, cell.values)
big = Long(np.arange(5000.0))
show(np.sum(np.sqrt(big) + big), np.dot(big, big), (np.arange(5000.0) * big).sum())
class Changing(Cell): pass
c = Changing([1, 2, 3]); show(np.sin(c))
Changing.__array_ufunc__ = lambda s, u, *a, **k: "changed"; show(np.sin(c))
show(np.dot(x, Claiming([1, 2, 3])), x + Claiming([1, 2, 3]), np.sin(Carrying([1])), x + Carrying([1]))
show(np.sin(Wrapping([1, 2])), x[:2] + Wrapping([1, 2]), x + Refusing([1]), x + Answering([1, 2, 3]))
def attempt(run):
    try:
        show(run())
    except Exception as error:
        print(type(error).__name__, error)
f = Failing()
for run in (lambda: np.sin(f), lambda: x + f, lambda: np.dot(x, f), lambda: np.sum(f)):
    attempt(run)
attempt(lambda: np.linalg.norm(f))
attempt(lambda: np.sin(Refusing([1])))
attempt(lambda: np.dot(x, Cell(np.ones((2, 2)))))
attempt(lambda: x.__setitem__(slice(None), f))
attempt(lambda: x.__setitem__(0, Cell(5.0)))
attempt(lambda: x.__setitem__(0, Cell([5.0, 6.0])))
attempt(lambda: np.zeros(2).__setitem__(slice(None), Cell([1, 2, 3])))
show(x)
"""

# objects whose `__array__` returns an array of a class derived from NumPy's, or of NumPy's or numelt's own
DERIVED = """
class Held(Cell):
    def __init__(self, values):
        self.values = values
class Derived(np.ndarray):
    pass
masked = np.ma.array([1, 2, 3], mask=[0, 1, 0])
for values in masked, np.arange(3).view(Derived), np.matrix([[1, 2]]), np.arange(3):
    held = Held(values)
    print(np.asanyarray(held) is values, np.asarray(held) is values)
    made = [np.asanyarray(held), np.asanyarray(held, dtype=float), np.asarray(held)]
    made += [np.asanyarray(held, order="F"), np.array(held, subok=True)]
    made += [np.array(held, subok=True, ndmin=3), np.array(held), np.array([held])]
    for array in made:
        print(type(array).__name__, array.dtype, array.shape, array.sum())
print(type(np.asanyarray(np.float64(3))).__name__, type(np.asanyarray(range(3))).__name__)
"""

# fails if a call goes through the package's Python code for fallbacks
AT_ONCE = """
from numelt._dispatch import fallback
def refuse(*args):
    raise AssertionError("a fallback in Python")
fallback.uncounted = refuse
c, y = Cell(np.eye(3)), np.zeros((3, 3))
np.dot((1, 2, 3), c), np.dot(x, c), np.dot(c, x), x + c, x @ c, np.add(x, c), np.sin(c), np.maximum(c, 0)
np.linalg.norm(c), np.where(x > 0, c, 0), np.einsum("ij,j", c, x), np.concatenate([c, c])
np.sum(c), np.mean(c)
y[:] = c
"""


def run(tmp_path: Path, program: str, *options: str) -> str:
    path = tmp_path / "program.py"
    path.write_text(CLASSES + program)
    command = [sys.executable, *options, str(path)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.mark.core
@pytest.mark.parametrize("options", [[], ["--jit-loops"]], ids=["", "loops"])
def test_results_are_numpys(tmp_path: Path, options: list[str]) -> None:
    assert run(tmp_path, RESULTS, "-m", "numelt", *options) == run(tmp_path, RESULTS)


def test_an_import_of_numelt_gives_the_same(tmp_path: Path) -> None:
    under = (CLASSES + RESULTS).replace("import numpy as np", "import numelt as np")
    path = tmp_path / "imports.py"
    path.write_text(under)
    made = subprocess.run([sys.executable, str(path)], check=True, capture_output=True, text=True).stdout
    assert made == run(tmp_path, RESULTS)


def test_arrays_of_derived_classes_pass(tmp_path: Path) -> None:
    expected = run(tmp_path, DERIVED)
    assert run(tmp_path, DERIVED, "-m", "numelt") == expected
    under = (CLASSES + DERIVED).replace("import numpy as np", "import numelt as np")
    path = tmp_path / "imports.py"
    path.write_text(under)
    command = [sys.executable, str(path)]
    assert subprocess.run(command, check=True, capture_output=True, text=True).stdout == expected


def test_calls_need_no_python_code(tmp_path: Path) -> None:
    run(tmp_path, AT_ONCE, "-m", "numelt")
