"""Classes derived from the array class: their hooks are called as by NumPy, and the results are the same."""

import numpy
import pytest

import numelt


def kind_of(value, package):
    """Return the name of a value's class without the package in which it is defined."""
    if value is None:
        return "None"
    if isinstance(value, (numpy.ndarray, numelt.ndarray)):
        is_plain = type(value) in (numpy.ndarray, numelt.ndarray)
        name = "array" if is_plain else type(value).__name__
        return name, value.shape, str(value.dtype), numpy.asarray(value).tolist()
    return type(value).__name__, str(value)


def classes(package, calls):
    """Return a class with the hooks of a view and of a result, and one that carries out ufuncs itself."""

    class Field(package.ndarray):
        def __new__(cls, data):
            return package.asarray(data).view(cls)

        def __array_finalize__(self, other):
            calls.append(("finalize", kind_of(other, package)[:1], self.shape))
            self.note = getattr(other, "note", "new")

        def __array_wrap__(self, out, context=None, return_scalar=False):
            names = context and (context[0].__name__, len(context[1]), context[2])
            calls.append(("wrap", kind_of(out, package)[0], names, return_scalar))
            return package.ndarray.__array_wrap__(self, out, context, return_scalar)

    class Length(package.ndarray):
        def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
            calls.append((ufunc is package.add, ufunc.__name__, method, len(inputs), sorted(kwargs)))
            plain = [x.view(package.ndarray) if isinstance(x, Length) else x for x in inputs]
            result = getattr(ufunc, method)(*plain, **kwargs)
            return result.view(Length) if isinstance(result, package.ndarray) else result

    return Field, Length


EXPRESSIONS = [
    "x.view(Field)", "x.view(Length)", "m[::2, ::-1].view(Field)", "x[:0].view(Field)", "z.view(Field)",
    "f.view(np.ndarray)", "f[1:].view(np.ndarray)", "f.view(Field)", "f.view(Length)", "np.asarray(f)",
    "np.asarray(f, dtype='f4')", "np.asarray(f[::-1])", "np.asarray(f.reshape(2, 3), order='F')",
    "np.asanyarray(f)", "np.asanyarray(f, dtype='f4')", "np.array(f)", "np.array(f, copy=False)",
    "np.array(f[::2])", "np.array(f, dtype=int, ndmin=2)", "np.array(f, subok=True)", "np.asarray(b)",
    "np.array(b)", "np.asarray(f + f)", "np.asanyarray(f + 1)", "f + f", "f + x", "x + f", "f + 1.0",
    "2 - f", "f > x", "x > f", "f @ f", "-f", "f * m[:, :1]", "m[:, :1] * f", "np.add(f, f)",
    "np.add(f, x)", "np.add(x, f)", "np.add(x, f, out=f)", "np.add(f, 1, dtype='f4')", "np.exp(f)",
    "np.divmod(f, 2.0)", "np.add(f, np.float64(2))", "np.maximum(f, [1, 2, 3, 4, 5, 6])",
    "np.add.reduce(f)", "np.multiply.outer(f, x)", "np.add.accumulate(f)", "f.sum()", "np.mean(f)",
    "f.max(axis=0)", "l + l", "l + x", "x + l", "l + f", "f + l", "np.add(l, 1)", "np.add(x, l)", "l > 2",
    "np.add.reduce(l)", "np.add(1, l, dtype='f4')", "np.divmod(l, 2.0)", "np.where(f > 2, f, 0.0)",
    "np.concatenate([f, x])", "np.dot(f, f)", "np.zeros_like(f)", "np.ones_like(l)", "np.roll(f, 1)",
    "f[f > 2]", "f.reshape(2, 3).T", "f.astype('f4')", "f.copy()", "np.sort(f)",
    "np.ndarray.__array_wrap__(f, x)", "np.ndarray.__array_wrap__(f, f, None, False)", "np.ndarray.sum(f)",
    "np.ndarray.__add__(f, f)", "np.ndarray.view(f, np.ndarray)", "np.ndarray.__getitem__(f, 2)",
]  # fmt: skip


def outcome(package, expression):
    """Return the classes and elements of the results, and the calls of hooks that the expression made."""
    calls = []
    Field, Length = classes(package, calls)
    x, m = package.arange(6.0), package.arange(12.0).reshape(2, 6)
    names = {"np": package, "Field": Field, "Length": Length, "x": x, "m": m}
    names |= {"f": Field(package.arange(6.0)), "l": package.arange(6.0).view(Length)}
    names |= {"b": package.arange(6.0).astype(">f8").view(Field), "z": package.array(2.0)}
    calls.clear()
    result = eval(expression, names)
    seen = list(calls)
    parts = result if isinstance(result, tuple) else (result,)
    notes = [getattr(part, "note", None) for part in parts]
    same = [part is names["f"] for part in parts]
    return [kind_of(part, package) for part in parts], notes, same, seen


@pytest.mark.core
@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_results_and_hooks_are_numpys(expression):
    assert outcome(numelt, expression) == outcome(numpy, expression)


@pytest.mark.parametrize("make", [lambda np, f: np.asarray(f), lambda np, f: f.view(np.ndarray)])
def test_conversions_share_memory(make):
    Field, _ = classes(numelt, [])
    x = numelt.arange(6.0)
    for made in (make(numelt, Field(x)), make(numelt, Field(x)[::2])):
        assert type(made) is numelt.ndarray
        assert made is not x
        assert made.base is x
        made[1] = 40.0 + made.size
        assert 40.0 + made.size in x.tolist()
    own = Field(numpy.arange(3.0) + 1)
    make(numelt, own)[0] = 9.0
    assert own[0] == 9.0


def test_an_instance_of_a_derived_class_is_an_array():
    Field, _ = classes(numelt, [])
    assert isinstance(Field([1.0]), numelt.ndarray)
    assert isinstance(numpy.ones(2), numelt.ndarray)
    assert not isinstance([1.0], numelt.ndarray)

    class Says:
        __class__ = numpy.ndarray

    assert isinstance(Says(), numelt.ndarray)
