"""Loops are resumed: compiled code takes over again after CPython has run a statement."""

import sys

import numpy
import pytest

import numelt as np
from numelt._jit import reporting
from numelt._jit.twin import module_twin

pytestmark = pytest.mark.core


def runs(compiled):
    """Return the number of runs of resuming units that did not stop almost at once."""
    reports = [unit.report() for unit in reporting.units(compiled)]
    resumed = [report for report in reports if report["is_resumed"]]
    return sum(variant["runs"] - variant["early"] for report in resumed for variant in report["variants"])


def over_range(n):
    s = 0.0
    seen = []
    for i in range(5, n, 3):
        s += i * 0.5
        if i % 1000 == 5:
            seen.append((i, s))
        s -= 1
    return s, seen, i


def over_array(n):
    s = 0.0
    seen = []
    for x in np.arange(n) * 0.5:
        if x % 700 == 1.5:
            seen.append(f"{x} {s}")
            continue
        s += x
    return s, seen, x


def with_while(n):
    i, seen = 0, []
    while i < n:
        i += 1
        if i % 999 == 0:
            seen.append(str(i))
        if i == n - 5:
            seen.append("last")
            break
    return i, seen


def nested(n):
    seen = []
    total = 0
    for i in range(n):
        for j in range(i % 7, n):
            total += i ^ j
            if total % 10007 == 0:
                seen.append((i, j, total))
        if i % 50 == 0:
            seen.append(str(i))
    return total, seen, i, j


def changed_variable(n):
    seen = []
    for i in range(n):
        first = i
        i = i * 2
        if first % 500 == 0:
            seen.append(str(i))
        i += 1
    return seen, i, first


@pytest.mark.parametrize("function", [over_range, over_array, with_while, nested, changed_variable])
def test_long_loops_with_rare_gaps(function):
    compiled = np.jit(function)
    n = 300 if function is nested else 20_000
    assert repr(compiled(n)) == repr(function(n))
    assert repr(compiled(n)) == repr(function(n))
    assert runs(compiled) > 5
    assert repr(compiled(7)) == repr(function(7))


def test_what_is_iterated_over_is_looked_up_once():
    @np.jit
    def run(n):
        seen = []
        for i in range(n):
            if i % 300 == 0:
                n = -1
                seen.append(i)
        return seen, i

    assert run(2000) == ([0, 300, 600, 900, 1200, 1500, 1800], 1999)


def test_elements_that_the_loop_changes_are_seen():
    @np.jit
    def run(a):
        seen = []
        for k, x in enumerate(a):
            a[(k + 1) % len(a)] += x % 3
            if k % 400 == 0:
                seen.append(float(x))
        total = 0.0
        for x in a:
            a[-1] = 100.0
            total += x
            if total % 5 == 0:
                seen.append(float(total))
        return seen, total

    def fresh():
        return np.asarray(numpy.arange(3000.0))

    assert run(fresh()) == run.__wrapped__(fresh())


def test_exceptions_of_statements_that_cpython_runs():
    @np.jit
    def run(n):
        caught = []
        for i in range(n):
            s = i * 2
            if s % 1000 == 0:
                try:
                    caught.append(1 // (s - 4000))
                except ZeroDivisionError:
                    caught.append("zero")
            if i == 4321:
                raise ValueError(s)
        return caught

    with pytest.raises(ValueError, match="8642"):
        run(10_000)
    assert run(3000) == [1 // (s - 4000) if s != 4000 else "zero" for s in range(0, 6000, 1000)]
    assert runs(run) > 3


WHILE = """
def run(n, goes_on):
    count, seen = 0, {}
    while goes_on(count) and count < n:
        count += 1
        if count % 3 == 0:
            continue
        seen[str(count)] = count
    return count, seen
"""


def test_while_loops_without_compiled_code_go_on_as_written():
    """The form of a loop that compiled code can resume takes longer; it is left before an iteration."""
    names = {}
    exec(module_twin(WHILE, "<while>", names).code, names)
    asked, places = [], set()

    def goes_on(count):
        # a loop whose iterations cannot be counted begins in the form that compiled code can resume
        place = sys._getframe(1).f_lasti
        if len(asked) < 10:
            places.add(place)
        asked.append(count)
        return place in places

    n, seen = names["run"](4_000_000, goes_on)
    assert n < 4_000_000
    assert asked == list(range(n + 1))
    assert seen == {str(i): i for i in range(1, n + 1) if i % 3}
