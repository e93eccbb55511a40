"""Floating-point warnings of work on devices: those of NumPy, at the same lines and in the same order.

A device is asked for the conditions of several steps together. Until then, nothing that these steps have read
may be overwritten or freed.
"""

import textwrap
import warnings

import numpy
import pytest

import numelt

from ..support.devices import has_opencl
from . import test_cuda

FOUND = {
    "opencl": has_opencl(),
    "cuda": test_cuda.has_device(),
    "far": "far" in numelt._core.engines(),
}
ENGINES = [name for name, is_here in FOUND.items() if is_here]
N = 300

# A scan ends a kernel, so that each of these plans has several steps.
PROGRAMS = {
    "an operand is overwritten later": """
        t = a / b
        s = np.add.accumulate(t)
        a[:] = 1.0
        r = np.sqrt(c) - s
    """,
    "temporaries are freed": """
        r = np.add.accumulate(np.add.accumulate(a / b) / np.add.accumulate(b)) + np.add.accumulate(np.log(c))
    """,
    "results are overwritten": """
        t = a / b
        s = np.add.accumulate(t)
        t[:] = s
        r = np.add.accumulate(np.sqrt(t))
    """,
    "an operand is stored to in parts": """
        t = np.log(a)
        s = np.add.accumulate(t)
        a[3:] = b[:-3]
        r = np.add.accumulate(np.log(a))
    """,
    "nothing is met": """
        t = a / d
        s = np.add.accumulate(t)
        a[:] = s
        r = np.add.accumulate(a / d)
    """,
    "the last step meets something": """
        t = a / d
        s = np.add.accumulate(t)
        r = np.add.accumulate(s / b)
    """,
}


def outcome(np, text, make):
    """Return the warnings of a program, as line and text, and the final values."""
    rng = numpy.random.default_rng(0)
    values = [*rng.integers(-2, 3, (3, N)).astype(float), rng.random(N) + 1.0]
    names = dict(zip("abcd", map(make, values), strict=True))
    code = compile(textwrap.dedent(text), "program", "exec")
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        exec(code, {"np": np}, names)
        final = [numpy.asarray(value) for value in names.values()]
    return [(each.lineno, str(each.message)) for each in seen], final


@pytest.fixture(params=ENGINES)
def engine(request):
    """Record everything, and return the name of an engine."""
    before = numelt.config.at_once, numelt.config.piecemeal
    numelt.config.at_once, numelt.config.piecemeal = 0, 0
    yield request.param
    numelt.config.at_once, numelt.config.piecemeal = before


@pytest.mark.parametrize("name", PROGRAMS)
def test_steps_of_a_plan_warn_as_in_numpy(name, engine):
    wanted, values = outcome(numpy, PROGRAMS[name], numpy.array)
    assert bool(wanted) == (name != "nothing is met")
    for _ in range(3):
        with numelt.engine(engine):
            found, ours = outcome(numelt, PROGRAMS[name], numelt.array)
        for mine, theirs in zip(ours, values, strict=True):
            numpy.testing.assert_array_equal(mine, theirs)
        assert found == wanted


OVERFLOW, INVALID = "overflow encountered in matmul", "invalid value encountered in matmul"

# Both factors, and what their product meets by definition.
PRODUCTS = {
    "finite": (numpy.ones((3, 4)), numpy.ones((4, 2)), []),
    "overflow": (numpy.full((3, 4), 1e300), numpy.full((4, 2), 1e300), [OVERFLOW]),
    "an infinite factor": (numpy.full((3, 4), numpy.inf), numpy.ones((4, 2)), []),
    "infinity times zero": (numpy.full((3, 4), numpy.inf), numpy.zeros((4, 2)), [INVALID]),
    "infinity minus infinity": (numpy.full((3, 2), numpy.inf), numpy.array([[1.0], [-1.0]]), [INVALID]),
    "not a number": (numpy.array([[numpy.nan, 1.0], [2.0, 3.0]]), numpy.ones((2, 2)), []),
    "one of a stack": (numpy.array([1.0, 1e200]).reshape(2, 1, 1), numpy.full((2, 1, 4), 1e200), [OVERFLOW]),
    "single": (numpy.full((3, 4), 1e30, "f4"), numpy.full((4, 2), 1e30, "f4"), [OVERFLOW]),
    "views": (numpy.full((4, 6), 1e300).T[::-2], numpy.full((8, 4), 1e300)[::-2, ::2], [OVERFLOW]),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_products_warn_of_what_they_meet(name, engine):
    left, right, wanted = PRODUCTS[name]
    with numelt.engine(engine), warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        result = numpy.asarray(numelt.asarray(left) @ numelt.asarray(right))
    # libraries for processors do not tell reliably what they meet
    with numpy.errstate(all="ignore"):
        numpy.testing.assert_array_equal(result, left @ right)
    assert [str(each.message) for each in seen] == wanted


SUMS = {
    "complex infinities": lambda np: np.array([np.inf, -np.inf, np.nan, 1j]).sum(),
    "one complex infinity": lambda np: np.array([1, np.inf, 2j]).sum(),
    "complex NaN": lambda np: np.array([1, np.nan, 2j], "c8").sum(),
    "complex overflow": lambda np: np.full(3, 1e308j).sum(),
    "columns": lambda np: np.array([[1, np.inf], [2j, np.nan]]).mean(axis=0),
}


@pytest.mark.parametrize("name", SUMS)
def test_complex_sums_warn_as_in_numpy(name, engine):
    def said(np):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            numpy.asarray(SUMS[name](np))
        return [str(each.message) for each in seen]

    with numelt.engine(engine):
        assert said(numelt) == said(numpy)
