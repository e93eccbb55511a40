"""The metadata of functions, methods and classes (signatures, documentation) is the same as NumPy's."""

import importlib
import inspect
import pydoc
import types

import numpy
import pytest

import numelt

SPACES = ["", "linalg", "fft", "char", "strings", "ma", "polynomial.polynomial"]


# names of numpy.ma, which are names of other objects there
_OWN_OBJECTS = {"isMA", "isarray", "round_", "row_stack", "alltrue", "sometrue"}
# when SciPy is imported, it changes NumPy's documentation of this function
_REWRITTEN = {"sinc"}


def functions(space):
    theirs = importlib.import_module(f"numpy.{space}".rstrip("."))
    ours = importlib.import_module(f"numelt.{space}".rstrip("."))
    for name in {*theirs.__all__} - _OWN_OBJECTS:
        function = getattr(theirs, name)
        if inspect.isroutine(function) and not isinstance(function, numpy.ufunc):
            yield name, function, getattr(ours, name)


def signature(function):
    try:
        return str(inspect.signature(function))
    except ValueError:
        return None


@pytest.mark.parametrize("space", SPACES)
def test_functions(space):
    for name, theirs, ours in functions(space):
        for told in ("__name__", "__qualname__", "__module__"):
            assert getattr(ours, told, None) == getattr(theirs, told, None), (name, told)
        assert signature(ours) == signature(theirs), name
        assert inspect.isroutine(ours), name
        if theirs is not ours and name not in _REWRITTEN:
            assert ours.__doc__ == theirs.__doc__, name
            assert inspect.getdoc(ours) == inspect.getdoc(theirs)


@pytest.mark.parametrize("name", ["sum", "mean", "where", "array", "reshape", "sort", "zeros", "linalg.norm"])
def test_texts_and_sources(name):
    ours, theirs = numelt, numpy
    for part in name.split("."):
        ours, theirs = getattr(ours, part), getattr(theirs, part)
    for text in (str, repr):
        assert text(ours).partition(" at ")[0] == text(theirs).partition(" at ")[0]
    assert pydoc.plain(pydoc.render_doc(ours)).split("\n", 2)[2].strip() in pydoc.plain(
        pydoc.render_doc(theirs)
    )
    if type(getattr(theirs, "__wrapped__", None)) is types.FunctionType:
        assert inspect.getsource(ours) == inspect.getsource(theirs)


@pytest.mark.parametrize("name", ["array", "sum", "reshape", "zeros", "concatenate", "sort", "diag_indices"])
def test_functions_in_the_body_of_a_class(name):
    kinds = []
    for np in (numelt, numpy):
        held = type("Held", (), {"function": getattr(np, name)})
        kinds.append(isinstance(held().function, types.MethodType))
    assert kinds[0] == kinds[1]


def test_a_function_keeps_attributes_and_is_referred_to_weakly():
    import weakref

    function = numelt.sum
    assert weakref.ref(function)() is function
    function.mine = 1
    assert numelt.sum.mine == 1
    del function.mine
    with pytest.raises(AttributeError):
        function.mine
    assert function == numelt.sum
    assert hash(function) == hash(numelt.sum)
    with pytest.raises(TypeError):
        type(function)()


def test_methods():
    ours, theirs = numelt.ones((2, 2)), numpy.ones((2, 2))
    for name in dir(theirs):
        if name.startswith("_") or not callable(getattr(theirs, name)):
            continue
        assert getattr(ours, name).__doc__ == getattr(theirs, name).__doc__, name
        assert getattr(ours, name).__name__ == getattr(theirs, name).__name__, name
        assert getattr(numelt.ndarray, name).__doc__ == getattr(numpy.ndarray, name).__doc__, name
        assert repr(getattr(numelt.ndarray, name)) == repr(getattr(numpy.ndarray, name)), name


def test_attributes_of_the_class():
    for name, theirs in vars(numpy.ndarray).items():
        if isinstance(theirs, types.GetSetDescriptorType) and not name.startswith("_"):
            ours = getattr(numelt.ndarray, name)
            assert ours.__doc__ == theirs.__doc__, name
            assert repr(ours) == repr(theirs), name
    a = numelt.arange(6.0)
    assert numelt.ndarray.shape.__get__(a) == (6,)
    numelt.ndarray.shape.__set__(a, (2, 3))
    assert a.shape == (2, 3)

    class Own(numelt.ndarray):
        @property
        def shape(self):
            return numelt.ndarray.shape.__get__(self)[::-1]

    assert a.view(Own).shape == (3, 2)


def test_the_class():
    for told in ("__name__", "__qualname__", "__module__", "__doc__"):
        assert getattr(numelt.ndarray, told) == getattr(numpy.ndarray, told)
        assert getattr(numelt.ufunc, told) == getattr(numpy.ufunc, told)
