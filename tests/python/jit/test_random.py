"""Random functions with loops: compiled, they do everything that they do without."""

import importlib.util

import pytest

import numelt as np
from numelt import _core

from .random_programs import HEAD, Writer, arguments, outcome

# functions in a test
MANY = 40


def load(path, text):
    """Return the function `f` of a new module."""
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.f


@pytest.fixture(params=["now and then", "soon"])
def taking_over(request):
    """Let compiled code take over again only where CPython is busy for long, or as soon as it can."""
    # a number that no statement has
    _core.jit_force_exit(0 if request.param == "now and then" else 2**32 - 1)
    yield
    _core.jit_force_exit(0)


@pytest.mark.parametrize("start", range(0, 1000, MANY))
@pytest.mark.usefixtures("taking_over")
def test_random_functions(start, tmp_path):
    for seed in range(start, start + MANY):
        text = HEAD + Writer(seed).text()
        function = load(tmp_path / f"random_{seed}.py", text)
        compiled = np.jit(function)
        for number in range(3 * seed, 3 * seed + 3):
            wanted = outcome(function, arguments(number))
            assert outcome(compiled, arguments(number)) == wanted, f"seed {seed}, arguments {number}\n{text}"
