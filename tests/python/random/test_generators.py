"""The same numbers as NumPy for the same seed, bit for bit, and the same state of the generator
afterwards."""

import copy
import pickle
import threading

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import numelt

from ..support.compare import as_numpy

BIT_GENERATORS = ["PCG64", "PCG64DXSM", "Philox", "SFC64", "MT19937"]
NATIVE = BIT_GENERATORS[:3]


def pair(name="PCG64", seed=42):
    """Return numelt's and NumPy's generator of a seed."""
    return (
        numelt.random.Generator(getattr(numelt.random, name)(seed)),
        numpy.random.Generator(getattr(numpy.random, name)(seed)),
    )


def state_of(generator):
    if isinstance(generator, numpy.random.RandomState):
        return generator.get_state(legacy=False)
    return generator.bit_generator.state


def same_state(x, y):
    if isinstance(x, dict):
        return x.keys() == y.keys() and all(same_state(x[key], y[key]) for key in x)
    return bool(numpy.array_equal(x, y))


def assert_same_bits(ours, theirs, context=""):
    if isinstance(theirs, (list, tuple)):
        assert len(ours) == len(theirs), context
        for a, b in zip(ours, theirs, strict=True):
            assert_same_bits(a, b, context)
        return
    if isinstance(theirs, numpy.ndarray):
        assert type(ours) is numelt.ndarray, context
    else:
        assert type(as_numpy(ours)) is type(theirs), context
    ours, theirs = numpy.asarray(as_numpy(ours)), numpy.asarray(theirs)
    assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape), context
    assert ours.size == 0 or ours.strides == theirs.strides, context
    assert ours.tobytes() == theirs.tobytes(), context


def check(ours, theirs, draw):
    """Draw from both, as often as necessary to see whether the states agree."""
    for _ in range(2):
        assert_same_bits(draw(ours, numelt), draw(theirs, numpy))
    assert same_state(state_of(ours), state_of(theirs))


SIZES = [None, 0, 1, 2, 3, 7, 8, 9, 100, 2047, 2048, 2049, 5001, (), (3,), (2, 0), (50, 3, 40), 100_003]


@pytest.mark.parametrize("name", BIT_GENERATORS)
@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize(
    "draw",
    [
        lambda g, size: g.random(size),
        lambda g, size: g.random(size, dtype="f4"),
        lambda g, size: g.random(size, numpy.float32),
        lambda g, size: g.uniform(-3, 7.5, size),
        lambda g, size: g.uniform(size=size),
        lambda g, size: g.integers(0, 64, size),
        lambda g, size: g.integers(-(2**62), 2**62, size),
        lambda g, size: g.integers(2**40, size=size, dtype="u8"),
        lambda g, size: g.integers(-8, 7, size, endpoint=True),
        lambda g, size: g.integers(100, size=size),
        lambda g, size: g.integers(2**32, size=size, dtype=numpy.uint32),
        lambda g, size: g.integers(2**31, size=size, dtype=numpy.int32),
        lambda g, size: g.standard_normal(size),
    ],
)
def test_draws(name, size, draw):
    ours, theirs = pair(name)
    check(ours, theirs, lambda g, np: draw(g, size))


@pytest.mark.parametrize("dtype", ["bool", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"])
@pytest.mark.parametrize("name", ["PCG64", "Philox"])
def test_integers_of_every_dtype_and_range(name, dtype):
    info = None if dtype == "bool" else numpy.iinfo(dtype)
    low, high = (0, 1) if info is None else (int(info.min), int(info.max))
    ours, theirs = pair(name)
    spans = {
        0,
        1,
        2,
        3,
        7,
        8,
        200,
        255,
        256,
        2**15,
        2**16 - 1,
        2**32 - 1,
        2**32,
        2**33 - 1,
        2**63 - 1,
        2**64 - 1,
    }
    for span in sorted(s for s in spans if low + s <= high):
        for size in (None, 5, 3000):
            for kind in (dtype, numpy.dtype(dtype), numpy.dtype(dtype).type):
                kwargs = {"size": size, "dtype": kind, "endpoint": True}
                a, b = ours.integers(low, low + span, **kwargs), theirs.integers(low, low + span, **kwargs)
                assert_same_bits(a, b, f"{span} {kind}")
                assert same_state(state_of(ours), state_of(theirs)), f"{span} {kind}"


@pytest.mark.parametrize("name", BIT_GENERATORS)
def test_integers_with_rejected_words(name):
    ours, theirs = pair(name)
    for count, dtype in (
        (10, "i8"), (3_000_000_019, "i8"), (2**40 + 9, "i8"),
        (2**31 + 1, "u4"), (2**32 - 2, "u4"), (3 * 2**62, "u8"),
    ):  # fmt: skip
        kind = numpy.dtype(dtype).type
        for size in (1, 7, 2047, 2049, (30, 100), 600_000 if name == "PCG64" else 5000):
            draw = ours.integers(5, count, size, dtype=kind), theirs.integers(5, count, size, dtype=kind)
            assert_same_bits(*draw, f"{count} {dtype} {size}")
            assert same_state(state_of(ours), state_of(theirs)), f"{count} {dtype} {size}"


ARGUMENTS = {
    "beta": (2, 3), "binomial": (10, 0.4), "bytes": None, "chisquare": (3,), "choice": None,
    "dirichlet": None, "exponential": (2.0,), "f": (3, 4), "gamma": (2.0, 1.5), "geometric": (0.3,),
    "gumbel": (), "hypergeometric": (10, 9, 8), "integers": (5,), "laplace": (), "logistic": (),
    "lognormal": (), "logseries": (0.4,), "multinomial": None, "multivariate_hypergeometric": None,
    "multivariate_normal": None, "negative_binomial": (3, 0.4), "noncentral_chisquare": (3, 1.0),
    "noncentral_f": (3, 4, 1.0), "normal": (1.0, 2.0), "pareto": (3.0,), "permutation": None,
    "permuted": None, "poisson": (4.0,), "power": (2.0,), "rand": None, "randint": (2, 9),
    "randn": None, "random": (), "random_integers": None, "random_sample": (), "rayleigh": (),
    "shuffle": None, "spawn": None, "standard_cauchy": (), "standard_exponential": (),
    "standard_gamma": (2.0,), "standard_normal": (), "standard_t": (4,), "tomaxint": (),
    "triangular": (0, 1, 3), "uniform": (1.0, 2.0), "vonmises": (0.0, 1.0), "wald": (1.0, 2.0),
    "weibull": (2.0,), "zipf": (2.5,),
}  # fmt: skip
STATE_METHODS = {"seed", "get_state", "set_state"}


def methods(cls):
    return [
        m for m in dir(cls) if not m.startswith("_") and callable(getattr(cls, m)) and m not in STATE_METHODS
    ]


@pytest.mark.parametrize("name", BIT_GENERATORS)
@pytest.mark.parametrize("method", methods(numpy.random.Generator))
def test_every_method_of_a_generator(name, method):
    arguments = ARGUMENTS[method]
    if arguments is None:
        return  # tested below
    ours, theirs = pair(name)
    for size in (None, 5, (40, 60)):
        check(ours, theirs, lambda g, np, size=size: getattr(g, method)(*arguments, size=size))


@pytest.mark.parametrize("method", methods(numpy.random.RandomState))
def test_every_method_of_the_legacy_state(method):
    arguments = ARGUMENTS[method]
    if arguments is None:
        return
    ours, theirs = numelt.random.RandomState(7), numpy.random.RandomState(7)
    for size in (None, 5, (40, 60)):
        check(ours, theirs, lambda g, np, size=size: getattr(g, method)(*arguments, size=size))
        if hasattr(numelt.random, method):
            # both packages have one global state
            numelt.random.seed(3)
            a = getattr(numelt.random, method)(*arguments, size=size)
            after = numelt.random.get_state(legacy=False)
            numpy.random.seed(3)
            assert_same_bits(a, getattr(numpy.random, method)(*arguments, size=size))
            assert same_state(after, numpy.random.get_state(legacy=False))


@pytest.mark.parametrize(
    "draw",
    [
        lambda g, np: g.bytes(9),
        lambda g, np: g.choice(10),
        lambda g, np: g.choice(np.arange(50.0), 20),
        lambda g, np: g.choice(np.arange(50.0), 20, replace=False),
        lambda g, np: g.choice([1, 2, 3], 5, p=[0.2, 0.3, 0.5]),
        lambda g, np: g.dirichlet([1.0, 2.0], 3),
        lambda g, np: g.multinomial(10, [0.2, 0.8], 4),
        lambda g, np: g.multivariate_normal(np.zeros(2), np.eye(2), 5),
        lambda g, np: g.permutation(7),
        lambda g, np: g.permutation(np.arange(12).reshape(4, 3)),
        lambda g, np: g.permutation([3, 1, 2]),
        lambda g, np: g.normal(np.arange(4.0), np.arange(1.0, 5.0)),
        lambda g, np: g.uniform(np.arange(4.0), np.arange(4.0) + 2),
        lambda g, np: g.uniform(np.float64(1.0), 2, 3000),
        lambda g, np: g.standard_normal((3, 4)) + 1.0,
    ],
)
@pytest.mark.parametrize("kind", ["generator", "legacy"])
def test_methods_with_arrays(draw, kind):
    if kind == "generator":
        check(*pair(), draw)
    else:
        check(numelt.random.RandomState(1), numpy.random.RandomState(1), draw)


@pytest.mark.core
def test_shuffling_in_place():
    for make in (lambda: pair(), lambda: (numelt.random.RandomState(1), numpy.random.RandomState(1))):
        ours, theirs = make()
        for build in (
            lambda np: np.arange(20) * 2,
            lambda np: (np.arange(24.0) * 2).reshape(6, 4),
            lambda np: np.arange(24.0).reshape(4, 6).T[::2],
            lambda np: [1, 2, 3, 4, 5],
        ):
            x, y = build(numelt), build(numpy)
            ours.shuffle(x)
            theirs.shuffle(y)
            numpy.testing.assert_array_equal(as_numpy(x), y)
        x, y = [numelt.ones(1) * i for i in range(5)], [numpy.ones(1) * i for i in range(5)]
        ours.shuffle(x)
        theirs.shuffle(y)
        assert [float(a[0]) for a in x] == [float(b[0]) for b in y]
        assert same_state(state_of(ours), state_of(theirs))
    x = numelt.arange(10)
    numelt.random.seed(5)
    numelt.random.shuffle(x)
    numpy.random.seed(5)
    assert x.tolist() == numpy.random.permutation(10).tolist()


def refused(ours):
    wrong = numelt.zeros(3000, "f4")
    for bad in (
        lambda: ours.random(out=wrong),
        lambda: ours.random(3, out=numelt.zeros(4)),
        lambda: ours.random(3, dtype="i8"),
        lambda: ours.random(out=numelt.zeros(8)[::2]),
        lambda: ours.random(-1),
        lambda: ours.random(2.5),
        lambda: ours.uniform(0, float("inf"), 3000),
        lambda: ours.uniform(2, 1, 3000),
        lambda: ours.integers(5, 5, 3000),
        lambda: ours.integers(0, 2**33, 3000, dtype=numpy.int32),
    ):
        with pytest.raises((TypeError, ValueError, OverflowError)):
            bad()


def test_into_out():
    for name in BIT_GENERATORS:
        ours, theirs = pair(name)
        for shape, dtype in (((5,), "f8"), ((70, 60), "f8"), ((70, 60), "f4"), ((0,), "f4")):
            x, y = numelt.zeros(shape, dtype), numpy.zeros(shape, dtype)
            assert ours.random(out=x, dtype=dtype) is x
            theirs.random(out=y, dtype=dtype)
            assert_same_bits(x, y)
            assert ours.random(shape, out=x, dtype=dtype) is x
            theirs.random(shape, out=y, dtype=dtype)
            assert_same_bits(x, y)
        x, y = numelt.zeros((60, 70)).T, numpy.zeros((60, 70)).T
        ours.random(out=x), theirs.random(out=y)
        assert x.tobytes() == y.tobytes()
        plain = numpy.zeros(3000)
        assert ours.random(out=plain) is plain
        assert_same_bits(numelt.array(plain), theirs.random(3000))
        refused(ours)
        assert same_state(state_of(ours), state_of(theirs))


DRAWS = st.lists(
    st.tuples(
        st.sampled_from(
            [
                "random",
                "single",
                "uniform",
                "raw",
                "halves",
                "words",
                "bits",
                "normal",
                "bytes",
                "scalar",
            ]
        ),
        st.sampled_from([1, 2, 3, 5, 8, 2048, 2049, 2050, 2051]),
        st.booleans(),
    ),
    max_size=12,
)


def one_draw(g, kind, n):
    match kind:
        case "random":
            return g.random(n)
        case "single":
            return g.random(n, numpy.float32)
        case "uniform":
            return g.uniform(-1.0, 3.0, n)
        case "raw":
            return [int(x) for x in g.bit_generator.random_raw(n)]
        case "halves":
            return g.integers(0, 32, n)
        case "words":
            return g.integers(0, 2**50, n, dtype=numpy.uint64)
        case "bits":
            return g.integers(0, 3 * 2**30, n)
        case "normal":
            return g.standard_normal(n)
        case "bytes":
            return g.bytes(n)
        case "scalar":
            return g.random()


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(BIT_GENERATORS), st.integers(0, 2**64), DRAWS)
def test_interleaved_draws(name, seed, draws):
    ours, theirs = pair(name, seed)
    kept = []
    for kind, n, by_numpy in draws:
        source = numpy.random.Generator(ours.bit_generator) if by_numpy else ours
        kept.append((one_draw(source, kind, n), one_draw(theirs, kind, n), kind))
        assert same_state(state_of(ours), state_of(theirs)), kind
    for a, b, kind in kept:
        numpy.testing.assert_array_equal(as_numpy(a), b, err_msg=kind)


@pytest.mark.parametrize("name", BIT_GENERATORS)
def test_states_that_were_set(name):
    ours, theirs = pair(name)
    saved = ours.bit_generator.state
    first = ours.random(5000)
    ours.bit_generator.state = saved
    assert_same_bits(ours.random(5000), theirs.random(5000))
    assert first.tolist() == numelt.random.Generator(ours.bit_generator).random(0).tolist() + first.tolist()
    if "has_uint32" in saved:
        # half a word that is kept and is not part of any word of the stream
        for has, half in ((1, 12345), (0, 99)):
            for g in (ours, theirs):
                g.bit_generator.state = {**g.bit_generator.state, "has_uint32": has, "uinteger": half}
            check(ours, theirs, lambda g, np: g.random(3000, "f4"))
    if name == "Philox":
        for position in range(5):
            for g in (ours, theirs):
                top = numpy.array([2**64 - 2, 2**64 - 1, 2**64 - 1, 0], numpy.uint64)
                changed = {**saved, "buffer_pos": position}
                changed["state"] = {**saved["state"], "counter": top}
                g.bit_generator.state = changed
            check(ours, theirs, lambda g, np: g.random(3000))
            check(ours, theirs, lambda g, np: g.random(3001, "f4"))


@pytest.mark.parametrize("name", BIT_GENERATORS)
def test_pickling_copying_spawning_jumping(name):
    ours, theirs = pair(name)
    ours.random(3001, "f4"), theirs.random(3001, "f4")
    again = pickle.loads(pickle.dumps(ours))
    assert type(again) is numelt.random.Generator
    expected = theirs.random(3000)
    for g in (again, copy.deepcopy(ours), ours):
        assert_same_bits(g.random(3000), expected)
    for a, b in zip(ours.spawn(2), theirs.spawn(2), strict=True):
        check(a, b, lambda g, np: g.random(3000))
    if hasattr(theirs.bit_generator, "jumped"):
        a, b = ours.bit_generator.jumped(), theirs.bit_generator.jumped()
        check(numelt.random.Generator(a), numpy.random.Generator(b), lambda g, np: g.random(3000))
    state = numelt.random.RandomState(3)
    state.standard_normal()
    again = pickle.loads(pickle.dumps(state))
    assert as_numpy(again.standard_normal(5)).tolist() == as_numpy(state.standard_normal(5)).tolist()


def test_seeds():
    for seed in (0, 2**70, [1, 2, 3], numelt.arange(4), numpy.random.SeedSequence(5), None):
        theirs = numpy.asarray(seed) if isinstance(seed, numelt.ndarray) else seed
        ours, theirs = numelt.random.default_rng(seed), numpy.random.default_rng(theirs)
        if seed is not None:
            check(ours, theirs, lambda g, np: g.random(2100))
    g = numelt.random.default_rng(1)
    assert numelt.random.default_rng(g) is g
    with pytest.raises((TypeError, ValueError)):
        numelt.random.default_rng("seed")


def test_threads_share_one_stream():
    ours, theirs = pair()
    drawn = []

    def work():
        for _ in range(20):
            drawn.append(ours.random(3000))
            drawn.append(ours.random(10))

    threads = [threading.Thread(target=work) for _ in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    together = numpy.sort(numpy.concatenate([numpy.asarray(x) for x in drawn]))
    expected = theirs.random(4 * 20 * 3010)
    assert numpy.array_equal(together, numpy.sort(expected))
    assert same_state(state_of(ours), state_of(theirs))


def test_numbers_are_made_where_they_are_consumed():
    n = 200_000
    theirs = numpy.random.default_rng(3)
    x, y = theirs.random(n), theirs.random(n)
    inside = int(numpy.sum(x * x + y * y <= 1.0))
    for seed in (3, 3):
        ours = numelt.random.default_rng(seed)
        with numelt.inspect() as seen:
            x, y = ours.random(n), ours.random(n)
            with numelt.lazy():
                hits = numelt.sum(x * x + y * y <= 1.0)
            del x, y
            assert int(hits) == inside
        assert seen.kernels == 1
        assert max(seen.allocated) <= 8
        text = seen.flushes[0]["kernels"][0]
        assert text.count("pcg64.f64") == 2
    with numelt.inspect() as seen:  # another seed needs no other kernel
        ours = numelt.random.default_rng(99)
        x, y = ours.random(n), ours.random(n)
        with numelt.lazy():
            hits = numelt.sum(x * x + y * y <= 1.0)
        del x, y
        float(hits)
    assert seen.flushes[0]["cache_hit"]


@pytest.mark.core
def test_layouts_that_consume_a_stream():
    for name in NATIVE:
        ours, theirs = pair(name)
        x, y = ours.random((70, 60)), theirs.random((70, 60))
        f, g = numelt.zeros((60, 70)).T, numpy.zeros((60, 70)).T
        assert_same_bits(x + f, y + g)
        x, y = ours.random((70, 60), "f4"), theirs.random((70, 60), "f4")
        assert_same_bits((x.T * 2)[::-1], (y.T * 2)[::-1])
        x, y = ours.random((7, 50, 60)), theirs.random((7, 50, 60))
        assert_same_bits((x * 2).sum(axis=0), (y * 2).sum(axis=0))
        x, y = ours.random((7, 50, 60)), theirs.random((7, 50, 60))
        assert_same_bits((x * 2).sum(axis=2), (y * 2).sum(axis=2))
        x, y = ours.random(5000), theirs.random(5000)
        x[::2] += x[1::2]
        y[::2] += y[1::2]
        assert_same_bits(x, y)


def test_no_draw_is_a_fallback():
    numelt.coverage(reset=True)
    numelt.config.fallback = "error"
    try:
        ours = numelt.random.default_rng(0)
        ours.normal(size=3), ours.random(5), ours.integers(0, 9, 4), ours.shuffle(numelt.arange(4))
        numelt.random.seed(1)
        numelt.random.rand(3), numelt.random.randint(0, 5, 3), numelt.random.normal(0, 1, 3)
    finally:
        numelt.config.fallback = "silent"
    assert numelt.coverage().library["random.Generator.normal"] == 1


@pytest.mark.parametrize(
    "draw",
    [
        lambda np: np.random.default_rng(1).random(2**40),
        lambda np: np.random.RandomState(1).rand(2**40),
        lambda np: np.random.default_rng(1).integers(0, 9, (2**20, 2**20)),
        lambda np: np.broadcast_to(np.ones(1), 2**40).copy(),
        lambda np: np.broadcast_to(np.ones(1), 2**41).astype("f4"),
    ],
)
def test_what_no_memory_can_hold_is_refused_at_once(draw):
    with pytest.raises(MemoryError, match=r"Unable to allocate 8\.00 TiB for an array with shape \("):
        draw(numelt)


def test_size_may_be_an_array():
    for draw in ("standard_normal", "random_sample"):
        want = getattr(numpy.random.RandomState(3), draw)(numpy.arange(1, 4))
        got = getattr(numelt.random.RandomState(3), draw)(numelt.arange(1, 4))
        assert numpy.array_equal(numpy.asarray(got), want)


@pytest.mark.parametrize("name", ["Generator", "RandomState"])
def test_numpys_generators_are_instances(name):
    ours, theirs = getattr(numelt.random, name), getattr(numpy.random, name)
    made = theirs(numpy.random.PCG64(1))
    assert isinstance(made, ours)
    assert issubclass(theirs, ours)
    assert isinstance(ours(numelt.random.PCG64(1)), theirs)

    class Own(ours):
        pass

    assert not isinstance(made, Own)
    assert not isinstance(ours(numelt.random.PCG64(1)), Own)
    assert isinstance(Own(numelt.random.PCG64(1)), ours)
    assert not isinstance(3, ours)


@pytest.mark.parametrize("name", BIT_GENERATORS)
def test_libraries_make_generators_of_our_seeds(name):
    """Code of a library has NumPy's own module, and gets our arrays from generators of the program."""
    drawn = numelt.random.default_rng(1).integers(0, 2**63 - 1, size=4)
    theirs = numpy.random.default_rng(1).integers(0, 2**63 - 1, size=4)

    class Own(numpy.random.SeedSequence):
        pass

    makers = (
        lambda seed: getattr(numpy.random, name)(seed),
        lambda seed: getattr(numpy.random, name)(numpy.random.SeedSequence(seed)),
        lambda seed: getattr(numpy.random, name)(Own(entropy=seed).spawn(1)[0]),
        lambda seed: getattr(numelt.random, name)(seed),
    )
    for make in makers:
        ours, wanted = make(drawn), make(theirs)
        assert type(ours) is type(wanted)
        assert isinstance(ours, getattr(numpy.random, name))
        assert ours.random_raw() == wanted.random_raw()
    again = pickle.loads(pickle.dumps(ours))
    assert type(again) is type(ours)
    assert again.random_raw() == wanted.random_raw()
    assert numpy.random.default_rng(drawn).random() == numpy.random.default_rng(theirs).random()
