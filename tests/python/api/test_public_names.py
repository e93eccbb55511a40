"""Every public name of NumPy is in numelt, and means the same thing."""

import importlib
import inspect
import json
import operator
import subprocess
import sys
import types

import numpy
import pytest

import numelt

pytestmark = pytest.mark.quick


MODULES = [
    "char", "ctypeslib", "dtypes", "exceptions", "fft", "lib", "lib.array_utils", "lib.format",
    "lib.introspect", "lib.mixins", "lib.npyio", "lib.scimath", "lib.stride_tricks", "linalg", "ma",
    "ma.extras", "polynomial", "polynomial.chebyshev", "polynomial.hermite", "polynomial.hermite_e",
    "polynomial.laguerre", "polynomial.legendre", "polynomial.polynomial", "random", "rec", "strings",
    "testing", "typing", "version",
]  # fmt: skip


def public(module):
    return [name for name in dir(module) if not name.startswith("_")]


@pytest.mark.parametrize("name", public(numpy))
def test_name_exists(name):
    theirs, ours = getattr(numpy, name), getattr(numelt, name)
    if isinstance(theirs, numpy.ufunc):
        assert isinstance(ours, numelt.ufunc)
        assert ours.__name__ == theirs.__name__
        assert (ours.nin, ours.nout) == (theirs.nin, theirs.nout)
    elif isinstance(theirs, types.ModuleType):
        assert isinstance(ours, types.ModuleType)
    elif callable(theirs):
        assert callable(ours)
        assert ours.__doc__
    elif isinstance(theirs, (int, float, str, bool, type(None))):
        assert ours == theirs or ours != ours


@pytest.mark.parametrize("module", MODULES)
def test_submodule(module):
    theirs = importlib.import_module(f"numpy.{module}")
    ours = importlib.import_module(f"numelt.{module}")
    assert [name for name in public(theirs) if not hasattr(ours, name)] == []
    assert ours.__name__ == f"numelt.{module}"


def test_names_can_be_walked_through():
    # Each package is examined in an interpreter of its own, in which nothing has been looked up yet. In the
    # process of the tests, modules that others imported (numpy.ma.mrecords) have become names of their
    # packages.
    code = """if True:
        import importlib, json, sys
        package, *names = sys.argv[1:]
        modules = {name: importlib.import_module(f"{package}.{name}") for name in names}
        print(json.dumps({name: list(vars(module)) for name, module in modules.items()}))
    """

    def names(package):
        run = [sys.executable, "-c", code, package, *MODULES]
        return json.loads(subprocess.run(run, check=True, capture_output=True, text=True).stdout)

    ours = names("numelt")
    for module, theirs in names("numpy").items():
        assert {name for name in theirs if not name.startswith("_")} <= set(ours[module])


def test_all_names():
    space = {}
    exec("from numelt import *", space)
    assert set(numpy.__all__) - set(space) == {"__version__"} & set(numpy.__all__) - set(space)
    assert space["ndarray"] is numelt.ndarray


def test_import_forms():
    code = """
import numelt.linalg as la
from numelt.lib.stride_tricks import sliding_window_view
from numelt import fft, random as r
from numelt.random import default_rng
from numelt.testing import assert_allclose
import numelt
assert type(la.inv(numelt.eye(2))) is numelt.ndarray
assert type(sliding_window_view(numelt.arange(5), 2)) is numelt.ndarray
assert type(fft.fft(numelt.ones(4))) is numelt.ndarray
assert type(default_rng(1).random(3)) is numelt.ndarray
assert type(r.rand(2)) is numelt.ndarray
assert_allclose(numelt.ones(2), [1, 1])
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_one_object_per_name():
    assert numelt.linalg is sys.modules["numelt.linalg"]
    assert numelt.abs is numelt.absolute
    assert numelt.linalg.norm is numelt.linalg.norm
    assert numelt.concat is numelt.concatenate
    assert numelt.ufunc is type(numelt.add)


def test_classes_pass_through():
    assert numelt.float64 is numpy.float64
    assert numelt.dtype is numpy.dtype
    assert issubclass(numelt.errstate, numpy.errstate)
    assert isinstance(numpy.ones(2), numelt.ndarray)
    assert isinstance(numelt.ones(2), numelt.ndarray)
    assert not isinstance([1], numelt.ndarray)
    assert isinstance(numpy.sin, numelt.ufunc)
    assert issubclass(numelt.matrix, numelt.ndarray)


def test_subclasses_are_numpys():
    class Named(numelt.ndarray):
        def __new__(cls, data, name):
            self = numelt.asarray(data).view(cls)
            self.name = name
            return self

        def __array_finalize__(self, other):
            self.name = getattr(other, "name", None)

    x = Named([1.0, 2.0], "n")
    assert (x * 2).name == "n"
    assert isinstance(x[:1], Named)
    assert isinstance(x, numelt.ndarray)
    assert isinstance(numelt.asarray(x), numelt.ndarray)


@pytest.mark.parametrize(
    "name", ["sum", "mean", "zeros", "concatenate", "reshape", "linspace", "var", "roll", "stack", "eye"]
)
def test_signatures_agree(name):
    ours = inspect.signature(getattr(numelt, name))
    theirs = inspect.signature(getattr(numpy, name))
    assert list(ours.parameters) == list(theirs.parameters)


def test_methods_of_arrays():
    missing = [
        name for name in dir(numpy.ndarray) if not name.startswith("_") and not hasattr(numelt.ndarray, name)
    ]
    assert missing == []


def test_functions_have_numpys_names():
    for name in ("sum", "sort", "einsum", "linspace"):
        function = getattr(numelt, name)
        assert function.__name__ == name
        assert function.__module__ == "numpy"


def test_versions():
    assert numelt.__version__ == numpy.__version__
    assert numelt.__numelt_version__


def test_unknown_name():
    with pytest.raises(AttributeError, match="module 'numelt' has no attribute 'nothing'"):
        numelt.nothing
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("numelt.nothing")


@pytest.mark.parametrize("name", ["chararray", "lib.math"])
def test_deprecated_names_warn_at_the_users_line_each_time(name):
    for _ in range(2):
        with pytest.warns(DeprecationWarning, match="deprecated") as caught:
            operator.attrgetter(name)(numelt)
        assert [w.filename for w in caught] == [__file__]


def test_fewer_dimensions_than_nested_lists_have():
    for data in ([1, 2, 3], [[1, 2, 3], [4, 5, 6]], [[1, 2, 3], [4, 5]]):
        for ndmax in (0, 1):
            ours, theirs = (np.array(data, ndmax=ndmax, dtype=object) for np in (numelt, numpy))
            assert ours.shape == theirs.shape
            assert ours.tolist() == theirs.tolist()
