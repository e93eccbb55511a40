"""Loops are compiled unasked once CPython would take longer for them than compiling takes."""

import dis

import pytest

import numelt as np
from numelt._jit import loading
from numelt._jit.reporting import UNITS

pytestmark = pytest.mark.core


def ran(text, **names):
    """Run a file as ``--jit-loops`` does; return its names and how often compiled code ran in it."""
    namespace = {"np": np, **names}
    exec(loading.code_of(text, "program.py", namespace), namespace)
    variants = [variant for unit in namespace[UNITS] for variant in unit.report()["variants"]]
    return namespace, sum(variant["runs"] for variant in variants)


def test_a_long_loop_is_compiled_at_once():
    found, runs = ran("s = 0\nfor i in range(n):\n    s += i & 7\n", n=400_000)
    assert (found["s"], runs) == (sum(i & 7 for i in range(400_000)), 1)
    text = "s = 0\nfor i in range(len(a)):\n    for j in range(a.shape[1]):\n        s = s + a[i, j]\n"
    found, runs = ran(text, a=np.ones((300, 400)))
    assert (found["s"], runs) == (120_000.0, 1)


def test_short_loops_are_compiled_when_they_have_run_often():
    text = "def f(n):\n    s = 0\n    for i in range(n):\n        s += i\n    return s\n"
    text += "all = [f(300) for _ in range(k)]\n"
    found, runs = ran(text, k=20)
    assert (found["all"], runs) == ([44850] * 20, 0)
    found, runs = ran(text, k=3000)
    assert found["all"] == [44850] * 3000
    assert 1000 < runs < 3000


def test_short_loops_are_not_asked_for_every_time():
    text = "def f(n):\n    s = 0\n    for i in range(n):\n        s += i\n    return s\n"
    found, runs = ran(text + "all = [f(3) for _ in range(k)]\n", k=5000)
    (asked, _) = (unit.report()["runs"] for unit in found[UNITS])
    assert (found["all"], runs) == ([3] * 5000, 0)
    assert asked < 200


def test_a_loop_that_needs_cpython_in_each_iteration_is_left_to_it():
    text = "seen = []\nfor i in range(n):\n    seen.append(i)\n    s = i * 2\n"
    found, runs = ran(text, n=200_000)
    assert (len(found["seen"]), found["s"], runs) == (200_000, 399_998, 0)


def test_compiled_code_takes_over_in_a_while_loop_that_takes_long():
    text = "i = s = 0\nwhile i < n:\n    i += 1\n    if i == 70_000:\n        continue\n    s += i % 7\n"
    for n in (0, 1, 10, 300_000):
        found, runs = ran(text, n=n)
        assert found["s"] == sum(i % 7 for i in range(1, n + 1) if i != 70_000)
        assert (found["i"], runs > 0) == (n, n > 10)


def test_a_while_loop_that_ends_at_once_leaves_its_variables_as_they_are():
    text = "def f(n):\n    while n > 3:\n        x = n\n        n -= 1\n    return x\n"
    found, _ = ran(text)
    assert found["f"](9) == 4
    with pytest.raises(UnboundLocalError):
        found["f"](2)


def size(depth):
    """Return how many instructions the code of nested loops has."""
    lines = [
        f"{' ' * d}for i{d} in range(n):\n{' ' * d} if i{d}:\n{' ' * d}  s += i{d}\n" for d in range(depth)
    ]
    code = loading.code_of("s = 0\n" + "".join(lines), "program.py", {})
    return len(list(dis.get_instructions(code)))


def test_nested_loops_do_not_double_the_code_with_each_level():
    assert size(6) < 2 * size(4)
    assert size(7) - size(6) < 2 * (size(6) - size(5))


def test_inner_loops_of_few_iterations_have_no_units_of_their_own():
    few = ["range(8)", "range(2, 18)", "(1, 2.5)"]
    many = ["range(17)", "range(n)", "range(2**70)", "range(0, 9, 2)", "a", "range(5, 10**20)"]
    for iterable in few + many:
        found, _ = ran(
            f"def f(n, a):\n    for i in range(n):\n        for j in {iterable}:\n            n += j\n"
        )
        assert (len(found["__numelt_units__"]) == 2) == (iterable in few), iterable
    found, _ = ran("def f(n):\n    for j in range(8):\n        n += j\n    return n\n")
    assert len(found["__numelt_units__"]) == 2
    assert found["f"](1) == 29
    found, _ = ran("def f(n):\n    for j in range():\n        n += j\n    return n\n")
    with pytest.raises(TypeError, match="range expected"):
        found["f"](1)
