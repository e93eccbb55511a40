"""Arrays of classes derived from `np.ndarray`: functions, operators and views return what NumPy returns."""

import operator
import subprocess
import sys
import warnings

import numpy
import pytest

import numelt

pytestmark = pytest.mark.core


def classes(np):
    """Return the classes of the program, written with `np`."""

    class Plain(np.ndarray):
        pass

    class Wrapping(np.ndarray):
        def __array_finalize__(self, other):
            self.unit = getattr(other, "unit", "m")

        def __array_wrap__(self, out, context=None, return_scalar=False):
            made = np.ndarray.__array_wrap__(self, out, context, return_scalar)
            if context is not None and isinstance(made, np.ndarray):
                made.made_by = context[0].__name__
            return made

    class Units(np.ndarray):
        unit = None

        def __array_finalize__(self, other):
            self.unit = getattr(other, "unit", None)

        def __array_ufunc__(self, ufunc, method, *inputs, out=None, **kwargs):
            plain = [x.view(np.ndarray) if isinstance(x, Units) else x for x in inputs]
            if out is not None:
                kwargs["out"] = tuple(x.view(np.ndarray) if isinstance(x, Units) else x for x in out)
            result = getattr(ufunc, method)(*plain, **kwargs)
            if not isinstance(result, np.ndarray):
                return result
            made = result.view(Units)
            made.unit = "product" if ufunc is np.multiply else f"{method} {ufunc.__name__}"
            return made

    class Ending(np.ndarray):
        def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
            plain = [x.view(np.ndarray) if isinstance(x, Ending) else x for x in inputs]
            made = super().__array_ufunc__(ufunc, method, *plain, **kwargs)
            return made.view(Ending) if isinstance(made, np.ndarray) and ufunc in {np.add: 1} else made

    class Asked(np.ndarray):
        def __array_function__(self, func, types, args, kwargs):
            if func is np.sum:
                return "sum"
            if func in {np.convolve, np.fft.fft, np.linalg.inv, np.broadcast_to}:
                return func.__name__
            return super().__array_function__(func, types, args, kwargs)

    class Derived(Wrapping):
        pass

    return {cls.__name__: cls for cls in (Plain, Wrapping, Units, Ending, Asked, Derived)}


BOTH = {np.__name__: (np, classes(np)) for np in (numpy, numelt)}
NAMES = [*BOTH["numpy"][1]]

CALLS = {
    "s + s": lambda np, s, x: s + s,
    "s * x": lambda np, s, x: s * x,
    "x * s": lambda np, s, x: x * s,
    "2 - s": lambda np, s, x: 2 - s,
    "s > x": lambda np, s, x: s > x,
    "x == s": lambda np, s, x: x == s,
    "-s": lambda np, s, x: -s,
    "s += x": lambda np, s, x: operator.iadd(s, x),
    "x += s": lambda np, s, x: operator.iadd(x, s),
    "sqrt": lambda np, s, x: np.sqrt(s),
    "add": lambda np, s, x: np.add(x, s),
    "add out": lambda np, s, x: np.add(x, 1, out=s),
    "add out x": lambda np, s, x: np.add(s, 1, out=x),
    "where": lambda np, s, x: np.multiply(s, 2, out=np.zeros_like(s), where=s > 1),
    "reduce": lambda np, s, x: np.add.reduce(s),
    "accumulate": lambda np, s, x: np.multiply.accumulate(s),
    "outer": lambda np, s, x: np.add.outer(x[:2], s[:3]),
    "at": lambda np, s, x: np.add.at(s, [0, 0], 1),
    "modf": lambda np, s, x: np.modf(s),
    "sum": lambda np, s, x: np.sum(s),
    "sum axis": lambda np, s, x: np.sum(s, axis=0, keepdims=True),
    "s.sum": lambda np, s, x: s.sum(),
    "s.mean": lambda np, s, x: s.mean(),
    "mean": lambda np, s, x: np.mean(s),
    "max": lambda np, s, x: np.max(s),
    "argmax": lambda np, s, x: np.argmax(s),
    "any": lambda np, s, x: np.any(s > 3),
    "where(c, s, x)": lambda np, s, x: np.where(x > 2, s, x),
    "where(s)": lambda np, s, x: np.where(s > 2),
    "clip": lambda np, s, x: np.clip(s, 1, 2),
    "roll": lambda np, s, x: np.roll(s, 1),
    "concatenate": lambda np, s, x: np.concatenate([s, x]),
    "stack": lambda np, s, x: np.stack((x, s)),
    "zeros_like": lambda np, s, x: np.zeros_like(s),
    "full_like": lambda np, s, x: np.full_like(s, 3),
    "dot": lambda np, s, x: np.dot(x, s),
    "matmul": lambda np, s, x: s @ x,
    "sort": lambda np, s, x: np.sort(s),
    "cumsum": lambda np, s, x: np.cumsum(s),
    "diff": lambda np, s, x: np.diff(s),
    "interp": lambda np, s, x: np.interp(1.5, s, x),
    "norm": lambda np, s, x: np.linalg.norm(s),
    "fft": lambda np, s, x: np.fft.fft(s),
    "convolve": lambda np, s, x: np.convolve(s, x),
    "inv": lambda np, s, x: np.linalg.inv(s[:1].reshape(1, 1) + 1),
    "broadcast_to": lambda np, s, x: np.broadcast_to(s, (2, *s.shape)),
    "asarray": lambda np, s, x: np.asarray(s),
    "asarray f4": lambda np, s, x: np.asarray(s, dtype="f4"),
    "asanyarray": lambda np, s, x: np.asanyarray(s),
    "array": lambda np, s, x: np.array(s),
    "array subok": lambda np, s, x: np.array(s, subok=True),
    "view": lambda np, s, x: s.view(np.ndarray),
    "view type": lambda np, s, x: s.view(type=np.ndarray),
    "view own": lambda np, s, x: s.view(type(s)),
    "view dtype": lambda np, s, x: s.view("i8"),
    "x.view": lambda np, s, x: x.view(type(s)),
    "x.view type": lambda np, s, x: x.view(type=type(s)),
    "x[1:].view": lambda np, s, x: x[1::2].view(type(s)),
    "0-d view": lambda np, s, x: np.array(2.0).view(type(s)) + 1,
    "empty view": lambda np, s, x: np.zeros((0, 3)).view(type(s)) * 2,
    "broadcast": lambda np, s, x: s[:, None] * x,
    "backwards": lambda np, s, x: s[::-1] + x,
    "overlapping": lambda np, s, x: operator.setitem(s, slice(1, None), s[:-1] + 1),
    "x[s]": lambda np, s, x: x[s > 2],
    "x[s] =": lambda np, s, x: operator.setitem(x, s > 2, 0),
    "x[1:] = s": lambda np, s, x: operator.setitem(x, slice(1, None), s[1:]),
    "s[1:] = x": lambda np, s, x: operator.setitem(s, slice(1, None), x[1:]),
    "s[x]": lambda np, s, x: s[x > 2],
    "ndarray.sum": lambda np, s, x: np.ndarray.sum(s),
    "ndarray.__add__": lambda np, s, x: np.ndarray.__add__(s, x),
    "repr": lambda np, s, x: repr(s),
    "allclose": lambda np, s, x: np.allclose(s, x),
    "copyto": lambda np, s, x: np.copyto(x, s + 1),
    "einsum": lambda np, s, x: np.einsum("i,i->", s, x),
    "unique": lambda np, s, x: np.unique(s),
    "tensordot": lambda np, s, x: np.tensordot(s, x, 1),
}


def told(np, value):
    """Return what can be compared of a result: class, dtype, values and the attributes of the class."""
    if isinstance(value, tuple | list):
        return [told(np, item) for item in value]
    if isinstance(value, np.ndarray):
        plain = numpy.asarray(value)
        attributes = getattr(value, "__dict__", None)
        return type(value).__name__, str(plain.dtype), plain.shape, plain.tolist(), attributes
    if isinstance(value, numpy.generic):
        return type(value).__name__, value.tolist()
    return value


def outcome(package, name, call):
    np, kinds = BOTH[package]
    base = np.arange(6.0) + 0.5
    s, x = base.copy().view(kinds[name]), base * 1.5
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            result = told(np, CALLS[call](np, s, x))
        except Exception as error:
            result = type(error).__name__
    return result, told(np, s), told(np, x)


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("name", NAMES)
def test_results(name, call):
    ours, theirs = outcome("numelt", name, call), outcome("numpy", name, call)
    assert repr(ours) == repr(theirs)


def test_memory_is_shared():
    kinds = BOTH["numelt"][1]
    x = numelt.zeros(4)
    s = x.view(kinds["Wrapping"])
    x += 1
    assert s.tolist() == [1, 1, 1, 1]
    s[1] = 5
    assert x.tolist() == [1, 5, 1, 1]
    plain = s.view(numelt.ndarray)
    assert type(plain) is numelt.ndarray
    plain *= 2
    assert s.tolist() == x.tolist() == [2, 10, 2, 2]
    again = numelt.asarray(s)
    again[0] = 7
    assert float(s[0]) == float(x[0]) == 7


def test_ufuncs_that_a_class_is_asked_with():
    """A class compares the ufunc with the program's: by `is`, in a tuple, as a key of a dictionary."""
    asked = []

    class Noting(numelt.ndarray):
        def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
            asked.append(ufunc)
            plain = [x.view(numelt.ndarray) if isinstance(x, Noting) else x for x in inputs]
            return getattr(ufunc, method)(*plain, **kwargs)

    class Further(Noting):
        def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
            asked.append(ufunc)
            return super().__array_ufunc__(ufunc, method, *inputs, **kwargs)

    for cls in (Noting, Further):
        s = numelt.ones(3).view(cls)
        asked.clear()
        assert (s * 2).tolist() == [2, 2, 2]
        assert numelt.sqrt(s).tolist() == [1, 1, 1]
        assert numpy.add(s, 1).tolist() == [2, 2, 2]
        times = 1 if cls is Noting else 2
        expected = [ufunc for ufunc in (numelt.multiply, numelt.sqrt, numelt.add) for _ in range(times)]
        assert len(asked) == len(expected)
        assert all(found is wanted for found, wanted in zip(asked, expected, strict=True))


def test_classes_of_numpys_own():
    for make in (numpy.ma.masked_array, numpy.matrix, lambda data: numpy.array(data).view(numpy.recarray)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            s = make([[1.0, 4.0], [9.0, 16.0]])
        x = numelt.ones((2, 2))
        for result in (numelt.sqrt(s), s + x, numelt.sum(s, axis=0), numelt.concatenate([s, s])):
            assert isinstance(result, numelt.ndarray)
        assert type(numelt.sqrt(s)) is type(s)


def test_calls_are_counted():
    s = numelt.arange(3.0).view(BOTH["numelt"][1]["Plain"])
    numelt.coverage(reset=True)
    numelt.roll(s, 1)
    numelt.hypot(s, 1)
    assert {"roll", "hypot"} <= {entry.function for entry in numelt.coverage().fallbacks}


def test_arrays_that_a_class_keeps():
    """An array that `__array_finalize__` gets may be kept: it stays valid after the call."""
    kept = []

    class Keeping(numelt.ndarray):
        def __array_finalize__(self, other):
            kept.append(other)

    x = numelt.arange(4.0)
    s = x.view(Keeping)
    made = s * x
    x += 1
    del x
    assert [numpy.asarray(array).tolist() for array in kept[:1]] == [[1.0, 2.0, 3.0, 4.0]]
    assert made.tolist() == [0.0, 1.0, 4.0, 9.0]


CALLS_OF_FUNCTIONS = """
import {package} as np

class Plain(np.ndarray):
    pass

class Mixed:
    def __array_function__(self, func, types, args, kwargs):
        assert all(issubclass(kind, np.ndarray) for kind in types)
        return super().__array_function__(func, types, args, kwargs)

def late(self, func, types, args, kwargs):
    return super(Late, self).__array_function__(func, types, args, kwargs)

class Late(np.ndarray):
    pass

a = np.arange(3.0)
plain, late_array = a.view(Plain), a.view(Late)
results = [np.concatenate([plain, a]), np.zeros_like(plain)]

class First(np.ndarray):
    pass

class Second(First):
    def __array_function__(self, func, types, args, kwargs):
        return super().__array_function__(func, types, args, kwargs)

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        assert ufunc is np.add
        plain = [np.asarray(x) if isinstance(x, Second) else x for x in inputs]
        return super().__array_ufunc__(ufunc, method, *plain, **kwargs)

class Both(Mixed, np.ndarray):
    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        assert ufunc is np.add
        plain = [x.view(np.ndarray) if isinstance(x, Both) else x for x in inputs]
        return super().__array_ufunc__(ufunc, method, *plain, **kwargs)

Late.__array_function__ = late
results += [np.concatenate([late_array, a]), np.concatenate([a, late_array]), np.zeros_like(late_array)]

class Inheriting(Mixed, np.ndarray):
    pass

mixed = a.view(Inheriting)
results += [np.concatenate([mixed, a]), np.concatenate([a, mixed])]
results += [np.zeros_like(mixed), np.zeros_like(plain)]
second, both = a.view(Second), a.view(Both)
results += [np.concatenate([second, a]), np.concatenate([a, second]), np.zeros_like(second)]
results += [second + a, a + second, second + second]
results += [np.concatenate([both, a]), np.zeros_like(both), both + a, a + both]
own_method = Plain.__array_function__ is {numpys}.ndarray.__array_function__
print(own_method, [(type(made).__name__, made.tolist()) for made in results])
"""


def test_super_accepts_our_functions_in_classes_with_a_protocol():
    """Classes without one keep NumPy's method, whatever other classes there are: NumPy does not call it."""
    outputs = [
        subprocess.run(
            [sys.executable, "-c", CALLS_OF_FUNCTIONS.format(package=package, numpys=numpys)],
            capture_output=True, text=True, check=True,
        ).stdout
        for package, numpys in [("numpy", "np"), ("numelt", "__import__('numpy')")]
    ]  # fmt: skip
    assert outputs[0] == outputs[1]
    assert outputs[0].startswith("True")
