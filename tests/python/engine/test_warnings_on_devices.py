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
