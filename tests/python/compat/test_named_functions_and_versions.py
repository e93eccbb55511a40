"""The names that compat uses exist in the installed libraries; untested versions cause a message."""

import functools
import importlib
import inspect
import subprocess
import sys
import types
import warnings
from typing import Any

import numpy
import pytest

import numelt
from numelt.compat import compiled, libraries, watching, wrapping

NAMES = [
    name
    for package in sorted(libraries.PACKAGES)
    for name in getattr(libraries.library(package), "WRAPPED", ())
]


@pytest.mark.parametrize("name", NAMES, ids=lambda name: f"{name.module}.{name.name}")
def test_every_wrapped_function_is_in_its_library(name: Any) -> None:
    pytest.importorskip(name.module.partition(".")[0])
    held = wrapping.find(importlib.import_module(name.module), name.name)[2]
    function = getattr(held, "__func__", held)
    assert vars(function)["__numelt__"] is True
    assert function.__wrapped__ is not None
    assert len(name.reason) > 10


def test_functions_without_arrays_are_left_as_they_are() -> None:
    arrow = pytest.importorskip("pyarrow.lib")
    compute = pytest.importorskip("pyarrow._compute")
    for function in (arrow.frombytes, arrow.tobytes, compute.FunctionRegistry.get_function):
        assert not hasattr(function, "__wrapped__")
    for function in (arrow.array, arrow.Tensor.from_numpy, compute.Function.call):
        assert function.__wrapped__ is not None


@pytest.mark.parametrize("package", sorted(libraries.PACKAGES))
def test_the_installed_version_is_a_tested_one(package: str) -> None:
    about = libraries.library(package)
    assert about.__name__ == f"numelt.compat.{libraries.PACKAGES[package]}"
    if about.TESTED is not None:
        module = pytest.importorskip(package)
        assert watching.is_tested(module.__version__, about.TESTED)
    for changed in getattr(about, "CHANGES", ()):
        pytest.importorskip(package)
        importlib.import_module(changed)


@pytest.mark.parametrize(
    ("version", "is_tested"),
    [
        ("3.1", True), ("3.1.0", True), ("3.1.7rc1", True), ("3.1.dev0+g1", True),
        ("3.2", False), ("3.0.9", False), ("4", False), ("2.99", False), ("unknown", False),
    ],
)  # fmt: skip
def test_versions_are_compared_by_their_numbers(version: str, is_tested: bool) -> None:
    assert watching.is_tested(version, ">=3.1,<3.2") is is_tested


OTHER_VERSION = """import warnings
import {first}
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import {second}
    import joblib.numpy_pickle
import numelt
told = [w for w in caught if w.category is numelt.UntestedLibraryWarning]
assert joblib.__version__ == "0.1"
assert len(told) == 1, caught
assert "joblib >=" in str(told[0].message) and "0.1" in str(told[0].message)
assert (told[0].filename, told[0].lineno) == (__file__, 5), told[0]
"""


@pytest.mark.parametrize(
    ("first", "second", "options"),
    [("numelt", "joblib", ()), ("joblib", "numelt", ()), ("csv", "joblib", ("-m", "numelt"))],
)
def test_another_version_is_told_of_once_where_it_is_imported(
    tmp_path: Any, first: str, second: str, options: tuple[str, ...]
) -> None:
    folder = tmp_path / "joblib"
    folder.mkdir()
    (folder / "__init__.py").write_text("__version__ = '0.1'\n")
    # a module without the names that are used
    (folder / "numpy_pickle.py").write_text("")
    program = tmp_path / "program.py"
    program.write_text(OTHER_VERSION.format(first=first, second=second))
    subprocess.run([sys.executable, *options, str(program)], check=True, cwd=tmp_path)


def test_what_adapts_is_loaded_with_the_first_library() -> None:
    code = """
import sys
import numelt
early = {"errstate", "libraries", "numpy_", "warning", "watching"}
def loaded():
    return {name.removeprefix("numelt.compat.") for name in sys.modules if name.startswith("numelt.compat.")}
assert loaded() == early
import csv, fractions, json
assert loaded() == early
import joblib
assert loaded() == early | {"joblib_", "wrapping", "compiled", "constructors", "fortran"}, loaded()
assert [finder.__module__ for finder in sys.meta_path if finder.__module__.startswith("numelt.")] == [
    "numelt.compat.watching", "numelt._namespace",
]
assert json.dumps([numelt.float64(1) + 1, numelt.arange(3.0).sum()]) == "[2.0, 3.0]"
"""
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("first", ["scipy.spatial.distance, pandas", "numelt"])
def test_libraries_may_be_imported_before_or_after(first: str) -> None:
    pytest.importorskip("pandas")
    pytest.importorskip("scipy")
    code = f"""
import {first}
import numelt, pandas, scipy.spatial.distance as distance
x, out = numelt.arange(6.0).reshape(3, 2), numelt.zeros(3)
assert distance.pdist(x, out=out) is out and out.sum() > 0
frame = pandas.DataFrame({{"a": numelt.arange(3)}})
assert type(frame["a"]._values) is not numelt.ndarray
assert (frame["a"] + numelt.arange(3)).tolist() == [0, 2, 4]
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_methods_of_all_kinds_are_wrapped() -> None:
    module: Any = types.ModuleType("some")

    class Held:
        def method(self, a: Any) -> Any:
            return type(a)

        @classmethod
        def of_class(cls, a: Any) -> Any:
            return cls, type(a)

        @staticmethod
        def of_none(a: Any) -> Any:
            return type(a)

    module.Held, module.function = Held, lambda a, *, b=None: (a, b)
    names = ["Held.method", "Held.of_class", "Held.of_none", "function", "gone", "Held.gone", "Gone.method"]
    for _ in range(2):  # it is wrapped only once
        wrapping.wrap_module(
            module, [wrapping.Name("some", name, wrapping.giving_back, "a test") for name in names]
        )
    x = numelt.ones(3)
    assert Held().method(x) is numpy.ndarray
    assert Held.of_class(x) == (Held, numpy.ndarray)
    assert Held.of_none(x) is Held().of_none(x) is numpy.ndarray
    given, held = module.function(x, b=[x, {"c": x}])
    assert given is x
    assert type(held[0]) is type(held[1]["c"]) is numpy.ndarray
    assert not hasattr(module.function.__wrapped__, "__wrapped__")


def test_modules_that_are_being_loaded_are_left_until_they_are() -> None:
    netcdf = pytest.importorskip("netCDF4")
    module = sys.modules[netcdf.Dataset.__module__]
    # it imports another compiled module; its own functions are defined later
    assert vars(module)["__numelt__"] is True
    assert compiled.adapt(module) == {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert hasattr(netcdf.stringtochar, "__wrapped__")


@pytest.mark.parametrize(
    "text",
    [
        "units.Quantity(np.arange(3.0), 'm')",
        "coordinates.Angle(np.arange(3.0), 'deg')",
        "table.Column(np.arange(3.0))",
        "table.NdarrayMixin(3)",
        "masked.Masked(np.arange(3.0))",
        "masked.Masked(units.Quantity(np.arange(3.0), 'm'))",
    ],
)
@pytest.mark.parametrize("keywords", [False, True])
def test_astropys_classes_know_our_class(text: str, keywords: bool) -> None:
    units, table = pytest.importorskip("astropy.units"), pytest.importorskip("astropy.table")
    masked = pytest.importorskip("astropy.utils.masked")
    coordinates = pytest.importorskip("astropy.coordinates")
    space = {"units": units, "table": table, "masked": masked, "coordinates": coordinates}
    kinds = []
    for np in (numpy, numelt):
        made = eval(text, {**space, "np": np})
        plain = made.view(type=np.ndarray) if keywords else made.view(np.ndarray)
        kinds.append(type(plain) in (np.ndarray, type(made)) and numpy.shares_memory(plain, made))
        kinds.append(type(plain) is type(made))
    assert kinds[:2] == kinds[2:]


_CIRCULAR = """
import sys
sys.path.insert(0, {folder!r})
from numelt.compat import libraries, wrapping
libraries.PACKAGES["circling"] = "circling_"
about = type(sys)("numelt.compat.circling_")
about.TESTED = None
about.WRAPPED = (wrapping.Name("circling.first", "call", wrapping.giving_back, "a test"),)
sys.modules[about.__name__] = about
import circling, circling.last
for module in circling, circling.first, circling.during, circling.last:
    assert hasattr(module.call, "__numelt__"), module
"""


def test_modules_that_import_a_wrapped_function_while_its_module_is_loaded(tmp_path: Any) -> None:
    """Modules that got the function before it was wrapped get the wrapper, as those that import it later."""
    package = tmp_path / "circling"
    package.mkdir()
    (package / "__init__.py").write_text("from circling.first import call\n")
    (package / "first.py").write_text("def call(): pass\nimport circling.during\n")
    (package / "during.py").write_text("from circling.first import call\n")
    (package / "last.py").write_text("from circling.first import call\n")
    program = _CIRCULAR.format(folder=str(tmp_path))
    subprocess.run([sys.executable, "-c", "import numelt\n" + program], check=True)


def test_wrappers_have_the_attributes_of_the_function() -> None:
    for function in (len, str.upper, numpy.ndarray.sum, functools.partial(int, base=2)):
        wrapped = wrapping.giving_back(function)
        expected = functools.wraps(function)(lambda *args: None)
        for name in ("__name__", "__qualname__", "__doc__", "__module__", "__wrapped__"):
            if hasattr(function, name) or name == "__wrapped__":
                assert getattr(wrapped, name) == getattr(expected, name), (function, name)
        assert inspect.unwrap(wrapped) is function
