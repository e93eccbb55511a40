"""The programs of benches/fields have NumPy's results, also if they run repeatedly."""

import importlib.util
import pathlib
import sys

import numpy
import pytest

BENCHES = pathlib.Path(__file__).resolve().parents[3] / "benches"


def load(name):
    spec = importlib.util.spec_from_file_location(f"bench_{name}", BENCHES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


load("timing")
field = load("field")
PROGRAMS = {name: rest for name, *rest in field.programs()}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_gives_numpys_numbers(name):
    (small, _), theirs, ours = PROGRAMS[name]
    want, run = theirs(small)(), ours(small)
    for _ in range(4):
        assert field.same(run(), want)


def test_a_difference_is_seen():
    x = numpy.arange(4.0)
    assert field.same([x, 1], [x.copy(), 1])
    assert not field.same(x + 1e-6, x)
    assert not field.same(x.astype(int), x)
    assert not field.same([x], [x, x])
    assert not field.same("a", "b")
