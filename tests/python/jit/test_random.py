"""Random functions with loops: compiled, they do everything that they do without."""

import importlib.util

import pytest

import numelt as np

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


@pytest.mark.parametrize("start", range(0, 2000, MANY))
def test_random_functions(start, tmp_path):
    for seed in range(start, start + MANY):
        text = HEAD + Writer(seed).text()
        function = load(tmp_path / f"random_{seed}.py", text)
        compiled = np.jit(function)
        for number in range(3 * seed, 3 * seed + 3):
            wanted = outcome(function, arguments(number))
            assert outcome(compiled, arguments(number)) == wanted, f"seed {seed}, arguments {number}\n{text}"
