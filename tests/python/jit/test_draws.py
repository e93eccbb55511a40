"""Draws of single random numbers in compiled loops: the same numbers, and the same states of generators."""

import copy
import functools
import random
import threading

import numpy
import pytest

import numelt as np
from numelt._jit import reporting

from .random_programs import outcome

BITS = ["PCG64", "PCG64DXSM", "MT19937", "SFC64", "Philox"]


def state(generator):
    """Return everything that tells which numbers a generator will draw."""
    if isinstance(generator, random.Random):
        return generator.getstate()
    if isinstance(generator, numpy.random.RandomState):
        return repr(generator.get_state(legacy=False))
    return repr(generator.bit_generator.state)


def stops(function):
    """Return the reasons why CPython has run statements of a function, apart from signals."""
    variants = [variant for unit in reporting.units(function) for variant in unit.report()["variants"]]
    assert variants, "the loops have not been compiled"
    found = [why for variant in variants for _, why, _, count in variant["exits"] if count > 0]
    return [why for why in found if why != "a signal"]


def compare(function, compiled, make, *args):
    """Compare a compiled function with CPython, twice: results, and states of the generator."""
    plain, own = make(), make()
    for _ in range(2):
        found, wanted = (
            outcome(lambda *args, call=call: call(*args), copy.deepcopy(args))
            for call in (functools.partial(compiled, own), functools.partial(function, plain))
        )
        assert found == wanted
        assert state(own) == state(plain)


def check(function, make, *args):
    """Compare a compiled function with CPython: result, and state of the generator that `make` returns.

    Return the reasons why compiled code has stopped.
    """
    compiled = np.jit(function)
    compare(function, compiled, make, *args)
    return stops(compiled)


def floats_of_numpy(rng, n):
    drawn = []
    total = 0.0
    for i in range(n):
        total += rng.random() + rng.uniform() + rng.uniform(-2, high=i) * rng.standard_normal()
        total += rng.normal() + rng.normal(i) + rng.normal(scale=0.5) + rng.normal(1.5, 3)
        total += rng.standard_exponential() + rng.exponential() + rng.exponential(scale=2)
        drawn.append(rng.random())
    return total, drawn


def integers_of_numpy(rng, n):
    drawn = []
    for i in range(1, n):
        drawn.append(rng.integers(i))
        drawn.append(rng.integers(-i, i))
        drawn.append(rng.integers(low=3, high=2**40))
        drawn.append(rng.integers(2**32))
        drawn.append(rng.integers(-9223372036854775807, 9223372036854775807))
        drawn.append(rng.integers(5, 6))
    return drawn, [type(item) for item in drawn[:3]]


@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("function", [floats_of_numpy, integers_of_numpy])
def test_numpys_generator(function, bits):
    made = getattr(numpy.random, bits)
    found = check(function, lambda: np.random.Generator(made(5)), 700)
    assert found == []


def test_numpys_own_class():
    function = floats_of_numpy
    assert check(function, lambda: numpy.random.Generator(numpy.random.PCG64(3)), 100) == []


def of_legacy(state, n):
    drawn = []
    for i in range(1, n):
        drawn.append(state.rand() + state.random() + state.random_sample() + state.uniform(-1, i))
        drawn.append(state.randn() + state.standard_normal() + state.normal(i, 0.5))
        drawn.append(state.randint(i))
        drawn.append(state.randint(-i, high=i))
        drawn.append(state.randint(2**35))
    return drawn, [type(item) for item in drawn[:5]]


@pytest.mark.parametrize("bits", ["MT19937", "PCG64"])
@pytest.mark.parametrize("drawn_before", [0, 1])
def test_legacy_generator(bits, drawn_before):
    def make():
        made = np.random.RandomState(getattr(numpy.random, bits)(7))
        [made.randn() for _ in range(drawn_before)]
        return made

    assert check(of_legacy, make, 400) == []
    assert check(of_legacy, lambda: numpy.random.RandomState(8), 30) == []


def of_functions(n):
    drawn = []
    for i in range(1, n):
        drawn.append(np.random.rand() + np.random.random() + np.random.uniform(0, i))
        drawn.append(np.random.randn() + np.random.normal(2.0))
        drawn.append(np.random.randint(i))
    return drawn


def test_functions_of_the_global_state():
    compiled = np.jit(of_functions)
    outcomes = []
    for function in (of_functions, compiled):
        np.random.seed(11)
        np.random.randn()
        outcomes.append((function(350), repr(np.random.get_state(legacy=False))))
    assert outcomes[0] == outcomes[1]
    assert stops(compiled) == []


def of_python(dice, n):
    drawn = []
    for i in range(1, n):
        drawn.append(dice.random() + dice.uniform(2, i) + dice.uniform(i, b=-1.5))
        drawn.append(dice.gauss(0, 1) + dice.gauss() + dice.gauss(sigma=i) + dice.normalvariate(1.0, 2.0))
        drawn.append(dice.expovariate(i) + dice.expovariate(0.5))
        drawn.append(dice.randrange(i))
        drawn.append(dice.randrange(-i, 2**40))
        drawn.append(dice.randint(0, i))
        drawn.append(dice.getrandbits(i % 64))
        drawn.append(dice.choice((1, 2, 5)))
    return drawn


@pytest.mark.parametrize("seed", range(4))
def test_pythons_generator(seed):
    def make():
        made = random.Random(seed)
        [made.gauss(0, 1) for _ in range(seed)]
        return made

    assert check(of_python, make, 500) == []


def test_functions_of_pythons_module():
    pick = random.randrange

    def draw(n):
        total = 0.0
        for i in range(n):
            total += random.random() * pick(1 + i) + random.gauss(0, 1)
        return total

    compiled = np.jit(draw)
    outcomes = []
    for function in (draw, compiled):
        random.seed(4)
        outcomes.append((function(800), random.getstate()))
    assert outcomes[0] == outcomes[1]
    assert stops(compiled) == []


def test_a_choice_from_a_list():
    def draw(dice, items, n):
        total = 0
        for _ in range(n):
            total += dice.choice(items)
        return total

    assert check(draw, lambda: random.Random(1), [1, 5, 7], 1000) == []
    compare(draw, np.jit(draw), lambda: random.Random(1), [], 3)


MAKERS = {
    "numpy": lambda: np.random.default_rng(3),
    "twister": lambda: np.random.Generator(numpy.random.MT19937(3)),
    "legacy": lambda: np.random.RandomState(3),
    "python": lambda: random.Random(3),
}


def an_error_after_draws(rng, a, n):
    for i in range(n):
        a[i % len(a)] += rng.random() + rng.random() * a[i]
    return a


def a_division_after_a_draw(rng, a, n):
    total = 0.0
    for i in range(n):
        total += rng.random() / (n - 2 - i)
    return total


def an_undone_call(rng, a, n):
    def put(k):
        for m in range(k):
            a[m] = rng.random()
        return rng.random()

    total = 0.0
    for i in range(n):
        total += put(i + 1)
    return total


@pytest.mark.parametrize("function", [an_error_after_draws, a_division_after_a_draw, an_undone_call])
@pytest.mark.parametrize("kind", sorted(MAKERS))
@pytest.mark.parametrize("n", [5, 400, 700])
def test_draws_of_a_statement_that_fails_are_undone(function, kind, n):
    # the twister makes 624 words at a time, so that some statements begin before and end after that
    for length in (n - 1, n - 3):
        found = check(function, MAKERS[kind], np.zeros(length), n)
        assert found != []


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("numpy", "rng.normal(0, -1.0)"),
        ("numpy", "rng.uniform(1, 0)"),
        ("numpy", "rng.uniform(0, 1e308 * 10)"),
        ("numpy", "rng.integers(0)"),
        ("numpy", "rng.integers(3, 3)"),
        ("numpy", "rng.exponential(-2)"),
        ("numpy", "rng.normal(i, float('nan'))"),
        ("numpy", "rng.random(3)[1]"),
        ("numpy", "rng.random(None)"),
        ("numpy", "rng.normal(0, 1, 2)[0]"),
        ("numpy", "rng.integers(4, dtype=np.int8)"),
        ("numpy", "rng.integers(4, endpoint=True)"),
        ("numpy", "rng.integers(2.0)"),
        ("numpy", "rng.integers(True)"),
        ("numpy", "rng.poisson(3)"),
        ("numpy", "rng.normal(scale=1, loc=2)"),
        ("numpy", "rng.normal(1, loc=2)"),
        ("numpy", "rng.normal('a')"),
        ("numpy", "rng.normal(np.float32(1), np.int64(2))"),
        ("numpy", "rng.integers(np.int32(3), np.int64(9))"),
        ("legacy", "rng.normal(0, -1)"),
        ("legacy", "rng.uniform(3, 1)"),
        ("legacy", "rng.randint(0)"),
        ("legacy", "rng.rand(2)[0]"),
        ("legacy", "rng.randint(1)"),
        ("legacy", "rng.exponential()"),
        ("python", "rng.randrange(0)"),
        ("python", "rng.randint(2, 1)"),
        ("python", "rng.randrange(0, 9, 2)"),
        ("python", "rng.randint(-2**63, 2**63 - 1)"),
        ("python", "rng.randint(-2**63, 2**63 - 2)"),
        ("python", "rng.expovariate(0)"),
        ("python", "rng.getrandbits(-1)"),
        ("python", "rng.getrandbits(64)"),
        ("python", "rng.getrandbits(65)"),
        ("python", "rng.getrandbits(0)"),
        ("python", "rng.uniform(True, 2**62)"),
        ("python", "rng.choice(())"),
        ("python", "rng.choice('ab')"),
        ("python", "rng.gauss(1, 2, 3)"),
        ("python", "rng.randrange(True)"),
        ("python", "rng.triangular(0, 1)"),
    ],
)
def test_arguments(kind, text, tmp_path):
    source = (
        f"import numelt as np\n\ndef f(rng, n):\n    drawn = []\n    for i in range(n):\n        x = {text}\n"
    )
    path = tmp_path / "drawing.py"
    path.write_text(source + "        drawn.append(x)\n    return drawn\n")
    names = {"__name__": "drawing"}
    exec(compile(path.read_text(), str(path), "exec"), names)
    compare(names["f"], np.jit(names["f"]), MAKERS[kind], 20)


def total_of(rng, n):
    total = 0.0
    for _ in range(n):
        total += rng.random()
    return total


def test_methods_that_the_program_replaces():
    class Half(random.Random):
        def random(self):
            return 0.5

    class Loud(np.random.Generator):
        def random(self):
            return 2.0

    compiled = np.jit(total_of)
    dice = random.Random(1)
    assert compiled(dice, 10) == total_of(random.Random(1), 10)
    dice.random = lambda: 0.25
    assert compiled(dice, 10) == 2.5
    assert compiled(Half(), 10) == 5.0
    assert compiled(Loud(np.random.PCG64(1)), 10) == 20.0
    rng = np.random.default_rng(1)
    assert compiled(rng, 10) == total_of(np.random.default_rng(1), 10)
    rng.random = lambda: 1.0
    assert compiled(rng, 10) == 10.0


def test_methods_of_a_class_that_the_program_replaces(monkeypatch):
    compiled = np.jit(total_of)
    assert compiled(np.random.default_rng(1), 10) == total_of(np.random.default_rng(1), 10)
    assert compiled(random.Random(1), 10) == total_of(random.Random(1), 10)
    monkeypatch.setattr(np.random.Generator, "random", lambda self: 3.0)
    monkeypatch.setattr(random.Random, "random", lambda self: 4.0)
    assert compiled(np.random.default_rng(1), 10) == 30.0
    assert compiled(random.Random(1), 10) == 40.0


def test_python_methods_that_call_each_other():
    def draw(dice, n):
        total = 0
        for _ in range(n):
            total += dice.uniform(0, 1) + dice.randrange(5)
        return total

    compiled = np.jit(draw)
    for name, value in (("random", lambda: 0.5), ("getrandbits", lambda k: 1), ("_randbelow", lambda n: 2)):
        dice, other = random.Random(1), random.Random(1)
        setattr(dice, name, value)
        setattr(other, name, value)
        assert compiled(dice, 10) == draw(other, 10)


def test_generators_that_share_their_bits():
    def draw(rng, n):
        other, old = np.random.Generator(rng.bit_generator), np.random.RandomState(rng.bit_generator)
        total = 0.0
        for _ in range(n):
            total = total * 0.5 + rng.random() - other.normal() + old.normal()
        return total, repr(old.get_state(legacy=False))

    assert check(draw, MAKERS["twister"], 301) == []
    assert check(draw, MAKERS["numpy"], 301) == []


def test_attributes_and_methods_of_objects():
    class Walker:
        def __init__(self, rng):
            self.rng = rng
            self.place = 0

        def step(self):
            self.place += 1 if self.rng.random() < 0.5 else -1
            return self.place

    def walk(rng, n):
        walker = Walker(rng)
        far = 0
        for _ in range(n):
            far = max(far, abs(walker.step()))
        return far, walker.place

    for make in MAKERS.values():
        assert check(walk, make, 900) == []


def test_while_loops():
    def wait(rng, n):
        count = 0
        while rng.random() > 1 / n:
            count += 1
        return count

    for make in MAKERS.values():
        for n in (2, 100, 5000):
            compare(wait, np.jit(wait), make, n)


def test_other_threads_draw_between():
    rng = np.random.default_rng(5)
    drawn = []
    is_over = threading.Event()

    def others():
        while not is_over.is_set():
            drawn.append(rng.random())
            is_over.wait(0.001)

    def draw(n):
        mine = []
        for _ in range(n):
            mine.append(rng.random())
        return mine

    thread = threading.Thread(target=others)
    thread.start()
    try:
        mine = np.jit(draw)(600_000)
    finally:
        is_over.set()
        thread.join()
    wanted = np.random.default_rng(5)
    # every number has been drawn once, by one of the two
    assert sorted(mine + drawn) == sorted(wanted.random(len(mine) + len(drawn)).tolist())
    assert rng.bit_generator.state == wanted.bit_generator.state
