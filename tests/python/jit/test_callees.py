"""Functions that loops call: closures, globals that loops assign, and reports about them."""

import subprocess
import sys

import pytest

import numelt as np
from numelt._jit import reporting

pytestmark = pytest.mark.core


def runs_of(function):
    """Return how often a function's loops ran, and how often they stopped at code that is never compiled."""
    reports = [unit.report() for unit in reporting.units(function)]
    variants = [variant for report in reports for variant in report["variants"]]
    gaps = [taken for variant in variants for _, _, is_gap, taken in variant["exits"] if is_gap]
    return sum(variant["runs"] for variant in variants), sum(gaps)


def make(factor):
    def scaled(x):
        return x * factor

    @np.jit
    def total(a):
        s = 0.0
        for x in a:
            s += scaled(x)
        return s

    def change(value):
        nonlocal factor
        factor = value

    return total, change


def test_variables_of_enclosing_functions_are_read():
    total, change = make(2)
    a = np.arange(50.0)
    assert total(a) == 2450.0
    assert runs_of(total) == (1, 0)
    change(3.5)
    assert total(a) == 1225 * 3.5
    assert runs_of(total) == (2, 0)
    change(None)
    with pytest.raises(TypeError):
        total(a)
    change(2)
    assert total(a) == 2450.0


def test_an_enclosing_variable_without_value():
    def scaled(x):
        return x * later

    @np.jit
    def total(a):
        s = 0.0
        for x in a:
            s += scaled(x)
        return s

    with pytest.raises(NameError, match="later"):
        total(np.arange(5.0))
    later = 2
    assert total(np.arange(5.0)) == 20.0


def test_the_loop_assigns_what_the_function_reads():
    @np.jit
    def total(n):
        k = 0

        def g(x):
            return x * k

        s = 0
        for i in range(n):
            k = i
            s += g(i)
        return s

    assert total(100) == sum(i * i for i in range(100))


PROGRAM = """
k = 0


def g(x):
    return x * k


def f(x):
    return g(x) + 1


s = 0
for i in range(1000):
    k = i
    s += f(i)
print(s)


def run(n):
    global k
    s = 0
    for k in range(n):
        s += f(k)
    return s


print(run(300), k)
"""


def test_globals_that_a_loop_assigns_are_seen_by_functions(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    command = [sys.executable, "-m", "numelt", "--jit-loops", "program.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["332834500", "8955350", "299"]


@np.jit
def half(a):
    s = 0.0
    for x in a:
        if x > 2:
            names = {x: 1}
            s += len(names)
        s += x / 2
    return s


def test_explain_and_coverage_show_what_is_left_to_cpython():
    np.coverage(reset=True)
    assert half(np.arange(5.0)) == 7.0
    text = np.explain(half)
    assert "names = {x: 1}" in text
    assert "left to CPython: Dict, 1 times" in text
    assert "compiled for" in text
    assert "array<float64, 1>" in text
    line = half.__wrapped__.__code__.co_firstlineno + 5
    [gap] = [gap for gap in np.coverage().loops if gap.function == "half"]
    assert (gap.filename, gap.lineno, gap.calls, gap.reason) == (__file__, line, 1, "Dict")
    assert f":{line}  (Dict; " in str(np.coverage(reset=True))
    assert not [gap for gap in np.coverage().loops if gap.function == "half"]


def test_strict_functions_raise_where_cpython_is_needed():
    strict = np.jit(strict=True)(half.__wrapped__)
    assert strict(np.arange(3.0)) == 1.5
    with pytest.raises(np.FallbackError, match="Dict"):
        strict(np.arange(5.0))


def test_the_policy_for_fallbacks_holds_for_loops():
    before = np.config.fallback
    try:
        np.config.fallback = "error"
        with pytest.raises(np.FallbackError, match="Dict"):
            half(np.arange(5.0))
        np.config.fallback = "warn"
        with pytest.warns(np.FallbackWarning, match="Dict"):
            assert half(np.arange(5.0)) == 7.0
    finally:
        np.config.fallback = before


def halves(a, low, high):
    """Count the parts of an array that are larger than 3, by halving it again and again."""
    count = 0
    while high - low > 3:
        middle = (low + high) // 2
        count += 1
        if a[low] < a[middle]:
            count += halves(a, low, middle)
            low = middle
        else:
            count += halves(a, middle, high)
            high = middle
    return count


def test_functions_that_call_themselves_are_not_inlined_again_and_again():
    a = np.arange(200) % 7
    compiled = np.jit(halves)
    assert compiled(a, 0, 200) == halves(a, 0, 200)
    text = np.explain(compiled)
    assert "a function that calls itself" in text
    assert "too large" not in text


def test_functions_within_functions_call_themselves():
    def depth(n):
        """Return how often a number can be halved."""
        most = 0
        for k in range(2):
            if n > 1:
                most = max(most, 1 + compiled(n // 2 - k))
        return most

    plain = depth
    compiled = np.jit(depth)
    assert (compiled(100), compiled.__qualname__, compiled.__doc__) == (6, plain.__qualname__, plain.__doc__)

    @np.jit
    def again(n):
        total = 0
        for k in range(n):
            total += again(k)
        return total + 1

    assert again(8) == 2**8
