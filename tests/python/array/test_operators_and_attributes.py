"""Details that would tell a program that its arrays are not NumPy's: each case is compared with NumPy."""

import ctypes
import sys

import numpy
import pytest

import numelt

IN_PLACE = ["+", "-", "*", "/", "//", "%", "**", "@", "&", "|", "^", "<<", ">>"]


class Answering:
    """A class that carries out ufuncs, and returns something that is not an array."""

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return (ufunc.__name__, method, len(inputs), sorted(kwargs))


def derived(np):
    class Derived(np.ndarray):
        def __array_ufunc__(self, ufunc, method, *inputs, out=None, **kwargs):
            def plain(value):
                return value.view(np.ndarray) if isinstance(value, Derived) else value

            if out is not None:
                kwargs["out"] = tuple(map(plain, out))
            return getattr(ufunc, method)(*map(plain, inputs), **kwargs).view(Derived)

    return Derived


@pytest.mark.parametrize("symbol", IN_PLACE)
def test_an_operator_in_place_gives_what_the_class_gives(symbol):
    results = []
    for np in (numelt, numpy):
        names = {"a": np.arange(1, 4), "b": Answering()}
        exec(f"a {symbol}= b", names)
        results.append(names["a"])
    assert results[0] == results[1]


class Prior:
    """A class that takes precedence, and knows arrays as left operands."""

    __array_priority__ = 1000

    def __radd__(self, other):
        return "sum"

    def __rpow__(self, other):
        return other


class Refusing:
    __array_ufunc__ = None

    def __rmul__(self, other):
        return other.tolist()


@pytest.mark.parametrize("dtype", ["f8", "i8", "O", "q"])
@pytest.mark.parametrize("kind", [Answering, Prior, Refusing])
@pytest.mark.parametrize(
    "statement",
    ["a **= b", "a += b", "a *= b", "a = a + b", "a = b ** a", "a = divmod(a, b)", "a = pow(a, b)"],
)
def test_operators_with_classes_that_know_arrays(statement, kind, dtype):
    results = []
    for np in (numelt, numpy):
        names = {"a": np.arange(1, 4).astype(dtype), "b": kind()}
        try:
            exec(statement, names)
            results.append(getattr(names["a"], "tolist", lambda names=names: names["a"])())
        except TypeError as error:
            results.append(str(error))
    assert results[0] == results[1]


def test_an_operator_in_place_with_a_derived_class():
    for np in (numelt, numpy):
        a = kept = np.ones(4)
        a += np.arange(4.0).view(derived(np))
        assert type(a).__name__ == "Derived"
        assert kept.tolist() == [1, 2, 3, 4]
        b = kept = np.ones(4)
        b += np.arange(4.0)
        assert b is kept


class OfNumPy:
    """A class that adds only exact NumPy scalars in place, like classes in C that examine only the type."""

    def __init__(self):
        self.total = 0.0

    def __iadd__(self, other):
        if "numelt" in type(type(other)).__module__:
            return NotImplemented
        self.total += float(other)
        return self

    def __add__(self, other):
        return NotImplemented


def test_a_class_that_knows_scalars_of_numpys_only_is_changed_in_place():
    for np in (numelt, numpy):
        total = same = OfNumPy()
        for n in range(3):
            total += np.arange(n + 1.0).sum()
        assert total is same
        assert same.total == 4.0
        with pytest.raises(TypeError):
            total + np.ones(3).sum()


def test_pointers_of_ctypes():
    pointer = numelt.ctypeslib.ndpointer(dtype="f8", ndim=1, flags="C_CONTIGUOUS")
    library = ctypes.CDLL(None)
    copy = library.memcpy
    copy.argtypes, copy.restype = [pointer, pointer, ctypes.c_size_t], None
    target = numelt.zeros(3)
    copy(target, numelt.arange(3.0) * 2, 24)
    assert target.tolist() == [0, 2, 4]
    for wrong in (
        lambda np: np.ones((3, 3)),
        lambda np: np.ones(3, "f4"),
        lambda np: np.ones(6)[::2],
        lambda np: [1],
    ):
        messages = []
        for np in (numelt, numpy):
            with pytest.raises(TypeError) as error:
                pointer.from_param(wrong(np))
            messages.append(str(error.value))
        assert messages[0] == messages[1]


@pytest.mark.parametrize(
    "name", ["ndim", "size", "shape", "array_equal", "allclose", "iscomplexobj", "isrealobj", "sum", "copyto"]
)
def test_classes_that_carry_functions_out_give_anything(name):
    class Duck:
        def __array_function__(self, function, types, args, kwargs):
            return (function.__name__, len(args), sorted(kwargs))

    duck = Duck()
    args = (duck, duck) if name in ("array_equal", "allclose", "copyto") else (duck,)
    assert getattr(numelt, name)(*args) == getattr(numpy, name)(*args)


@pytest.mark.parametrize("shape", [(), (0,), (5,), (2, 3), (2, 3, 4)])
@pytest.mark.parametrize("dtype", ["f8", "f4", "?", "c16", "U3", "O"])
def test_sizes(shape, dtype):
    for act in (lambda np, a: a, lambda np, a: a.T, lambda np, a: a[..., None], lambda np, a: a.copy()):
        sizes = [sys.getsizeof(act(np, np.zeros(shape, dtype))) for np in (numelt, numpy)]
        assert sizes[0] == sizes[1]


def test_documentation_of_ufuncs():
    for name in ("add", "sin", "multiply", "floor_divide"):
        assert getattr(numelt, name).__doc__ == getattr(numpy, name).__doc__


def numbers(dtype, n):
    values = [0, 1.7, 3e9, 4.2e9, -1.0, 2.5, -3e9, 1e10, numpy.nan, numpy.inf, 2147483648.5, 4294967295.0]
    return numpy.resize(numpy.array(values), n).astype(dtype)


UNSIGNED = {
    "out": lambda np, v, out: np.add(v, 0, out=out, casting="unsafe"),
    "out and where": lambda np, v, out: np.multiply(v, 1, out=out, where=v > 1, casting="unsafe"),
    "in and out": lambda np, v, out: np.subtract(out, v, out=out, casting="unsafe"),
    "dtype": lambda np, v, out: np.add(v, 1, dtype="u4", casting="unsafe"),
    "assignment": lambda np, v, out: out.__setitem__(slice(None), v),
    "mask": lambda np, v, out: out.__setitem__(v > 2, v[v > 2]),
    "positions": lambda np, v, out: out.__setitem__(np.arange(len(v))[::-1], v),
    "positions and strides": lambda np, v, out: out.__setitem__(
        np.arange(len(v) // 2), v[: len(v) // 2 * 2 : 2]
    ),
    "copyto": lambda np, v, out: np.copyto(out, v, casting="unsafe", where=v > 1),
    "concatenate": lambda np, v, out: np.concatenate([v, v], dtype="u4", casting="unsafe"),
    "sum": lambda np, v, out: np.sum(v, dtype="u4"),
    "cumsum": lambda np, v, out: np.cumsum(v, dtype="u4"),
    "astype": lambda np, v, out: v.astype("u4"),
    "array": lambda np, v, out: np.array(v, dtype="u4"),
}


@pytest.mark.parametrize("source", ["f4", "f8"])
@pytest.mark.parametrize("way", UNSIGNED)
def test_numbers_that_do_not_fit_uint32(way, source):
    # more elements than in calls that are passed to NumPy
    for n in (3, 4, 5, 9, 16, 33, 1500):
        for cut in (slice(None), slice(None, None, 2), slice(None, None, -1), slice(1, None)):
            results = []
            for np in (numelt, numpy):
                v = np.array(numbers(source, n))[cut]
                out = np.full(len(v), 7, "u4")
                with numpy.errstate(all="ignore"):
                    made = UNSIGNED[way](np, v, out)
                results.append(
                    (numpy.asarray(out).tolist(), None if made is None else numpy.asarray(made).tolist())
                )
            assert results[0] == results[1], (n, cut)
