"""Random programs with too little memory: computed results have NumPy's values, whatever got no memory.

Each statement runs under numelt and NumPy; if numelt raises MemoryError, NumPy does not run it. At the end,
every array either has NumPy's values, or raises an error because it got no memory.
"""

import gc
import random
import re

import numpy
import pytest

import numelt

# the limits here are those of the host's memory
pytestmark = pytest.mark.usefixtures("on_the_host")

N = 20_000
EXPRESSIONS = [
    "x + y",
    "x * 2.0 - y",
    "np.sqrt(np.abs(x))",
    "np.where(x > y, x, 1.5)",
    "x[::-1] + y",
    "np.cumsum(x) * 1e-3",
    "x - x.mean()",
    "np.concatenate([x[N // 2 :], y[: N // 2]])",
    "x[index]",
    "np.roll(x, 3) + y",
    "rng.random(N)",
    "np.arange(float(N)) + y[0]",
    "(x.reshape(100, -1) - x.reshape(100, -1).max(axis=1, keepdims=True)).ravel()",
    "np.broadcast_to(x[:100, None], (100, N // 100)).ravel() + y",
    "x.astype('f4').astype('f8') + y.sum()",
]
UPDATES = [
    "x += y",
    "x *= 0.5",
    "x[1:] -= x[:-1]",
    "x[...] = y[::-1]",
    "x[: N // 2] = y[N // 2 :] + 1",
    "x[index] = y",
    "np.add.at(x, index, y)",
    "x[x > y] = 0.25",
    "np.multiply(x, y, out=x)",
    "x[::2] = rng.random(N // 2)",
    "x[10:20] += y.max() * 1e-9",
]
READS = ["float(x[7])", "float(x.sum())", "float(y[::3].max())", "bool((x == y).any())", "x[:3].tolist()"]


def program(seed):
    """Return statements: their kind, their text and the arrays that they name."""
    chance = random.Random(seed)
    for _ in range(chance.randint(10, 60)):
        places = (chance.randrange(100), chance.randrange(100))
        kind = chance.choices(["new", "update", "read", "export", "drop", "many"], [9, 6, 3, 1, 4, 1])[0]
        texts = {"new": EXPRESSIONS, "many": EXPRESSIONS, "update": UPDATES, "read": READS}
        yield kind, chance.choice(texts.get(kind, [""])), places


def step(np, state, kind, text, places):
    """Run one statement; returns the value that it reads."""
    arrays = state["arrays"]
    names = {name: arrays[at % len(arrays)] for name, at in zip("xy", places, strict=True)}
    names |= {"np": np, "N": N, "index": state["index"], "rng": state["rng"]}
    match kind:
        case "new":
            arrays.append(eval(text, names))
        case "many":
            arrays.extend([eval(text, names) for _ in range(30)])
        case "update":
            exec(text, names)
        case "read":
            return eval(text, names)
        case "export":
            return numpy.asarray(names["x"]).copy()
        case "drop" if len(arrays) > 2:
            del arrays[places[0] % len(arrays)]
    return None


def start(np, seed):
    rng = numpy.random.default_rng(seed)
    return {
        "arrays": [np.array(rng.random(N)) for _ in range(3)],
        "index": np.array(rng.permutation(N)),
        "rng": np.random.default_rng(seed),
    }


def same(x, y):
    numpy.testing.assert_allclose(numpy.asarray(x), numpy.asarray(y), rtol=1e-9, atol=1e-12)


def check(seed, limit):
    """Run a program under both; returns how many statements and arrays got no memory."""
    gc.collect()
    theirs, ours, refused = start(numpy, seed), start(numelt, seed), 0
    numelt.flush()
    live = int(re.search(r"live: (\d+)", numelt._core.stats()["pool"])[1])
    numelt.config.memory_limit = str(live + limit * N * 8)
    for kind, text, places in program(seed):
        before = len(ours["arrays"])
        try:
            found = step(numelt, ours, kind, text, places)
        except MemoryError:  # nothing has been done
            refused += 1
            del ours["arrays"][before:]
            continue
        expected = step(numpy, theirs, kind, text, places)
        if expected is not None:
            same(found, expected)
    for lifted in (False, True):
        if lifted:
            numelt.config.memory_limit = "8G"
        for x, y in zip(ours["arrays"], theirs["arrays"], strict=True):
            try:
                value = float(x[11]) if not lifted else numpy.asarray(x)
            except MemoryError:
                refused += 1
                continue
            same(value, y if lifted else y[11])
    # the generator's state is the same as NumPy's
    assert ours["rng"].random() == theirs["rng"].random()
    return refused


@pytest.fixture(params=["as it comes", "recorded", "planned", "singleton"])
def way(request):
    """Run small operations when they are called, record all of them, plan all batches, or fuse nothing."""
    config = numelt.config
    before = config.at_once, config.piecemeal, config.fuse, config.memory_limit
    if request.param != "as it comes":
        config.at_once = 0
    if request.param == "planned":
        config.piecemeal = 0
    if request.param == "singleton":
        config.fuse = "singleton"
    yield
    config.memory_limit = before[3] or "8G"
    config.at_once, config.piecemeal, config.fuse = before[:3]


@pytest.mark.parametrize("limit", [2, 5, 12])
def test_what_is_computed_is_right(way, limit):
    refused = sum(check(seed, limit) for seed in range(8))
    assert refused > 0 or limit == 12
