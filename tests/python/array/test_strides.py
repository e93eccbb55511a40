"""Strides and identity where values do not matter: no elements, axes of extent one, views that NumPy made."""

import warnings

import numpy
import pytest

import numelt

STATEMENTS = [
    "np.arange(6.)[5:1:-2]",
    "np.arange(6.)[3:3:-1]",
    "np.arange(8)[2:-3:2][7:]",
    "np.arange(24).reshape(4, 6)[3:1, ::-2]",
    "np.arange(24).reshape(4, 6)[2:0:2, [0, 3]]",
    "np.zeros((2, 17, 17), 'f4')[5:0:-2, 2:-1:-2, 2]",
    "np.zeros(3, 'f2')[2:0]",
    "np.expand_dims(np.zeros((2, 0, 1, 8), 'f4'), 1)",
    "np.expand_dims(np.arange(6.)[::-1], 0)",
    "np.expand_dims(np.arange(6, dtype='f2')[::-2], (0, 2))",
    "np.expand_dims(np.arange(12.).reshape(3, 4).T, 1)",
    "np.expand_dims(np.float64(3.0), 0)",
    "np.arange(1.)[::-1].reshape(1)",
    "np.rot90(np.ones((1, 1)))",
    "np.reshape(np.rot90(np.ones((1, 1))), (1, 1), order='A')",
    "np.conjugate(np.ones((2, 1, 2, 17), 'c8', order='F'))",
    "np.ones((1, 8, 5), order='F') == np.ones((1, 8, 5), order='F')",
    "np.ones((3, 8, 3, 1), 'i2', order='F') ^ 1",
    "np.negative(np.ones((1, 1, 17, 8), order='F')[None, -2:])",
    "np.absolute(np.ones((8, 3, 8), 'u1').transpose(1, 0, 2)).imag",
    "np.ones((4, 5), order='F').imag",
    "np.nonzero(np.zeros((3, 4)))[0]",
    "np.nonzero(np.eye(3))[1]",
    "np.where(np.zeros(3))[0]",
    *(
        f"np.{name}(np.arange(12, dtype='{dtype}').reshape({shape}).T, axis={axis}, keepdims=True)"
        for name in ("sum", "mean", "var", "std", "max", "any", "ptp")
        for dtype in ("f8", "f4", "i4")
        for shape in ("4, 3", "1, 12", "2, 3, 2")
        for axis in (0, -1, (0, 1), None)
    ),
    *(
        f"np.add.reduceat(np.arange(24, dtype='{dtype}').reshape({shape}).T, [0, 1, 0], axis={axis})"
        for dtype in ("f8", "c8", "u8", "f2")
        for shape in ("4, 6", "2, 3, 4")
        for axis in (0, 1, -1)
    ),
]


@pytest.mark.parametrize("statement", STATEMENTS)
def test_strides_are_numpys(statement):
    want, got = eval(statement, {"np": numpy}), eval(statement, {"np": numelt})
    assert (got.shape, got.strides, got.dtype) == (want.shape, want.strides, want.dtype)
    assert numpy.array_equal(numpy.asarray(got), want)


@pytest.mark.parametrize("np", [numpy, numelt], ids=["numpy", "numelt"])
def test_what_is_the_same_object(np):
    x, pairs = np.arange(1, 5), np.zeros(3, dtype=[("x", "f8"), ("y", "i4")])
    assert np.trim_zeros(x) is not x
    assert np.asarray(pairs) is pairs
    assert np.asfortranarray(pairs) is pairs
    assert np.ascontiguousarray(pairs) is pairs
    dates = np.array(["2020-01-01"], dtype="M8[D]")
    assert dates.real is dates


@pytest.mark.parametrize("np", [numpy, numelt], ids=["numpy", "numelt"])
def test_classes_have_numpys_names(np):
    x = np.arange(3)
    assert str(type(x)) == "<class 'numpy.ndarray'>"
    assert str(type(np.sin)) == "<class 'numpy.ufunc'>"
    assert str(type(x.flat)) == "<class 'numpy.flatiter'>"
    assert str(type(np.nditer(x))) == "<class 'numpy.nditer'>"
    assert str(np.vectorize) == "<class 'numpy.vectorize'>"
    assert repr(np.ndarray.sum) == "<method 'sum' of 'numpy.ndarray' objects>"
    with pytest.raises(TypeError, match=r"type numpy\.ndarray doesn't define __round__ method"):
        round(x)
    with pytest.raises(AttributeError, match=r"'numpy\.ndarray' object has no attribute 'append'"):
        x.append(1)


@pytest.mark.parametrize(
    ("dtype", "ufunc", "value"),
    [
        ("u8", "subtract", 2**40), ("u8", "add", 1), ("i1", "add", 300), ("i1", "maximum", 300),
        ("f4", "add", 0.1), ("f4", "multiply", 1.1), ("i4", "add", 7), ("c8", "add", 0.1),
        ("f8", "subtract", 0.1), ("f4", "add", 3),
    ],
)  # fmt: skip
def test_numbers_given_to_at_are_arrays(dtype, ufunc, value):
    results = []
    for np in (numpy, numelt):
        x = np.array([5, 3, 1], dtype)
        getattr(np, ufunc).at(x, [0, 0, 0, 2], value)
        results.append(x.tolist())
    assert results[0] == results[1]


@pytest.mark.parametrize("np", [numpy, numelt], ids=["numpy", "numelt"])
def test_masks_of_numbers(np):
    """A mask without an array among the operands, and a mask that is not a mask."""
    mask = np.array([True, False, True])
    assert np.tanh(0.0, where=mask, out=np.ones(3)).tolist() == [0.0, 1.0, 0.0]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert np.cosh(0, where=mask)[[0, 2]].tolist() == [1.0, 1.0]
        assert np.isinf(np.eye(3), where=mask).shape == (3, 3)
        with pytest.raises(ValueError, match="could not be broadcast"):
            np.isinf(np.eye(3), where=np.ones((2, 3), dtype=bool))
    assert ["'where' used without 'out'" in str(w.message) for w in caught] == [True] * 3
    with pytest.raises(TypeError, match="Cannot cast array data"):
        np.tanh(0.5, where=np.array(["a"]), out=np.ones(1))


def test_smallest_integer_is_a_number():
    lowest = -(2**63)
    for np in (numpy, numelt):
        assert np.where(np.array([True, False]), lowest, np.arange(2)).tolist() == [lowest, 1]
        assert (np.ones(1, "f4") * lowest).tolist() == [float(lowest)]


def test_ldexp_of_a_python_int():
    for exponents in (numpy.array([1, 2]), numpy.array([3], "u1")):
        want, got = numpy.ldexp(-2, exponents), numelt.ldexp(-2, numelt.array(exponents))
        assert got.dtype == want.dtype == numpy.float16
        assert got.tolist() == want.tolist()
