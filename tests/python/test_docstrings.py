"""The examples in the docstrings run, and every native function has one."""

import doctest
import importlib
import pkgutil

import numpy
import pytest

import numelt
from numelt._dispatch import NATIVE

MODULES = ["numelt._routines." + m.name for m in pkgutil.iter_modules(numelt._routines.__path__)]
MODULES += ["numelt._coverage", "numelt._inspection", "numelt._library", "numelt._objects", "numelt.random"]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name, recorded):
    module = importlib.import_module(name)
    finder = doctest.DocTestFinder(recurse=False)
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    with numpy.printoptions(legacy=False):
        for key, value in list(vars(module).items()):
            # a mirrored function has NumPy's docstring
            mirrored = hasattr(value, "__wrapped__") or hasattr(value, "_original")
            if callable(value) and key in module.__all__ and not mirrored and value.__doc__:
                for example in finder.find(value, key):
                    example.globs = {}
                    runner.run(example)
    assert runner.failures == 0


@pytest.mark.parametrize("function", NATIVE.values(), ids=lambda f: f.__name__)
def test_documented(function):
    assert ">>>" in function.__doc__
    assert not function.__doc__.startswith("\n")
