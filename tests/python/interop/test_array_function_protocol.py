"""Classes with ``__array_function__`` are called whenever NumPy calls them; libraries know our class."""

import inspect
import pickle
import sys
import types
from collections.abc import Iterator
from typing import Any

import numpy
import pytest

import numelt
from numelt.compat.numpy_ import teach_view
from numelt.tools import unpickling


class Duck:
    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return ("asked", func.__name__, len(args), sorted(kwargs))


class Derived(numpy.ndarray):
    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return ("asked", func.__name__, len(args), sorted(kwargs))


def _functions() -> Iterator[tuple[str, str]]:
    for space, module in (("", numpy), ("linalg", numpy.linalg), ("fft", numpy.fft)):
        for name in dir(module):
            if not name.startswith("_") and hasattr(getattr(module, name), "_implementation"):
                yield space, name


def _calls(function: Any, value: Any) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Yield arguments with the value at each position and for each name; the others are arrays."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except ValueError:
        return
    required = [p for p in parameters if p.kind in (0, 1) and p.default is p.empty]
    for p in parameters:
        if p in required:
            at = required.index(p)
            yield [value if i == at else None for i in range(len(required))], {}
        elif p.kind == p.VAR_POSITIONAL:
            yield [*[None] * len(required), value], {}
        elif p.kind != p.VAR_KEYWORD:
            yield [None] * len(required), {p.name: value}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("space", "name"), list(_functions()))
def test_whoever_numpy_asks_is_asked(space: str, name: str) -> None:
    numpys, ours = ((getattr(np, space) if space else np) for np in (numpy, numelt))
    derived = numpy.ones(3).view(Derived)
    for value in (Duck(), derived, [Duck()], [numpy.ones(3), derived], (derived,)):
        for args, kwargs in _calls(getattr(numpys, name), value):
            found = []
            for np, module in ((numpy, numpys), (numelt, ours)):
                arguments = [np.ones(3) if arg is None else arg for arg in args]
                try:
                    result = getattr(module, name)(*arguments, **kwargs)
                except Exception as error:
                    result = error
                asked = type(result) is tuple and result and type(result[0]) is str
                found.append(result if asked else None)
            # functions without dispatch may call others that have it
            if found[0] is not None and found[0][1] == getattr(numpys, name).__name__:
                assert found[1] is not None, (args, kwargs)
                assert found[0][1] == found[1][1]


@pytest.mark.parametrize("name", ["real", "imag", "copy", "tile", "put", "piecewise", "select", "diff"])
def test_classes_of_libraries_are_asked(name: str, monkeypatch: Any) -> None:
    module = types.ModuleType("some")
    module.__file__ = "/site-packages/some/array.py"
    monkeypatch.setitem(sys.modules, "some", module)
    text = "class Some(Duck):\n    def __array_function__(self, func, types, args, kwargs):\n"
    text += "        return 'asked', func is getattr(numpy, func.__name__)\n"
    vars(module).update(Duck=Duck, numpy=numpy)
    exec(compile(text, module.__file__, "exec"), vars(module))
    some = module.Some()
    x = numelt.ones(3)
    calls = {
        "tile": [(x, some)], "put": [(some, 1, 2), (x, 1, some)], "select": [([some], [x])],
        "piecewise": [(x, [some], [0.0]), (some, [], [])], "diff": [(some,), (x, 1, -1, some)],
    }  # fmt: skip
    for args in calls.get(name, [(some,)]):
        assert getattr(numelt, name)(*args) == ("asked", True)


def test_classes_of_libraries_know_our_class() -> None:
    class Some(numpy.ndarray):
        pass

    class Viewing(Some):
        def view(self, dtype: Any = None, type: Any = None) -> Any:
            return numpy.ndarray.view(self, dtype or type or self.dtype)

    for cls in (Some, Viewing):
        teach_view(cls)  # as is done with the classes that compat lists
        x = numpy.arange(4.0).view(cls)
        plain = x.view(numelt.ndarray)
        assert type(plain) is numelt.ndarray
        plain[0] = 7
        assert x[0] == 7
        assert type(x.view(type=numelt.ndarray)) is numelt.ndarray
        assert type(x.view(numpy.ndarray)) is numpy.ndarray
        assert x.view("i8").dtype == numpy.int64
        assert type(x.view("i8")) is cls
        assert type(x.view()) is cls
    assert list(inspect.signature(Viewing.view).parameters) == ["self", "dtype", "type"]


def test_classes_inherit_view_in_their_order() -> None:
    class Unit(numpy.ndarray):
        pass

    class Masked(numpy.ndarray):
        def view(self, *args: Any, **kwargs: Any) -> Any:
            seen.append(args)
            return super().view(*args, **kwargs)

    class Both(Unit, Masked):
        pass

    for cls in (Unit, Masked, Both):
        teach_view(cls)
    seen: list[Any] = []
    x = numpy.arange(2.0).view(Both)
    assert type(x.view(numelt.ndarray)) is numelt.ndarray
    assert type(x.view(Unit)) is Unit
    assert seen == [(numpy.ndarray,), (Unit,)]

    class Records(numpy.recarray, Masked):
        pass

    teach_view(Records)
    records = numpy.zeros(2, "i4,f8").view(Records)
    seen.clear()
    assert type(records.view(numelt.ndarray)) is numelt.ndarray
    assert seen == [(numpy.ndarray,)]


def test_units_of_astropy() -> None:
    units = pytest.importorskip("astropy.units")
    found = []
    for np in (numpy, numelt):
        q = np.arange(4.0) * units.m
        v = np.arange(3.0) * units.dimensionless_unscaled
        out = v.copy()
        fraction, whole = np.modf(v, out, v)
        assert whole is v
        with pytest.raises(TypeError, match="cannot handle"):
            np.piecewise(q.value, [q], [0.0])
        found.append(
            [np.copy(q), np.copy(q, subok=True), q.view(np.ndarray), fraction, np.diff(q, prepend=q[:1])]
        )
    for theirs, ours in zip(*found, strict=True):
        assert isinstance(ours, units.Quantity) == isinstance(theirs, units.Quantity)
        assert repr(theirs) == repr(ours)


class Refusing:
    """Behaves as an array, but supports none of NumPy's functions."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return numpy.asarray(self.value, dtype=dtype)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return NotImplemented


METHODS = """
x.put(at, two); x.put([0, 2], two); x.put(at, 9.0); x.take(at); x.take([1], axis=of(0)); x.dot(x1)
x.compress(mask); x.searchsorted(two); x.searchsorted(1.0, sorter=of([0, 1, 2, 3])); x.clip(x1, 5)
x.repeat(of(2)); x.choose([x1, two]); (x.astype(int) % 2).choose([x1, x1]); x.sum(where=mask)
x.prod(where=mask); x.max(where=mask, initial=0.0); x.round(of(0)); x.trace(of(0)); x.dot(x, out=x1)
x.reshape(at); x.partition(of(2)); x.fill(of(3.0)); x.all(where=mask)
"""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("size", [4, 4096])
@pytest.mark.parametrize(
    "call", [call.strip() for call in METHODS.replace("\n", ";").split(";") if call.strip()]
)
def test_methods_ask_no_class(call: str, size: int) -> None:
    found = []
    for np in (numpy, numelt):
        x = np.arange(float(size)) % 7
        names = {
            "x": x,
            "at": Refusing([0, 2]),
            "two": Refusing([1.0, 2.0]),
            "x1": Refusing(x),
            "of": Refusing,
        }
        names["mask"] = Refusing(numpy.arange(size) % 2 == 0)
        try:
            made = eval(call, names)
        except Exception as error:
            made = type(error), str(error).partition("0x")[0]
        found.append((getattr(made, "tolist", lambda made=made: made)(), x.tolist()))
    assert found[0] == found[1]


def test_like_of_a_class_of_a_library() -> None:
    units = pytest.importorskip("astropy.units")
    like = numpy.arange(2.0) * units.m
    for name in ("array", "asarray", "asanyarray", "ascontiguousarray"):
        assert isinstance(getattr(numelt, name)(numelt.arange(3), like=like), units.Quantity)


def test_scalars_that_hold_objects_are_read() -> None:
    value = numpy.array([(1, None, (2.5, "x"))], dtype=[("a", "i4"), ("b", "O"), ("c", "f8,O")])[0]
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        text = pickle.dumps(value, protocol)
        assert b"numelt" not in text
        for module in (pickle, unpickling.module):
            read = module.loads(text)
            assert type(read) is numpy.void
            assert read.item() == value.item()
