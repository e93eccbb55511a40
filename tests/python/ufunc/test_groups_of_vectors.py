"""Functions of contiguous arrays have the bits of elements alone.

Compiled code computes several vectors of contiguous arrays at a time.
"""

import numpy
import pytest

import numelt

UNARY = [
    "exp",
    "exp2",
    "expm1",
    "log",
    "log2",
    "log10",
    "log1p",
    "sin",
    "cos",
    "tan",
    "arcsin",
    "arccos",
    "arctan",
    "sinh",
    "cosh",
    "tanh",
    "arcsinh",
    "arccosh",
    "arctanh",
    "cbrt",
]
BINARY = ["power", "arctan2", "hypot", "logaddexp", "logaddexp2"]
SIZES = [1, 7, 8, 16, 31, 32, 33, 63, 64, 65, 200]


@pytest.fixture(autouse=True)
def compiled():
    """Compile kernels before they run; the previous setting is restored."""
    before = numelt.config.jit
    numelt.config.jit = "sync"
    yield
    numelt.config.jit = before


def numbers(code, size, special):
    """Return numbers from one to two, and some special values among them."""
    values = 1 + numpy.arange(size) * 37 % 101 / 101
    if special:
        values[:: max(size // 3, 1)] = [numpy.inf, -0.0, numpy.nan, -3.0, 1e-40][
            : len(values[:: max(size // 3, 1)])
        ]
    return values.astype(code)


def same(ours, theirs):
    ours, theirs = numpy.asarray(ours), numpy.asarray(theirs)
    equal = (ours == theirs) & (numpy.signbit(ours) == numpy.signbit(theirs))
    return bool((equal | numpy.isnan(ours) & numpy.isnan(theirs)).all())


@pytest.mark.core
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("special", [False, True])
@pytest.mark.parametrize("code", "efd")
@pytest.mark.parametrize("name", UNARY + BINARY)
def test_bits_do_not_depend_on_neighbours(name, code, special):
    function = getattr(numelt, name)
    for size in SIZES:
        x = numbers(code, size, special)
        operands = [x, x[::-1] - x.dtype.type(1.5)][: 1 + (name in BINARY)]
        whole = function(*(numelt.array(v) for v in operands))
        # every third element of rows is loaded one by one, which no group of vectors is
        spread = [numelt.array(numpy.repeat(v, 3))[::3] for v in operands]
        assert same(whole, function(*spread)), (name, code, size)
        alone = [
            numelt.asarray(function(*(numelt.array(v[i : i + 1]) for v in operands))) for i in range(size)
        ]
        assert same(whole, numpy.concatenate(alone)), (name, code, size)
