"""The parity driver: runs a call under NumPy and under numelt, and compares everything a program can see.

A row of a table is a line of Python that names its operands by letters (`operands.py`). It may consist of
several statements; its value is that of the last. The driver compares the result (its type by `type() is`,
dtype, shape, strides, flags, bits, and the operands with which it shares memory), the contents of the
operands after the call, the type and text of an exception, and the warnings.
"""

import ast
import functools
import warnings
from dataclasses import dataclass, replace

import numpy

import numelt

from ..support.compare import ulps
from .operands import ALL, COMPLEX, LAYOUTS, operands

SMALL = 12
"""Number of elements of the operands in all layouts."""


@functools.cache
def program(code):
    """Return a call as its statements before the last, its last one as an expression, and the names in it."""
    tree = ast.parse(code)
    names = frozenset(node.id for node in ast.walk(tree) if isinstance(node, ast.Name))
    *first, last = tree.body
    if not isinstance(last, ast.Expr):
        first, last = tree.body, ast.Expr(ast.Constant(None, lineno=1, col_offset=0))
    begin = compile(ast.Module(first, []), "<call>", "exec")
    return begin, compile(ast.Expression(last.value), "<call>", "eval"), names


@dataclass(frozen=True)
class Compared:
    """By how much a result may differ from NumPy's."""

    # units in the last place, for functions that two good libraries compute differently
    ulp: float = 0
    # the same for complex results, in units of the number's magnitude
    norm: float = 0
    # relative error, for functions of LAPACK and the like
    rtol: float = 0


@dataclass(frozen=True)
class Row(Compared):
    """A call, its operands, and by how much its result may differ from NumPy's."""

    code: str = ""
    dtypes: tuple = tuple(ALL)
    layouts: tuple = LAYOUTS
    domain: str = "any"
    # the most elements on which it runs: limits results of n * n elements, and sorts of objects
    most: int = 1 << 20

    def __post_init__(self):
        """Compile the call, so that an invalid line of a table is reported when the table is read."""
        program(self.code)


def row(code, dtypes=ALL, layouts=LAYOUTS, **rest):
    """Return the row of one call."""
    return Row(code=code, dtypes=tuple(dtypes), layouts=tuple(layouts), **rest)


def rows(text, dtypes=ALL, **rest):
    """Return the rows of a text: each line is a call, except empty lines and those that begin with #."""
    lines = (line.strip() for line in text.splitlines())
    return [row(line, dtypes, **rest) for line in lines if line and not line.startswith("#")]


def settled(value):
    """Compute a result that is still pending, so that its warnings come now."""
    if isinstance(value, numelt.ndarray):
        numpy.asarray(value)
    elif type(value) in (list, tuple) or hasattr(value, "_fields"):
        for part in value:
            settled(part)
    return value


def words(text):
    """Return the text of an exception or warning as if it were NumPy's."""
    return text.replace("numelt", "numpy")


def outcome(call, given):
    """Return a call's result or exception, and its warnings; everything pending is computed."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result, error = settled(call()), None
        except Exception as raised:  # the exception is compared
            result, error = None, (type(raised), words(str(raised)))
        for value in given.values():
            settled(value)
    # How often a call gives the same warning is not compared: recorded divisions with remainder and products
    # of complex numbers consist of several operations, each of which warns.
    said = sorted({(w.category.__name__, words(str(w.message))) for w in caught})
    return result, error, said


def run(np, one, given):
    """Run a row's call on its operands."""
    begin, end, _ = program(one.code)
    space = {"np": np, **given}
    exec(begin, space)
    return eval(end, space)


def check(one, dtype, n, layout):
    """Raise AssertionError if numelt differs from NumPy in a case of a row."""
    if dtype in COMPLEX:  # absolute values, angles and parts have the errors of complex results
        one = replace(one, ulp=max(one.ulp, one.norm))
    names = program(one.code)[2]
    theirs, ours = (operands(np, names, dtype, n, layout, one.domain) for np in (numpy, numelt))
    compare_outcomes(
        (outcome(lambda: run(numpy, one, theirs), theirs), theirs),
        (outcome(lambda: run(numelt, one, ours), ours), ours),
        one,
    )


def compare_calls(call, pairs, limits, where):
    """Raise AssertionError if a function that takes a library and arrays differs between the libraries."""
    theirs = {str(at): one for at, (one, _) in enumerate(pairs)}
    ours = {str(at): other for at, (_, other) in enumerate(pairs)}
    compare_outcomes(
        (outcome(lambda: call(numpy, *theirs.values()), theirs), theirs),
        (outcome(lambda: call(numelt, *ours.values()), ours), ours),
        limits,
        where,
    )


def compare_outcomes(theirs, ours, limits, where=""):
    """Assert that results, exceptions, warnings and the operands afterwards are the same for both
    libraries."""
    ((result, expected, told), kept), ((got, error, said), left) = theirs, ours
    assert error == expected, f"{where}raises {error}, NumPy {expected}"
    compare(got, result, limits, kept, left, where)
    for name, value in kept.items():
        compare(left[name], value, limits, {}, {}, f"{where}operand {name} afterwards: ")
    assert said == told, f"{where}warns {said}, NumPy {told}"


def same_type(ours, theirs, where):
    """Assert that a result has the type that corresponds to NumPy's."""
    if type(theirs) is numpy.ndarray:
        assert type(ours) is numelt.ndarray, f"{where}{type(ours)} for an array"
    elif isinstance(theirs, numpy.ndarray) or hasattr(theirs, "_fields"):
        assert type(ours).__name__ == type(theirs).__name__, f"{where}{type(ours)}, NumPy {type(theirs)}"
        assert isinstance(ours, numelt.ndarray) == isinstance(theirs, numpy.ndarray), where
    else:
        assert type(ours) is type(theirs), f"{where}{type(ours)}, NumPy {type(theirs)}"


def compare(ours, theirs, limits, kept, left, where=""):
    """Assert that a result is equal to NumPy's."""
    same_type(ours, theirs, where)
    if isinstance(theirs, (tuple, list)):
        assert len(ours) == len(theirs), f"{where}{len(ours)} parts, NumPy {len(theirs)}"
        for at, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            compare(one, other, limits, kept, left, f"{where}part {at}: ")
    elif isinstance(theirs, numpy.ndarray):
        same_layout(ours, theirs, where)
        for name, operand in kept.items():
            if isinstance(operand, numpy.ndarray):
                shared = numpy.may_share_memory(theirs, operand)
                got = numpy.may_share_memory(numpy.asarray(ours), numpy.asarray(left[name]))
                assert got == shared, f"{where}memory of {name} is {'' if got else 'not '}shared"
        same_values(numpy.asarray(ours), numpy.asarray(theirs), limits, where)
    elif isinstance(theirs, numpy.generic):
        assert ours.dtype == theirs.dtype, f"{where}dtype {ours.dtype}, NumPy {theirs.dtype}"
        same_values(numpy.asarray(ours), numpy.asarray(theirs), limits, where)
    elif isinstance(theirs, (float, complex)):
        same_values(numpy.asarray(ours), numpy.asarray(theirs), limits, where)
    else:
        assert ours == theirs, f"{where}{ours!r}, NumPy {theirs!r}"


def same_layout(ours, theirs, where):
    """Assert that an array's dtype, shape, strides and flags are NumPy's."""
    for name in ("shape", "dtype"):
        got, want = getattr(ours, name), getattr(theirs, name)
        assert got == want, f"{where}{name} {got}, NumPy {want}"
    assert ours.dtype.char == theirs.dtype.char, f"{where}dtype {ours.dtype.char}, NumPy {theirs.dtype.char}"
    if theirs.size:
        # the stride of an axis of one element has no meaning
        steps = [
            (a, b)
            for a, b, extent in zip(ours.strides, theirs.strides, theirs.shape, strict=True)
            if extent > 1
        ]
        assert all(a == b for a, b in steps), f"{where}strides {ours.strides}, NumPy {theirs.strides}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a result of `broadcast_arrays` warns when its flags are read
        same_flags(ours, theirs, where)


def same_flags(ours, theirs, where):
    """Assert that an array's flags are NumPy's."""
    for name in ("writeable", "c_contiguous", "f_contiguous", "aligned", "owndata"):
        got, want = getattr(ours.flags, name), getattr(theirs.flags, name)
        assert got == want, f"{where}flag {name} is {got}, NumPy {want}"


def same_values(ours, theirs, limits, where):
    """Assert that values are NumPy's, exactly or within the tolerance."""
    kind = theirs.dtype.kind
    if kind == "O" or theirs.dtype.names:
        got, want = ours.tolist(), theirs.tolist()
        assert repr(got) == repr(want), f"{where}{got}, NumPy {want}"
        return
    if kind == "c" and not limits.norm:
        same_values(ours.real, theirs.real, limits, where)
        same_values(ours.imag, theirs.imag, limits, where)
        return
    if kind not in "fc":
        assert numpy.array_equal(ours, theirs) or ours.tobytes() == theirs.tobytes(), (
            f"{where}\n{ours}\nNumPy:\n{theirs}"
        )
        return
    message = f"{where}\n{ours!r}\nNumPy:\n{theirs!r}"
    if limits.rtol:
        numpy.testing.assert_allclose(ours, theirs, limits.rtol, limits.rtol, equal_nan=True, err_msg=message)
    elif kind == "c":
        with numpy.errstate(all="ignore"):
            near = numpy.abs(ours - theirs) <= numpy.spacing(numpy.abs(theirs)) * limits.norm
        assert (near | (ours == theirs) | ~numpy.isfinite(theirs)).all(), message
    elif limits.ulp:
        with numpy.errstate(all="ignore"):
            assert ulps(ours, theirs) <= limits.ulp, message
    else:
        nan = numpy.isnan(theirs)
        assert ((ours == theirs) | nan).all(), message
        assert (numpy.isnan(ours) == nan).all(), message
        assert ((numpy.signbit(ours) == numpy.signbit(theirs)) | nan).all(), message
