"""Broadcasting, result dtypes of pairs, special values, and the bits of sums."""

import numpy
import pytest

import numelt

from ..support.compare import assert_same

pytestmark = pytest.mark.quick


@pytest.mark.parametrize(
    ("left", "right"), [((3, 1), (1, 4)), ((4,), (3, 4)), ((), (2, 2)), ((2, 1, 3), (5, 1)), ((0,), (1,))]
)
@pytest.mark.parametrize("name", ["add", "multiply", "maximum", "less", "arctan2"])
def test_broadcasting(name, left, right):
    rng = numpy.random.default_rng(0)
    x, y = rng.random(left), rng.random(right)
    ours = getattr(numelt, name)(numelt.array(x), numelt.array(y))
    assert_same(ours, getattr(numpy, name)(x, y) if left or right else None, 4, context=name)


@pytest.mark.parametrize(
    "x", ["bool", "int8", "uint8", "int64", "uint64", "float32", "float64", "complex64", "complex128"]
)
@pytest.mark.parametrize(
    "y", ["bool", "int8", "uint32", "int64", "uint64", "float32", "float64", "complex64"]
)
def test_promotion(x, y):
    a, b = numpy.ones(3, x), numpy.ones(3, y)
    c, d = numelt.array(a), numelt.array(b)
    assert_same(c + d, a + b)
    assert_same(c * d, a * b)
    assert_same(c == d, a == b)
    assert_same(numelt.divide(c, d), numpy.divide(a, b))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64", "float32", "float64", "complex64", "bool"])
@pytest.mark.parametrize(
    "number", [1, 2.5, 1j, True, numpy.float64(2), numpy.float32(2), numpy.int16(3), numpy.uint8(200)]
)
def test_promotion_with_numbers(dtype, number):
    x = numpy.ones(3, dtype)
    assert_same(numelt.array(x) * number, x * number)
    assert_same(number + numelt.array(x), number + x)


def test_special_values():
    special = numpy.array(
        [0.0, -0.0, 1.0, -1.0, numpy.inf, -numpy.inf, numpy.nan, 5e-324, 1e308, -1e308, 0.5, -2.5]
    )
    x, y = numpy.meshgrid(special, special)
    a, b = numelt.array(x), numelt.array(y)
    names = "add subtract multiply divide maximum minimum fmax fmin floor_divide remainder fmod copysign less"
    with numpy.errstate(all="ignore"):
        for name in names.split():
            assert_same(getattr(numelt, name)(a, b), getattr(numpy, name)(x, y), context=name)
            signs = numpy.signbit(numpy.asarray(getattr(numelt, name)(a, b), float))
            expected = numpy.signbit(numpy.asarray(getattr(numpy, name)(x, y), float))
            numbers = ~numpy.isnan(numpy.asarray(getattr(numpy, name)(x, y), float))
            if name not in ("maximum", "minimum", "fmax", "fmin"):  # which zero is not specified
                assert (signs == expected)[numbers].all(), name
        for name in [
            "sqrt",
            "floor",
            "ceil",
            "trunc",
            "rint",
            "sign",
            "absolute",
            "reciprocal",
            "square",
            "isnan",
            "isinf",
            "isfinite",
            "signbit",
        ]:
            assert_same(getattr(numelt, name)(a), getattr(numpy, name)(x), context=name)
        for name in [
            "exp",
            "log",
            "sin",
            "cos",
            "tan",
            "tanh",
            "log1p",
            "expm1",
            "cbrt",
            "arctan",
            "sinh",
            "cosh",
            "arcsin",
        ]:
            assert_same(getattr(numelt, name)(a), getattr(numpy, name)(x), 4, context=name)


@pytest.mark.parametrize("n", [0, 1, 7, 8, 127, 128, 129, 1000, 8191, 8192, 8193, 100_003])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sums_have_numpys_bits(n, dtype):
    x = numpy.random.default_rng(n).standard_normal(n).astype(dtype)
    assert_same(numelt.sum(numelt.array(x)), x.sum())
    if n:
        assert_same(numelt.mean(numelt.array(x)), x.mean())
        assert_same(numelt.std(numelt.array(x)), x.std())
    y = numpy.random.default_rng(n).standard_normal((3, max(n // 3, 1))).astype(dtype)
    for axis in (0, 1, None):
        assert_same(numelt.sum(numelt.array(y), axis=axis), y.sum(axis=axis))
        assert_same(numelt.array(y.T).sum(axis=axis), y.T.sum(axis=axis))
