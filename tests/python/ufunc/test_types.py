"""Every numeric ufunc of NumPy on every row of its type table runs natively, with NumPy's dtypes.

A new ufunc, or a new row of an existing one, makes a test fail here until the op table has it.
"""

import warnings

import numpy
import pytest

import numelt
from numelt import _core
from numelt._dispatch.mirror import ufunc_for

pytestmark = pytest.mark.quick


NATIVE = "?bBhHiIlLqQefdFD"
WEAK = {bool: True, int: 2, float: 1.5, complex: 1j}

EVERY = {u for u in vars(numpy._core.umath).values() if isinstance(u, numpy.ufunc)}
UFUNCS = sorted(EVERY - {numpy._core.umath._ones_like}, key=lambda u: u.__name__)


def rows(ufunc):
    """Return the rows of the type table that contain only numeric types."""
    return [
        row for row in dict.fromkeys(ufunc.types) if all(code in NATIVE for code in row.replace("->", ""))
    ]


def ours(ufunc):
    # `numpy.clip` is a function that wraps the ufunc
    return ufunc_for(ufunc)


def operands(ufunc, codes):
    """Return operands that every ufunc accepts: small, positive, and square if matrices are required."""
    shape = (2, 2) if ufunc.signature else (4,)
    shapes = {"matvec": [(2, 2), (2,)], "vecmat": [(2,), (2, 2)], "vecdot": [(2, 2), (2,)]}
    chosen = shapes.get(ufunc.__name__, [shape] * len(codes))
    return [numpy.ones(s, code) for s, code in zip(chosen, codes, strict=True)]


@pytest.fixture
def no_fallback():
    numelt.config.fallback = "error"
    yield
    numelt.config.fallback = "silent"


def ulp(values):
    """Return two units in the last place as a relative error; zero for exact dtypes."""
    return 2 * numpy.finfo(values.dtype).eps if values.dtype.kind in "fc" else 0


@pytest.mark.core
@pytest.mark.parametrize("ufunc", [u for u in UFUNCS if rows(u)], ids=lambda u: u.__name__)
def test_every_row_is_native(ufunc, no_fallback):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for row in rows(ufunc):
            arrays = operands(ufunc, row.split("->")[0])
            expected = ufunc(*arrays)
            # a call that runs in NumPy would raise; types that are `long` by another name run in NumPy
            numelt.config.fallback = "silent" if LONGLONG & set(row) else "error"
            result = ours(ufunc)(*[numelt.array(a) for a in arrays])
            pairs = zip(expected, result, strict=True) if ufunc.nout > 1 else [(expected, result)]
            for want, got in pairs:
                assert (got.dtype, got.dtype.char) == (want.dtype, want.dtype.char), row
                numpy.testing.assert_allclose(numpy.asarray(got), want, rtol=ulp(want), atol=0, err_msg=row)


LONGLONG = set("qQ" if numpy.dtype("l") == numpy.dtype("q") else "")
DTYPES = [numpy.dtype(code) for code in "?bBhHiIqQefdFD"]


@pytest.mark.parametrize(
    "ufunc", [u for u in UFUNCS if rows(u) and u.nin <= 2 and not u.signature], ids=lambda u: u.__name__
)
def test_result_dtypes_are_numpys(ufunc):
    """Mixed dtypes and Python numbers are resolved by NumPy's own tables."""
    choices = [*DTYPES, *WEAK]
    cases = [(a,) for a in DTYPES] if ufunc.nin == 1 else [(a, b) for a in DTYPES for b in choices]
    for case in cases:
        try:
            expected = ufunc.resolve_dtypes((*case, *[None] * ufunc.nout))[ufunc.nin :]
        except TypeError:
            continue
        arrays = [numelt.ones(2, d) if isinstance(d, numpy.dtype) else WEAK[d] for d in case]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = ours(ufunc)(*arrays)
        results = result if ufunc.nout > 1 else (result,)
        assert tuple(r.dtype for r in results) == tuple(expected), f"{ufunc.__name__} of {case}"


def test_names_of_the_table():
    assert set(_core.op_names()) >= {"ldexp", "gcd", "frexp_mantissa", "less_mixed"}


def test_integer_powers():
    base = numelt.arange(1, 5)
    assert (base ** numelt.array([0, 1, 2, 3])).tolist() == [1, 2, 9, 64]
    assert (2 ** numelt.arange(4)).tolist() == [1, 2, 4, 8]
    for exponent in (numelt.array([1, 2, -1, 0]), -1, numpy.int64(-2)):
        with pytest.raises(ValueError, match="Integers to negative integer powers are not allowed"):
            base**exponent


@pytest.mark.parametrize("name", ["equal", "not_equal", "less", "less_equal", "greater", "greater_equal"])
def test_unsigned_against_signed(name):
    a = numpy.array([2**63, 5, 0, 2**64 - 1, 2**63 - 1], "u8")
    for code in ("i8", "i4", "i1"):
        b = numpy.array([-1, 5, 1, 127, -128]).astype(code)
        for x, y in ((a, b), (b, a)):
            got = getattr(numelt, name)(numelt.array(x), numelt.array(y))
            assert got.tolist() == getattr(numpy, name)(x, y).tolist()
