"""Extension methods: calls are recorded, run in their turn, and raise when their results are needed."""

import random
import threading

import numpy
import pytest

import numelt

from ..support.compare import in_threads


def mixed(np):
    """Return a function that computes x + 10 * y: an extension method of numelt, or plain NumPy."""

    def fill(out, x, y):
        numpy.add(x, 10 * y, out=out)

    if np is numpy:
        return lambda x, y: numpy.add(x, 10 * y)
    return np.extension(
        "mix", result=lambda x, y: (numpy.broadcast_shapes(x.shape, y.shape), x.dtype), run=fill
    )


@pytest.fixture
def everything_recorded():
    before = numelt.config.at_once
    numelt.config.at_once = 0
    yield
    numelt.config.at_once = before


@pytest.mark.core
def test_a_call_is_recorded_and_sees_its_inputs_as_they_were(everything_recorded):
    calls = []
    double = numelt.extension(
        "double",
        result=lambda x: (x.shape, x.dtype),
        run=lambda out, x: (calls.append(type(x)), numpy.multiply(x, 2, out=out)),
    )
    x = numelt.arange(5.0) + 1
    y = double(x)
    x *= 100
    z = y + x
    assert calls == []
    assert z.tolist() == [102, 204, 306, 408, 510]
    assert y.tolist() == [2, 4, 6, 8, 10]
    assert calls == [numpy.ndarray]
    assert double.__name__ == "double"


PROGRAM = [
    "{a} = mix({b}, {c})",
    "{a} = mix({b}, {b}) - {c}",
    "{a} = {b} + {number}",
    "{a} += {b}",
    "{a} *= {number}",
    "{a}[1:] = {b}[:-1]",
    "{a}[::-1] = mix({b}, {c})",
    "{a} = mix({b}[::2], {c}[::2]).repeat(2)[:6]",
    "log.append(float({a}.sum()))",
    "log.append({a}.tolist())",
    "{a}[{b} > {number}] = 1",
    "{a} = np.maximum({a} % 1000, -1000)",
    "{a} = np.sort({b})",
    "del {a}; {a} = {b} * 2",
]


def program(seed):
    choose = random.Random(seed)
    lines = ["a, b, c = np.arange(6.0), np.ones(6), np.arange(6.0)[::-1] * 3"]
    for _ in range(30):
        names = dict(zip("abc", choose.sample("abc", 3), strict=True))
        lines.append(choose.choice(PROGRAM).format(**names, number=choose.choice([-1, 0.5, 2, 3])))
        lines.append("a, b, c = (np.fmod(x, 1e6) for x in (a, b, c))")
    return "\n".join(lines)


def outcome(np, text):
    names = {"np": np, "mix": mixed(np), "log": []}
    with numpy.errstate(all="ignore"):
        exec(text, names)
    return names["log"] + [numpy.asarray(names[name]) for name in "abc"]


@pytest.mark.core
@pytest.mark.parametrize("decade", range(8))
def test_random_programs(decade):
    for seed in range(10 * decade, 10 * decade + 10):
        text = program(seed)
        for ours, theirs in zip(outcome(numelt, text), outcome(numpy, text), strict=True):
            numpy.testing.assert_array_equal(ours, theirs, err_msg=text)


@pytest.mark.core
def test_random_programs_in_threads():
    texts = [program(1000 + seed) for seed in range(12)]
    for text, ours in zip(texts, in_threads(lambda text: outcome(numelt, text), texts), strict=True):
        for mine, theirs in zip(ours, outcome(numpy, text), strict=True):
            numpy.testing.assert_array_equal(mine, theirs, err_msg=text)


@pytest.mark.core
@pytest.mark.parametrize("n", [3, 70_000])
def test_a_function_may_use_numelt(everything_recorded, n):
    other = numelt.arange(float(n)) * 3

    def fill(out, x):
        inner = numelt.extension("inner", result=lambda v: (v.shape, v.dtype), run=lambda o, v: o.fill(v[1]))
        out[...] = numelt.asarray(x) + other + inner(numelt.asarray(x))

    method = numelt.extension("outer", result=lambda x: (x.shape, x.dtype), run=fill)
    x = numelt.arange(float(n)) + 1
    y = method(x) * 2
    x[:] = 0
    i = numpy.arange(float(n))
    numpy.testing.assert_array_equal(y, (i + 1 + 3 * i + 2) * 2)
    numpy.testing.assert_array_equal(x, numpy.zeros(n))


@pytest.mark.core
def test_what_a_function_keeps_stays(everything_recorded):
    kept = []
    method = numelt.extension(
        "keep", result=lambda x: (x.shape, x.dtype), run=lambda out, x: (kept.extend([out, x]), out.fill(5))
    )
    x = numelt.arange(4.0) + 1
    y = method(x)
    z = y + 1
    assert z.tolist() == [6, 6, 6, 6]
    del x
    assert kept[1].tolist() == [1, 2, 3, 4]
    assert not kept[1].flags.writeable
    kept[0][0] = 9
    assert y.tolist() == [9, 5, 5, 5]
    y[1] = 8
    assert kept[0].tolist() == [9, 8, 5, 5]


@pytest.mark.core
def test_an_exception_is_raised_where_the_result_is_needed(everything_recorded):
    def fail(out, x):
        raise KeyError("no")

    method = numelt.extension("fails", result=lambda x: (x.shape, x.dtype), run=fail)
    x = numelt.arange(3.0) + 1
    y = method(x)
    z = x + 1
    with pytest.raises(KeyError, match="no"):
        y.tolist()
    with pytest.raises(RuntimeError, match="extension method fails failed"):
        y.tolist()
    assert z.tolist() == [2, 3, 4]
    y[:] = 1
    assert y.tolist() == [1, 1, 1]


@pytest.mark.core
def test_shapes_dtypes_and_arguments():
    total = numelt.extension(
        "total", result=lambda x: ((), x.dtype), run=lambda out, x: out.__setitem__((), x.sum())
    )
    assert float(total([1.0, 2.0])) == 3
    assert total(numelt.zeros((0, 3))).shape == ()
    assert total(numelt.array(["a", "b"], dtype=object)).item() == "ab"
    rows = numelt.extension(
        "rows", result=lambda x: (x.shape[:1], "i4"), run=lambda out, x: x.sum(axis=1, out=out)
    )
    x = numelt.arange(12).reshape(3, 4)
    assert rows(x.T[::-1]).tolist() == [21, 18, 15, 12]
    assert rows(x).dtype == "i4"
    with pytest.raises(TypeError, match="is no function"):
        numelt.extension("x", result=None, run=print)
    with pytest.raises(ValueError, match="negative dimensions"):
        numelt.extension("bad", result=lambda: ((-1,), float), run=print)()


@pytest.mark.core
def test_inputs_that_numpy_sees_are_read_at_once():
    a = numpy.arange(4.0)
    method = numelt.extension("copy", result=lambda x: (x.shape, x.dtype), run=numpy.copyto)
    y = method(a)
    a[:] = 7
    assert y.tolist() == [0, 1, 2, 3]


@pytest.mark.core
def test_filters_see_what_comes_before_and_after(everything_recorded):
    seen = []

    def look(program):
        seen.append(len(program))

    numelt.filters.register(look)
    try:
        x = numelt.arange(4.0) + 1
        y = mixed(numelt)(x, x) + 1
        assert y.tolist() == [12, 23, 34, 45]
    finally:
        numelt.filters.remove(look)
    assert len(seen) >= 2


@pytest.mark.core
def test_other_threads_wait_and_do_not_hang(everything_recorded):
    began = threading.Event()

    def slow(out, x):
        began.set()
        for _ in range(50):
            numelt.arange(10.0).sum()  # lets other threads run in between
        out[...] = x

    method = numelt.extension("slow", result=lambda x: (x.shape, x.dtype), run=slow)
    x = numelt.arange(5.0) + 1
    y = method(x)
    x += 1
    found = []

    def read():
        began.wait()
        found.append((y * 2).tolist())

    reader = threading.Thread(target=read)
    reader.start()
    assert y.tolist() == [1, 2, 3, 4, 5]
    reader.join(30)
    assert found == [[2, 4, 6, 8, 10]]
    assert x.tolist() == [2, 3, 4, 5, 6]
