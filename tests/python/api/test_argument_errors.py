"""Errors about the number and the names of arguments have the same text as NumPy's."""

import functools
import inspect
import pathlib
import re
import warnings

import numpy
import pytest

import numelt

FUNCTIONS = [
    "bincount", "busday_count", "busday_offset", "can_cast", "concatenate", "copyto", "datetime_as_string",
    "dot", "inner", "is_busday", "lexsort", "may_share_memory", "min_scalar_type", "packbits", "putmask",
    "ravel_multi_index", "result_type", "shares_memory", "unpackbits", "unravel_index", "vdot", "where",
    "median", "interp", "unique", "searchsorted", "einsum",
]  # fmt: skip

CALLS = [
    "f()",
    "f(x, nothing=1)",
    "f(x, x, x, x, x, x, x, x, x, x)",
    "f(x, 1.5)",
    "f('no', x)",
    "f(None, None)",
    "f(a=x, mask=x, values=x)",
]


def said(np, name, call):
    """Return what a call raises: the class and the message."""
    try:
        eval(call, {"f": getattr(np, name), "x": np.array([1.5, 2.5, 3.5])})
    except Exception as error:
        return type(error), str(error)
    return None


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("call", CALLS)
def test_same_words(name, call):
    assert said(numelt, name, call) == said(numpy, name, call)


class Claiming:
    """A class that answers NumPy's functions itself."""

    def __array_function__(self, function, types, args, kwargs):
        return function.__name__


@pytest.mark.parametrize("np", [numpy, numelt], ids=["numpy", "numelt"])
def test_other_classes_are_asked(np):
    x = np.array([1, 2])
    assert np.bincount(x, Claiming()) == "bincount"
    assert np.lexsort((x, Claiming())) == "lexsort"
    assert np.where(x, x, Claiming()) == "where"
    assert np.packbits(Claiming()) == "packbits"


# calls that are wrong for nearly every function; `f` takes the arguments
WRONG = {
    "nothing": "f()",
    "too many": "f(*[np.arange(4.0)] * 14)",
    "an unknown name": "f(bogus=1)",
    "a value and an unknown name": "f(np.arange(4.0), bogus=1)",
    "two values and an unknown name": "f(np.arange(4.0), np.arange(4.0), bogus=1)",
    "twice": "f(np.arange(4.0), a=np.arange(4.0))",
    "twice by another name": "f(np.arange(4.0), x=np.arange(4.0))",
    "a float as axis": "f(np.arange(4.0), axis=1.5)",
    "a word as axis": 'f(np.arange(4.0), axis="x")',
    "no dtype": 'f(np.arange(4.0), dtype="bogus")',
    "a number as out": "f(np.arange(4.0), out=3)",
    "a word": 'f(np.arange(4.0), "abc")',
    "a fraction": "f(np.arange(4.0), 1.5)",
}
# functions that check their arguments in another order, or for which NumPy's own dispatch has its own
# messages; functions that print or change global state
APART = {
    "busday_count", "is_busday", "histogramdd", "meshgrid", "poly", "roots", "unique_all", "unique_counts",
    "unique_inverse", "unique_values", "unstack", "select", "test", "show_config", "show_runtime", "info",
    "save", "savez", "savez_compressed", "savetxt", "seterr", "seterrcall", "setbufsize", "set_printoptions",
    "matrix_transpose", "svdvals", "printoptions", "fromfile", "load", "loadtxt", "genfromtxt", "fromregex",
    "get_include",
}  # fmt: skip


def complaint(call):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            call()
        except Exception as error:
            return type(error), re.sub("0x[0-9a-f]+", "", str(error))
    return None


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("space", ["", "linalg", "fft"])
def test_functions_say_what_numpys_say(space, wrong):
    theirs = getattr(numpy, space) if space else numpy
    ours = getattr(numelt, space) if space else numelt
    act, different = WRONG[wrong], []
    for name in sorted({*theirs.__all__} - APART):
        function = getattr(theirs, name)
        if not inspect.isroutine(function) or isinstance(function, numpy.ufunc):
            continue
        expected = complaint(lambda function=function: eval(act, {"f": function, "np": numpy}))
        got = complaint(lambda name=name: eval(act, {"f": getattr(ours, name), "np": numelt}))
        if got != expected:
            different.append((name, got, expected))
    assert different == []


@pytest.mark.parametrize("wrong", WRONG)
def test_methods_say_what_numpys_say(wrong):
    act, different = WRONG[wrong], []
    for name in dir(numpy.ndarray):
        if name.startswith("_") or name in ("dump", "tofile", "resize"):
            continue
        if not callable(getattr(numpy.ndarray, name)):
            continue
        call = act.replace("f(", f"x.{name}(", 1)  # the message depends on the order of lookups
        for shape in ((4,), (2, 2)):
            expected, got = (
                complaint(functools.partial(eval, call, {"x": np.arange(4.0).reshape(shape), "np": np}))
                for np in (numpy, numelt)
            )
            if got != expected:
                different.append((name, got, expected))
    assert different == []


class Picky:
    """An object that counts how often it is asked for an answer, and refuses."""

    asked = 0

    def __add__(self, other):
        Picky.asked += 1
        raise TypeError("no sums")

    __radd__ = __lt__ = __mul__ = __array__ = __float__ = __index__ = __len__ = __getitem__ = __add__

    def __call__(self, *args):
        return self + 1


REFUSED = {
    "sum": lambda np: np.sum(np.array([Picky.__new__(Picky)] * 3, object)),
    "operator": lambda np: np.array([1, 2], object) + Picky(),
    "sort": lambda np: np.sort(np.array([Picky(), Picky(), Picky()], object)),
    "list": lambda np: np.where([True], [Picky()], [1])[0] + 1,
    "function": lambda np: np.apply_along_axis(Picky(), 0, np.ones((2, 2))),
    "functions": lambda np: np.piecewise(np.arange(4.0), [np.arange(4) > 1], [Picky()]),
    "one by one": lambda np: np.vectorize(Picky())(np.arange(3)),
    "iterator": lambda np: np.fromiter((x + Picky() for x in range(3)), float),
    "axis": lambda np: np.sum(np.ones(3), axis=Picky()),
}


@pytest.mark.parametrize("call", REFUSED.values(), ids=REFUSED)
def test_programs_code_runs_as_often(call):
    counts = []
    for np in (numpy, numelt):
        Picky.asked = 0
        counts.append((complaint(functools.partial(call, np)), Picky.asked))
    assert counts[0][0] == counts[1][0]
    assert counts[1][1] == counts[0][1]


MAKING = [
    "()",
    "(dtype=float)",
    "('x')",
    "(3, bad=1)",
    "(1, 2, 3, 4, 5, 6, 7)",
    "(3, float, dtype=int)",
    "(3, shape=3)",
    "(1)",
    "(numpy.sin, 'sin', 3)",
    "(numpy.sin, op_name='sin')",
]


@pytest.mark.parametrize("arguments", MAKING)
@pytest.mark.parametrize("name", ["ndarray", "ufunc"])
def test_making_arrays_and_ufuncs(name, arguments):
    def made(np):
        try:
            return type(eval(f"np.{name}{arguments}", {"np": np, "numpy": numpy})).__name__
        except Exception as error:
            return type(error), str(error)

    assert made(numelt) == made(numpy)


def done(call):
    """Return what a call returns, as a list, or what it raises."""
    try:
        result = call()
    except Exception as error:
        return type(error), str(error)
    return None if result is None else result.tolist()


@pytest.mark.parametrize("kind", "?bBhHiIqQfO")
@pytest.mark.parametrize("size", [3, 2000])
def test_dtypes_of_positions(kind, size):
    positions = (numpy.arange(size) % 2).astype(kind)
    for call in (
        lambda np, x, at: np.put(x, at, 7),
        lambda np, x, at: np.put(x, at, 7, mode="clip"),
        lambda np, x, at: x.put(at, 7),
        lambda np, x, at: np.choose(at, [x, x + 1]),
        lambda np, x, at: np.take(x, at),
    ):
        real, mine = numpy.arange(float(size)), numelt.arange(float(size))
        want = done(lambda c=call, x=real: c(numpy, x, positions))
        assert done(lambda c=call, x=mine: c(numelt, x, numelt.asarray(positions))) == want
        assert numpy.array_equal(numpy.asarray(mine), real)


LONG_ARRAYS = [
    "np.average(np.ones((2, 2000)), True)",
    "np.add.accumulate(np.ones((2, 2000)), True)",
    "np.cumulative_sum(np.ones((2, 2000)), axis=True)",
    "np.zeros((2, 2000)).clip(np.arange(4.0), 1.5)",
    "np.clip(np.zeros((2, 2000)), np.arange(2000.0), np.arange(3), out=np.zeros(7))",
    "np.zeros(2000).clip(1.0, 2.0, out=np.zeros(3))",
    "np.nan_to_num(np.ones(2000), 'abc')",
    "np.array(np.ones(2000), copy='abc')",
    "np.asarray(np.ones(2000), copy='abc')",
    "np.add.outer(np.ones((1,) * 39 + (2000,)), np.ones((1,) * 40))",
    "np.mean(np.zeros((0, 2000)), axis=1)",
]


@pytest.mark.parametrize("call", LONG_ARRAYS)
def test_calls_on_long_arrays_are_numpys_too(call):
    """NumPy itself answers wrong calls on few elements; these arrays have more."""

    def outcome(np):
        try:
            result = eval(call, {"np": np})
        except Exception as error:
            return type(error), str(error)
        return result.shape, numpy.asarray(result).tolist()

    assert outcome(numelt) == outcome(numpy)


def test_an_empty_mean_is_warned_of_where_numpy_does(recorded):
    def files(np):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            np.mean(np.zeros(0))
        return [(str(warning.message), pathlib.Path(warning.filename).name) for warning in caught]

    assert files(numelt) == files(numpy)
