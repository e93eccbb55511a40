"""The list that `catch_warnings(record=True)` returns is a plain one, and gets the warnings of pending
work."""

import warnings

import numpy
import pytest

import numelt

BLOCKS = {
    "looked at inside": """
with warnings.catch_warnings(record=True) as w:
    warnings.simplefilter("always")
    a = np.zeros(300) / 0.0
    seen.append((type(w) is list, len(w)))
    b = np.log(a - 1)
    seen.append([str(m.message) for m in w])
""",
    "looked at after": """
with warnings.catch_warnings(record=True) as w:
    warnings.simplefilter("always")
    a = np.zeros(300) / 0.0
    b = np.log(np.ones(300) - 2)
seen.append((type(w) is list, [str(m.message) for m in w]))
""",
    "in a function": """
def run():
    with warnings.catch_warnings(record=True) as w:
        warnings.simplefilter("always")
        a = np.zeros(300) / 0.0
        if w:
            seen.append((type(w), [m.lineno for m in w]))
        b = 1 / np.zeros(300)
    return w
w = run()
seen.append((type(w), [m.lineno for m in w]))
""",
    "by another function": """
def look():
    seen.append((type(w), len(w)))
with warnings.catch_warnings(record=True) as w:
    warnings.simplefilter("always")
    a = np.zeros(300) / 0.0
    look()
""",
    "nested": """
with warnings.catch_warnings(record=True) as outer:
    warnings.simplefilter("always")
    with warnings.catch_warnings(record=True) as w:
        a = np.zeros(300) / 0.0
        seen.append(len(w))
    b = 1 / np.zeros(300)
    seen.append((type(outer), len(outer), [*outer] == outer + []))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        c = 1 / np.zeros(300)
    seen.append(len(outer))
""",
    "stored elsewhere": """
held = {}
with warnings.catch_warnings(record=True) as held["w"]:
    warnings.simplefilter("always")
    a = np.zeros(300) / 0.0
    seen.append((type(held["w"]), len(held["w"])))
""",
    "nobody": """
with warnings.catch_warnings(record=True):
    a = np.zeros(300) / 0.0
seen.append(str(a[0]))
""",
    "errors inside": """
try:
    with warnings.catch_warnings(record=True) as w:
        warnings.simplefilter("always")
        a = np.zeros(300) / 0.0
        len(w)
        raise KeyError
except KeyError:
    seen.append((type(w), len(w)))
""",
}


@pytest.mark.core
@pytest.mark.parametrize("block", BLOCKS)
def test_recorded_warnings_are_in_a_list(block):
    """The list is examined while work is pending, in ways that the program's bytecode shows."""
    results = []
    for np in (numelt, numpy):
        names = {"np": np, "warnings": warnings, "seen": []}
        exec(compile(BLOCKS[block], "program.py", "exec"), names)
        results.append(names["seen"])
    assert results[0] == results[1]


def test_lines_are_known_after_many_other_ones():
    """A program that makes functions while it runs records at more positions than numelt remembers."""
    for number in range(17_000):
        exec(compile("a = np.ones(300) + 1", f"program{number}.py", "exec"), {"np": numelt})
    names = {"np": numelt, "warnings": warnings, "seen": []}
    exec(compile(BLOCKS["in a function"], "program.py", "exec"), names)
    assert names["seen"][-1][1] == [5, 8]


def test_work_stays_deferred_where_the_list_is_looked_at_afterwards():
    with warnings.catch_warnings(record=True) as caught:
        a = numelt.ones(100_000)
        before = numelt._core.stats()["flushes"]
        b = (a + 1) * 2
        assert numelt._core.stats()["flushes"] == before
    assert isinstance(caught, list)
    assert float(b[0]) == 4
