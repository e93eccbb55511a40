"""Loops over lists of numbers, and over lists of such lists, compiled."""

import os
import signal
import threading

import pytest

import numelt as np
from numelt._jit import reporting

from .random_lists import HEAD, Writer, arguments
from .random_programs import outcome
from .test_random import load

# functions in a test
MANY = 20
# all functions
COUNT = int(os.environ.get("NUMELT_RANDOM_LISTS", "300"))


@pytest.mark.parametrize("start", range(0, COUNT, MANY))
@pytest.mark.usefixtures("ahead")
def test_random_functions(start, tmp_path):
    for seed in range(start, start + MANY):
        text = HEAD + Writer(seed).text()
        function = load(tmp_path / f"lists_{seed}.py", text)
        compiled = np.jit(function)
        for number in range(4 * seed, 4 * seed + 4):
            wanted = outcome(function, arguments(number))
            assert outcome(compiled, arguments(number)) == wanted, f"seed {seed}, arguments {number}\n{text}"


def stops(function):
    """Return where the compiled code of a function has stopped: line, reason, and how often."""
    variants = [variant for unit in reporting.units(function) for variant in unit.report()["variants"]]
    assert variants
    return [
        (line, why, count) for variant in variants for line, why, _, count in variant["exits"] if count > 0
    ]


def sieve(n):
    is_prime = [True] * (n + 1)
    for i in range(2, n + 1):
        if is_prime[i]:
            for j in range(i * i, n + 1, i):
                is_prime[j] = False
    return is_prime


def product(a, b, c):
    for i in range(len(a)):
        for j in range(len(b[0])):
            total = 0.0
            for k in range(len(b)):
                total += a[i][k] * b[k][j]
            c[i][j] = total
    return c


def sorted_by_exchange(items):
    for i in range(len(items)):
        for j in range(len(items) - 1 - i):
            if items[j] > items[j + 1]:
                items[j], items[j + 1] = items[j + 1], items[j]
    return items


def most_valuable(weights, values, capacity):
    best = [0] * (capacity + 1)
    for weight, value in zip(weights, values, strict=False):
        for c in range(capacity, weight - 1, -1):
            best[c] = max(best[c], best[c - weight] + value)
    return best


def differences(points):
    total = 0.0
    for x, y in points:
        for p, q in points:
            total += (x - p) ** 2 + (y - q) ** 2
    return total


def positions(items, limit):
    found, others = [], []
    for i in range(len(items)):
        if items[i] > limit:
            found.append(i)
        else:
            others.append(items[i] * 0.5)
    return found, others


def numbers(count, factor):
    return [(k * 7919 % 1009) * factor for k in range(count)]


def rows(count, columns, factor):
    return [numbers(columns, factor) for _ in range(count)]


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (sieve, lambda: (2000,)),
        (product, lambda: (rows(9, 12, 0.5), rows(12, 7, -0.25), rows(9, 7, 0.0))),
        (sorted_by_exchange, lambda: (numbers(200, 3),)),
        (sorted_by_exchange, lambda: (numbers(200, 0.1),)),
        (most_valuable, lambda: ([3, 4, 5, 9], [3, 4, 4, 10], 300)),
        (positions, lambda: (numbers(500, 0.25), 80)),
        (positions, lambda: (np.array(numbers(500, 0.25)), 80)),
        (differences, lambda: ([[0.5 * k, 100.0 - k] for k in range(60)],)),
        (differences, lambda: ([(0.5 * k, 100.0 - k) for k in range(60)],)),
    ],
    ids=["sieve", "product", "ints", "floats", "knapsack", "append", "append scalars", "points", "tuples"],
)  # fmt: skip
@pytest.mark.usefixtures("ahead")
def test_functions_of_lists(function, args):
    """They run from their beginning to their end without CPython."""
    compiled = np.jit(function)
    assert outcome(compiled, args()) == outcome(function, args())
    assert stops(compiled) == []


@pytest.mark.core
def test_unchanged_items_stay_the_same_objects():
    def doubled(items):
        for i in range(0, len(items), 2):
            items[i] = items[i] * 2.0

    items = [1000.5 + k for k in range(10)]
    before = list(items)
    np.jit(doubled)(items)
    assert [item is old for item, old in zip(items, before, strict=True)] == [False, True] * 5


def swapped(now, then, steps):
    for _ in range(steps):
        for i in range(1, len(now) - 1):
            then[i] = now[i - 1] + now[i + 1] - now[i]
        now, then = then, now
    return now


@pytest.mark.core
def test_lists_that_change_places():
    now, then = numbers(50, 0.5), numbers(50, 0.25)
    result = np.jit(swapped)(now, then, 7)
    assert result is then
    assert seen_lists(swapped) == (now, then)


def seen_lists(function):
    """Return the lists after a call in CPython."""
    now, then = numbers(50, 0.5), numbers(50, 0.25)
    function(now, then, 7)
    return now, then


def extended(items, out, rows, more):
    for i in range(40):
        out.append(items[i] + 1.0)
        more.append(i)
        out.append(rows[0][i])
    return items, out, rows, more


@pytest.mark.parametrize("same", ["items", "row", "more", "nothing"])
def test_lists_that_grow_and_are_read_in_other_ways(same):
    def args():
        items, out, row, more = numbers(50, 0.5), [], numbers(60, 0.25), []
        rows = [row, numbers(60, 2.0)]
        if same == "nothing":
            return items, out, rows, more
        out = {"items": items, "row": row, "more": more}[same]
        return items, out, rows, more

    compiled = np.jit(extended)
    for _ in range(3):
        assert outcome(compiled, args()) == outcome(extended, args())
    assert stops(compiled) == []


def waited_for(flag, count):
    while not flag[0]:
        count[0] += 1
    return count


@pytest.mark.core
@pytest.mark.parametrize("by", ["thread", "signal"])
def test_loops_see_what_others_write_to_lists(by):
    compiled, flag, seen = np.jit(waited_for), [False], [0, 0]

    def stop(*_):
        flag[0] = True
        seen[1] = 7

    if by == "thread":
        timer = threading.Timer(0.3, stop)
        timer.start()
        compiled(flag, seen)
        timer.join()
    else:
        before = signal.signal(signal.SIGALRM, stop)
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.3)
            compiled(flag, seen)
        finally:
            signal.signal(signal.SIGALRM, before)
    assert seen[0] > 100_000
    assert seen[1] == 7


def position(items, wanted):
    low, high = 0, len(items)
    while low < high:
        middle = (low + high) // 2
        if items[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low


def test_a_loop_that_reads_few_items_of_a_long_list_is_left_to_python():
    """Copying the list takes longer."""
    items = list(range(100_000))
    compiled = np.jit(position)
    for wanted in range(0, 100_000, 1000):
        assert compiled(items, wanted) == wanted
    (unit,) = (unit.report() for unit in reporting.units(compiled) if not unit.report()["is_resumed"])
    assert sum(variant["runs"] for variant in unit["variants"]) <= 20


def test_truth_of_lists_and_ranges():
    def count(items, n):
        total = 0
        for i in range(n):
            if items and not range(i, 3):
                total += items[0]
        return total

    assert np.jit(count)([2, 3], 10) == count([2, 3], 10) == 14
    assert np.jit(count)([], 10) == 0
    compiled = np.jit(count)
    compiled([2, 3], 10)
    assert [why for _, why, _ in stops(compiled)] == []
