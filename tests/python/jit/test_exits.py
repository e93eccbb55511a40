"""Compiled code is made to stop before each statement of a loop, and CPython continues from there."""

import pytest

import numelt as np
from numelt import _core
from numelt._jit import reporting

from . import random_arrays, random_programs
from .random_programs import outcome
from .test_random import load

pytestmark = pytest.mark.core

# functions in a test
MANY = 10
GENERATORS = {"numbers": random_programs, "arrays": random_arrays}


@pytest.fixture(autouse=True)
def no_exit_afterwards():
    yield
    _core.jit_force_exit(0)


@pytest.mark.parametrize("start", range(0, 20, MANY))
@pytest.mark.parametrize("kind", sorted(GENERATORS))
def test_an_exit_at_every_statement(kind, start, tmp_path):
    made = GENERATORS[kind]
    exits = 0
    for seed in range(start, start + MANY):
        text = made.HEAD + made.Writer(seed).text()
        function = load(tmp_path / f"exits_{kind}_{seed}.py", text)
        wanted = [outcome(function, made.arguments(number)) for number in (seed, seed + 1)]
        for statement in range(1, text.count("\n") + 2):
            _core.jit_force_exit(statement)
            compiled = np.jit(function)
            got = [outcome(compiled, made.arguments(number)) for number in (seed, seed + 1)]
            assert got == wanted, f"seed {seed}, an exit at {statement}\n{text}"
            reports = [unit.report() for unit in reporting.units(compiled)]
            taken = [one for report in reports for v in report["variants"] for one in v["exits"] if one[3]]
            exits += any(reason == "an exit for a test" for _, reason, *_ in taken)
    assert exits > 2 * MANY
