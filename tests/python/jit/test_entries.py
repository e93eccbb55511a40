"""Compiled code is made to take over in a loop that CPython has begun, after each number of iterations."""

import pytest

import numelt as np
from numelt import _core
from numelt._jit import reporting

from . import random_arrays, random_ordinary, random_programs
from .random_programs import outcome
from .test_random import load, namespace, of_program

pytestmark = pytest.mark.core

# functions in a test
MANY = 10
GENERATORS = {"numbers": random_programs, "arrays": random_arrays}


@pytest.fixture(params=[0, 1, 2, 3, 4, 6])
def iterations(request):
    """Let CPython run this number of iterations before compiled code takes over."""
    _core.jit_force_entry(request.param)
    yield request.param
    _core.jit_force_entry()


def entries(units):
    """Return the number of runs of resuming units, which must be the only ones that ran."""
    reports = [unit.report() for unit in units]
    runs = dict.fromkeys((False, True), 0)
    for report in reports:
        runs[report["is_resumed"]] += sum(variant["runs"] for variant in report["variants"])
    assert not runs[False]
    return runs[True]


@pytest.mark.parametrize("start", range(0, 40, MANY))
@pytest.mark.parametrize("kind", sorted(GENERATORS))
def test_random_functions(kind, start, iterations, tmp_path):
    made, entered = GENERATORS[kind], 0
    for seed in range(start, start + MANY):
        text = made.HEAD + made.Writer(seed).text()
        function = load(tmp_path / f"entries_{kind}_{seed}.py", text)
        compiled = np.jit(function)
        for number in range(2 * seed, 2 * seed + 2):
            wanted = outcome(function, made.arguments(number))
            assert outcome(compiled, made.arguments(number)) == wanted, (
                f"seed {seed}, arguments {number}\n{text}"
            )
        entered += entries(reporting.units(compiled))
    assert entered


@pytest.mark.parametrize("start", range(0, 40, MANY))
def test_random_programs(start, iterations):
    for seed in range(start, start + MANY):
        text = random_ordinary.HEAD + random_ordinary.Writer(seed).text()
        plain, compiled = (namespace(f"<entries {seed}>", text, is_compiled) for is_compiled in (False, True))
        for number in range(2 * seed, 2 * seed + 2):
            wanted = of_program(plain, number)
            assert of_program(compiled, number) == wanted, f"seed {seed}, arguments {number}\n{text}"
