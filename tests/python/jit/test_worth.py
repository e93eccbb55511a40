"""Loops are compiled unasked once CPython would take longer for them than compiling takes."""

import dis
import time

import pytest

import numelt as np
from numelt._jit import loading
from numelt._jit.twin import module_twin
from numelt._jit.units import DUE, UNITS

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
    found, runs = ran(text, a=np.ones((3000, 400)))
    assert (found["s"], runs) == (1_200_000.0, 1)


def is_compiled(text):
    """Run a file, again if its loop was not compiled because others still were, and return whether it is."""
    for _ in range(20):
        namespace = {"np": np}
        exec(loading.code_of(text, "program.py", namespace), namespace)
        assert namespace["s"] == sum(range(16_000))
        if any(unit.report()["variants"] for unit in namespace[UNITS]):
            return True
        time.sleep(0.02)
    return False


def test_calls_of_functions_of_the_program_count_for_more_than_those_of_libraries():
    text = "def same(x):\n    return x\n\n\nclass Box:\n    def same(self, x):\n        return x\n\n\n"
    text += "box = Box()\ns = 0.0\nfor i in range(16_000):\n    s += {}(i)\n"
    assert is_compiled(text.format("same"))
    assert is_compiled(text.format("box.same"))
    assert not is_compiled(text.format("float"))


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
    text = "seen = []\nfor i in range(n):\n    seen.append(str(i))\n    s = i * 2\n"
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
    few = ["range(8)", "range(2, 18)", "(1, 2.5)", "range(-1, 2)", "range(i - 1, i + 2)", "range(n, n + 3)"]
    few += ["range(3 * i, 3 * i + 3)", "range(i, i - 5)"]
    many = [
        "range(17)",
        "range(i, n + 2)",
        "range(i - 9, i + 9)",
        "range(i, i + n)",
        "range(n)",
        "range(2**70)",
        "range(0, 9, 2)",
        "a",
        "range(5, 10**20)",
    ]
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


def test_loops_of_few_operations_have_no_units():
    text = "def f(x, y):\n    s = 0\n    for p in (x, y):\n        if p is not None:\n            s += p\n"
    text += "    return s\n"
    namespace = {"np": np}
    exec(loading.code_of(text, "program.py", namespace), namespace)
    assert UNITS not in namespace
    assert namespace["f"](1, None) == 1
    # if the program asks for compiled loops, it gets them
    namespace = {}
    module_twin(text, "program.py", namespace, is_requested=True)
    assert len(namespace[UNITS]) == 2


def test_code_that_stops_early_for_some_types_is_not_compiled_for_more():
    text = "def f(x, n):\n    s = x\n    for i in range(n):\n        if n > 3:\n            t = str(n)\n"
    text += "        s = s + i\n    return s\n"
    text += "all = [f(x, 40) for x in (1, 1.5, True, 1j, np.float64(1), np.int64(2)) for _ in range(2000)]\n"
    found, _ = ran(text)
    plain = {"np": np}
    exec(text, plain)
    assert found["all"] == plain["all"]
    counts = [len(unit.report()["variants"]) for unit in found[UNITS] if not unit.report()["is_resumed"]]
    assert 1 <= sum(counts) <= 2


def test_code_that_stops_early_again_and_again_is_given_up():
    # Fibonacci numbers are beyond 64 bits after 92 iterations; CPython does the others
    text = "def f(n):\n    a, b = 0, 1\n    for i in range(n):\n        a, b = b, a + b\n    return a\n"
    text += "all = [f(n) for _ in range(k)]\n"
    found, runs = ran(text, n=3000, k=600)
    plain = {"n": 3000, "k": 1}
    exec(text, plain)
    assert found["all"] == plain["all"] * 600
    assert 0 < runs < 400
    assert found[DUE][0] is False


@pytest.mark.parametrize(
    "items", ["range(n)", "np.arange(n)", "enumerate(range(n))", "zip(range(n), range(n))"]
)
def test_code_that_stops_is_not_given_up_if_it_is_resumed(items):
    text = "def f(n, log):\n    s = 0\n    for i in ITEMS:\n        s += i if ISINT else i[0]\n"
    text = text.replace("ISINT", str(items[0] not in "ez")).replace("ITEMS", items)
    text += "        if s == 45:\n            log.append(str(s))\n    return s\n"
    text += "log = []\nall = [f(n, log) for _ in range(k)]\n"
    found, _ = ran(text, n=6000, k=300)
    assert found["all"] == [17_997_000] * 300
    assert found["log"] == ["45"] * 300
    # compiled code cannot take over again in loops over `enumerate` and `zip`
    is_resumed = items[0] not in "ez"
    before = found[UNITS][0].report()["variants"][0]["runs"]
    assert found["f"](6000, []) == 17_997_000
    assert found[UNITS][0].report()["variants"][0]["runs"] == before + is_resumed


def test_loops_that_stop_in_their_inner_loops_are_not_compiled():
    text = "def f(m):\n    t = 0\n    for i in range(60):\n        for j in range(60):\n"
    text += "            t += m[i][j]\n    return t\nall = [f(((1,) * 60,) * 60) for _ in range(k)]\n"
    found, runs = ran(text, k=100)
    assert (found["all"], runs) == ([3600] * 100, 0)
    assert all(not unit.report()["variants"] for unit in found[UNITS])
    # once no unit has anything to offer, the program does not ask any more
    assert not any(
        due for due, unit in zip(found[DUE], found[UNITS], strict=True) if unit.report()["runs"] > 30
    )


@pytest.mark.parametrize(
    "inner",
    [
        "for j in range(i % 3):\n            t += 2\n            break",
        "while True:\n            t += 2\n            break",
        "for j in range(2):\n            t += 1",
        "for j in range(2):\n            if t < 0:\n                m.append(j)\n            t += 1",
    ],
)
def test_loops_whose_inner_loops_run_are_compiled(inner):
    text = "def f(m):\n    t = 0\n    for i in range(n):\n        INNER\n    return t\nall = f([])\n"
    text = text.replace("INNER", inner)
    found, runs = ran(text, n=300_000)
    plain = {"n": 300_000}
    exec(text, plain)
    assert (found["all"], runs > 0) == (plain["all"], True)


def test_variables_that_have_a_value_before_a_loop_are_not_checked_after_it():
    loop = "def f(n):\n{}    for i in range(n):\n        if i:\n            {} = i\n    return 0\n"
    names = [f"v{k}" for k in range(20)]
    together = " = ".join(names)
    bound = loading.code_of(loop.format(f"    {together} = 0\n", together), "program.py", {})
    unbound = loading.code_of(loop.format("", together), "program.py", {})
    checks = [sum(i.opname == "DELETE_FAST" for i in function_of(code)) for code in (bound, unbound)]
    assert checks[0] <= 4 < checks[1] >= 20


def function_of(code):
    """Return the instructions of the only function of a file."""
    return dis.get_instructions(next(c for c in code.co_consts if hasattr(c, "co_code")))
