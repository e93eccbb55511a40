"""Random functions with compiled loops have the same outcome as in CPython."""

import importlib.util
import linecache
import random
import signal

import pytest

import numelt as np
from numelt import _core
from numelt._jit.twin import module_twin

from . import random_ordinary
from .random_programs import HEAD, Writer, arguments, outcome, seen

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
    """Resume loops only when CPython has been busy for some time, or as soon as possible."""
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


def namespace(filename, text, is_compiled, has_idle=True):
    """Run the text of a module, with or without ``--jit-loops``, and return its namespace.

    Without `has_idle`, loops whose code would stop at once in each iteration have no units.
    """
    names = {"__name__": "random_ordinary"}
    linecache.cache[filename] = len(text), None, text.splitlines(keepends=True), filename
    if is_compiled:
        code = module_twin(text, filename, names, True, has_idle).code
    else:
        code = compile(text, filename, "exec")
    exec(code, names)
    return names


def of_program(names, number):
    """Return everything that a program can see of a call of its function."""
    names["counter"] = 0
    names["caught"].clear()
    names["rng"] = np.random.default_rng(number)
    names["legacy"].seed(number)
    names["dice"].seed(number)
    np.random.seed(number)
    random.seed(number)
    before = signal.signal(signal.SIGUSR1, names["on_signal"])
    try:
        found = outcome(names["f"], random_ordinary.shared(random_ordinary.arguments(number)))
    finally:
        signal.signal(signal.SIGUSR1, before)
        np.seterr(over="warn")
    generators = names["rng"].bit_generator.state, names["dice"].getstate(), random.getstate()
    legacy = [repr(state(legacy=False)) for state in (names["legacy"].get_state, np.random.get_state)]
    return found, names["counter"], seen(names["caught"]), generators, legacy


@pytest.mark.parametrize("start", range(0, 400, MANY))
@pytest.mark.usefixtures("taking_over")
def test_random_programs(start):
    for seed in range(start, start + MANY):
        text = random_ordinary.HEAD + random_ordinary.Writer(seed).text()
        plain = namespace(f"<random {seed}>", text, False)
        compiled = namespace(f"<random {seed}>", text, True, has_idle=seed % 2 == 0)
        for number in range(2 * seed, 2 * seed + 2):
            wanted = of_program(plain, number)
            assert of_program(compiled, number) == wanted, f"seed {seed}, arguments {number}\n{text}"
