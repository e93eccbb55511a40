"""Files are loaded without units for loops whose compiled code would stop at once in each iteration."""

import ast

import pytest

import numelt as np
from numelt._dispatch import fallback
from numelt._jit import loading, scopes
from numelt._jit.reporting import UNITS
from numelt.tools.coverage import coverage

# bodies of `for i in range(n)` in a function, for which compiled code has nothing to gain
IDLE = [
    "with box: s += i",
    "try: s += a[i]\n        finally: pass",
    "[box][0].value = i",
    "t = i * 2\n        [box][0].value += t",
    "t = [i for _ in range(2)]",
    "s += sum([k for k in range(i)])",
    "s = s + len({i: 1})",
    "seen.append(f'{i}')",
    "x: {i} = i\n        del x",
    "if {i} and s: pass",
    "while {i}: break",
    "raise_if = lambda: 0",
    "return i",
]
BUSY = [
    "s += a[i]",
    "box.value = i",
    "t = i * 2\n        box.value += t",
    "if i == 3: box.value = i",
    "if s > 100: continue\n        box.value = i",
    "s = 1 if i < 5 else len({i: 1})",
    "s = s or len({i: 1})",
    "s += half(i)\n        box.value = i",
    "for k in range(i): s += k\n        box.value = i",
    "s = (s * 3 + i * a[i]) % 1000 - i * a[i] * 2 + s * a[i - 1]\n        s = s % 100\n        box.value = i",
]

PROGRAM = """
class Box:
    value = 0

    def __enter__(self):
        self.value += 1

    def __exit__(self, *_):
        pass

box, seen = Box(), []

def half(x):
    return x / 2

def f(a, n):
    s = 0.0
    for i in range(n):
        BODY
    return s, i

result = f(a, 40), seen, box.value
"""


def loaded(text):
    namespace = {"np": np, "a": np.arange(50.0), "__name__": "idle"}
    exec(loading.code_of(text, "idle_program.py", namespace), namespace)
    return namespace


@pytest.mark.parametrize("body", IDLE + BUSY)
def test_only_loops_that_stop_at_once_have_no_unit(body):
    text = PROGRAM.replace("BODY", body)
    found = loaded(text)
    expected = {"np": np, "a": np.arange(50.0), "__name__": "idle"}
    exec(compile(text, "idle_program.py", "exec"), expected)
    assert repr(found["result"]) == repr(expected["result"])
    line = text.split("\n").index("    for i in range(n):") + 1
    lines = [unit.report()["line"] for unit in found.get(UNITS, ())]
    assert (line in lines) == (body in BUSY)


def test_such_loops_are_reported():
    text = "def f(box):\n    for i in range(9):\n        box[0].value = i\n"
    found = loaded(text)
    why = "assignment with a star or to an attribute of a computed object"
    assert f"stop here in each iteration: {why}" in np.explain(found["f"])
    gaps = [gap for gap in coverage().loops if gap.filename == "idle_program.py"]
    assert [(gap.function, gap.lineno, gap.calls) for gap in gaps] == [("f", 3, 0)]


def test_they_are_compiled_where_the_program_wants_to_know_of_each():
    text = "def f(box):\n    for i in range(9):\n        box[0].value = i\n"
    before = fallback.policy()
    fallback.set_policy("warn")
    try:
        assert UNITS in loaded(text)
    finally:
        fallback.set_policy(before)


@pytest.mark.parametrize("loop", ["for i in 'ab': s += 1", "while s < 2: s += 1"])
@pytest.mark.parametrize("start", ["s = 0\n", "s = 0\r", "s = 0\r\n", "s = 0\nif 1:\n\t", "s = 0\n\x0c"])
def test_a_file_with_a_loop_is_recognized(start, loop):
    found = loaded(start + loop)
    assert found["s"] == 2
    assert UNITS in found


def test_a_mark_of_the_byte_order_may_stand_before_a_loop():
    assert UNITS in loaded(b"\xef\xbb\xbffor s in 'ab': t = s\n")


def test_a_file_without_loops_is_compiled_as_it_is():
    text = "def f(x):\n    # for and while\n    return [k for k in x]\n\nresult = f([1, 2])\n"
    found = loaded(text)
    assert found["result"] == [1, 2]
    assert UNITS not in found
    assert found["f"].__code__ == loaded(text)["f"].__code__
    assert found["f"].__code__ in compile(text, "idle_program.py", "exec").co_consts


def test_children_of_a_node_are_those_of_the_library():
    text = "match x:\n    case A(b=1, c=[*d], **e) if {**f, 'a': 1}: pass\n".replace(", **e", "")
    text += "def g(a, *, b, c=1): global h; return lambda *d: (yield)\n"
    left_out = ast.expr_context, ast.operator, ast.unaryop, ast.cmpop, ast.boolop
    for node in ast.walk(ast.parse(text)):
        expected = [child for child in ast.iter_child_nodes(node) if not isinstance(child, left_out)]
        assert scopes.children(node) == expected


def survey(text):
    return scopes.Survey(ast.parse(text).body)


def test_the_names_that_statements_bind():
    text = """
global g
import a.b, c as d
from e import f as h
for i, (j, *k) in l:
    m = [n := o for p in q]
    del r
    while s: t += 1
try: pass
except u as v: pass
def w(x=(y := 1)): nonlocal z
match A:
    case [B, *C] | {"a": B, **C}: D.E = F[G] = 0
"""
    found = survey(text)
    assert set(found.counts) == set("adhijkmnrtvwyBC")
    assert (found.declared, found.outer, found.unbinds, found.suspends) == ({"g"}, set(), True, False)
    inner, outer = sorted(found.loops.values(), key=lambda one: len(one.counts))
    assert (dict(inner.counts), set(outer.counts)) == ({"t": 1}, set("ijkmnrt"))
    assert survey("def f():\n  yield\nx = lambda: (yield)").suspends is False
    assert survey("x = (yield)").suspends
    assert survey("for i in x:\n  async with y: pass").suspends
