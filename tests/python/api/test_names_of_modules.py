"""The namespaces of numelt's modules contain the same names as NumPy's, because programs copy them."""

import importlib
import subprocess
import sys
import types

import numpy
import pytest

import numelt

# names that only numelt's own namespace has
OWN = {
    "Profile", "UntestedLibraryWarning", "compat",
    "Coverage", "FallbackError", "FallbackWarning", "config", "coverage", "engine", "explain", "extension",
    "filters", "flush", "inspect", "install", "jit", "lazy", "load_ipython_extension",
    "profile", "tools", "use",
    # operators for functions of elements, which a star import does not import
    "allpairs", "do_while", "filter", "guvectorize", "imap", "map", "reduce", "scan", "stencil",
}  # fmt: skip

MODULES = [
    "char", "core", "ctypeslib", "dtypes", "emath", "exceptions", "fft", "lib", "lib.array_utils",
    "lib.format", "lib.introspect", "lib.mixins", "lib.npyio", "lib.scimath", "lib.stride_tricks",
    "linalg", "ma", "ma.extras", "ma.mrecords", "matlib", "matrixlib", "polynomial",
    "polynomial.chebyshev", "polynomial.polynomial", "random", "rec", "strings", "testing", "typing",
    "version",
]  # fmt: skip


def pair(name):
    numpys = importlib.import_module(f"numpy.{name}") if name != "emath" else numpy.emath
    ours = importlib.import_module(f"numelt.{name}") if name != "emath" else numelt.emath
    return ours, numpys


def public(module):
    return {name for name in vars(module) if not name.startswith("_")}


def hooks(module):
    """Return the names of callables with two underscores on each side."""
    return {name for name, value in vars(module).items() if name.startswith("__") and callable(value)}


def test_package():
    own = {name for name in dir(numelt) if not name.startswith("_")} - set(dir(numpy))
    assert own - public(numpy) == OWN
    assert public(numelt) - public(numpy) <= OWN
    # modules that NumPy loads on request are found on request
    missing = public(numpy) - public(numelt)
    assert all(isinstance(vars(numpy)[name], types.ModuleType) for name in missing)
    # `__getattr__` is found, but is not in the namespace: with it, CPython would not cache lookups of names
    assert hooks(numpy) - hooks(numelt) <= {"__getattr__"}
    assert hooks(numelt) <= hooks(numpy)
    for name in set(vars(numpy)) & set(vars(numelt)):
        if name.startswith("__") and name not in {"__doc__", "__name__", "__all__", "__builtins__"}:
            assert callable(vars(numelt)[name]) == callable(vars(numpy)[name]), name
    assert callable(numelt.__getattr__)
    for name in ("_NoValue", "_CopyMode", "_mat"):
        assert getattr(numelt, name) is getattr(numpy, name)


@pytest.mark.parametrize("name", MODULES)
def test_modules(name):
    ours, numpys = pair(name)
    assert public(ours) == public(numpys)
    assert hooks(ours) <= hooks(numpys)
    for shared in public(numpys):
        assert callable(vars(ours)[shared]) == callable(vars(numpys)[shared]), shared


@pytest.mark.parametrize("module", [numelt, numelt.linalg, numelt.random, numelt.fft, numelt.lib, numelt.ma])
@pytest.mark.parametrize("name", ["sinn", "__sinn__", "_sinn", "__wrapped__", "__late__"])
def test_unknown_names_are_refused(module, name):
    message = f"module '{module.__name__}' has no attribute '{name}'"
    with pytest.raises(AttributeError, match=message) as error:
        getattr(module, name)
    assert error.value.name == name


COPYING = """
import numpy as np
for name, value in vars(np).items():
    if callable(value):
        globals()[name] = value
"""

PROGRAM = """
import copying
from copying import *

def names(module):
    try:
        return module.__all__
    except AttributeError as error:
        return "refused"

assert names(copying) == "refused"
assert sin(0.0) == 0.0 and type(zeros(2)) is ndarray
assert "pi" not in globals() and "linalg" not in globals()
for name in ("pi", "nothing_of_that_name"):
    try:
        getattr(copying, name)
    except AttributeError:
        continue
    raise AssertionError(name)
print("done")
"""


@pytest.mark.parametrize("launcher", [["-m", "numelt"], []])
def test_copied_namespaces_hold_no_more(tmp_path, launcher):
    """A module that copies callables, as autograd does, finds no other names: NumPy's module does not
    either."""
    (tmp_path / "copying.py").write_text(COPYING)
    (tmp_path / "program.py").write_text(PROGRAM)
    run = subprocess.run(
        [sys.executable, *launcher, tmp_path / "program.py"], capture_output=True, text=True, check=False
    )
    assert (run.returncode, run.stdout) == (0, "done\n"), run.stderr


def test_modules_of_the_program_have_no_hooks():
    """Only numelt's own modules find missing names by `__late__`; a program's module with it does not."""
    module = types.ModuleType("module")
    module.__late__ = lambda name: 1
    with pytest.raises(AttributeError, match="module 'module' has no attribute 'x'"):
        module.x
    module.__getattr__ = lambda name: name
    assert module.x == "x"


def test_no_builtin_is_hidden_by_a_star_import():
    assert not {"map", "filter", "reduce"} & set(numelt.__all__)
