"""Attributes that loops assign, methods that they call, and functions that write to arrays and lists."""

import threading
import time

import numpy
import pytest

import numelt as np
from numelt import _core
from numelt._jit import reporting

from . import random_objects
from .random_programs import outcome
from .test_callees import runs_of
from .test_random import load

# functions in a test
MANY = 40


class Box:
    limit = 3

    def __init__(self, value=0):
        self.value = value
        self.count = 0
        self.other = self

    def __repr__(self):
        return f"{type(self).__name__}({self.value!r}, {self.count!r}, {self.limit!r}, {sorted(vars(self))})"

    def add(self, x):
        self.value += x
        self.count += 1
        return self.value

    def add_if_small(self, x):
        if x < self.limit:
            self.add(x)


class Slotted(Box):
    __slots__ = ("count", "other", "value")


class Logged(Box):
    log = 0

    def __setattr__(self, name, value):
        Logged.log += 1
        object.__setattr__(self, name, value)


class Computed(Box):
    @property
    def value(self):
        return self.held

    @value.setter
    def value(self, value):
        self.held = 2 * value


def add_all(box, a):
    for x in a:
        box.add(x)
    return box.value, box.count


def both(function, *makers):
    """Run a function and its compiled form with arguments of their own, and return the compiled form.

    Each maker returns the arguments of a call.
    """
    compiled = np.jit(function)
    for make in makers:
        assert outcome(compiled, make()) == outcome(function, make())
    return compiled


@pytest.mark.parametrize("made", [Box, Slotted])
def test_methods_assign_attributes(made):
    compiled = both(add_all, lambda: (made(), np.arange(50)), lambda: (made(0.5), np.arange(9.0)))
    assert runs_of(compiled) == (2, 0)


@pytest.mark.parametrize("made", [Logged, Computed])
def test_classes_that_run_code_of_their_own(made):
    both(add_all, lambda: (made(), np.arange(50)), lambda: (Box(), np.arange(50)))
    Logged.log = 0
    np.jit(add_all)(Logged(), np.arange(10))
    assert Logged.log == 3 + 20


def test_attributes_of_the_class_and_new_ones():
    def grow(box, n):
        for i in range(n):
            if box.limit < 10:
                box.limit += i
            box.last = i
        return box.limit

    compiled = both(grow, lambda: (Box(), 20), lambda: (Box(), 0), lambda: (Slotted(), 3))
    assert runs_of(compiled) == (3, 0)
    assert Box.limit == 3


def test_properties_static_methods_and_calls_of_objects():
    class Rich(Box):
        @property
        def doubled(self):
            return 2 * self.value

        @property
        def taken(self):
            self.count += 1
            return self.count

        @staticmethod
        def half(x):
            return x / 2

        def __call__(self, x, by=1):
            self.value += x
            return self.value * by

    def f(box, n):
        s = 0
        for i in range(n):
            s += box.doubled + box.half(i) + box(i, by=2)
            if box.taken > 12:
                break
        return s

    compiled = both(f, lambda: (Rich(), 20), lambda: (Rich(0.5), 9))
    assert runs_of(compiled) == (2, 0)

    box = Rich()
    box.half = lambda x: 3
    assert compiled(box, 3) == f(Rich(), 3) + 9 - 0 - 0.5 - 1
    Rich.doubled = 5
    assert compiled(Rich(), 3) == f(Rich(), 3)
    del Rich.__call__
    with pytest.raises(TypeError, match="not callable"):
        compiled(Rich(), 3)


def test_items_and_lengths_of_objects():
    class Grid:
        def __init__(self, width, height, value=0.0):
            self.width, self.height = width, height
            self.data = [value] * (width * height)
            self.reads = 0

        def __getitem__(self, place):
            x, y = place
            self.reads += 1
            return self.data[y * self.width + x]

        def __setitem__(self, place, value):
            x, y = place
            self.data[y * self.width + x] = value

        def __len__(self):
            return self.height

        def __repr__(self):
            return "a grid"

    def relax(grid, n):
        total = 0.0
        for _ in range(n):
            for y in range(1, len(grid) - 1):
                for x in range(1, grid.width - 1):
                    grid[x, y] = 0.25 * (grid[x - 1, y] + grid[x + 1, y] + grid[x, y - 1] + grid[x, y + 1])
                    grid[x, y] += 1
                    total -= grid[x, y]
        return total, grid.data, grid.reads

    def outside(grid, n):
        for y in range(n):
            grid[0, y] = y
        return grid.data

    compiled = both(relax, lambda: (Grid(7, 6), 3), lambda: (Grid(5, 4, 2.5), 2))
    assert runs_of(compiled) == (2, 0)
    both(outside, lambda: (Grid(3, 4), 4), lambda: (Grid(3, 4), 6), lambda: ([[1]], 3))

    grid = Grid(5, 5)
    grid.__getitem__ = grid.__len__ = lambda *args: 5
    assert compiled(grid, 2) == relax(Grid(5, 5), 2)
    Grid.__len__ = lambda self: -1
    with pytest.raises(ValueError, match="should return >= 0"):
        compiled(Grid(5, 5), 2)
    Grid.__len__ = lambda self: 5
    del Grid.__getitem__
    with pytest.raises(TypeError, match="not subscriptable"):
        compiled(Grid(5, 5), 2)


def test_a_method_that_calls_itself_and_writes():
    class Sets:
        def __init__(self, n):
            self.parent = list(range(n))
            self.count = n

        def find(self, x):
            if self.parent[x] != x:
                self.parent[x] = self.find(self.parent[x])
            return self.parent[x]

        def join(self, x, y):
            x, y = self.find(x), self.find(y)
            if x != y:
                self.parent[x] = y
                self.count -= 1

    def f(n):
        sets = Sets(n)
        for i in range(2 * n):
            sets.join(i * 7 % n, i * 3 % n)
        return sets.parent, sets.count

    both(f, lambda: (50,), lambda: (7,))


def put(box, a, x):
    box.count += 1
    a[int(x) % 5] += 1
    return x / (x - 7000)


@pytest.mark.parametrize("count", [-1, 5000, 6999, 9000])
@pytest.mark.parametrize("some", [False, True])
def test_a_generator_whose_elements_have_effects(count, some):
    def f(module, box, a, values):
        if some:
            elements = (put(box, a, x) for x in values if put(box, a, x) < 1)
        else:
            elements = (put(box, a, x) for x in values)
        try:
            return module.fromiter(elements, float, count).sum(), box.count, a
        finally:
            box.value = a.copy()

    for values in (range(8000), range(6000), np.arange(8000.0)):
        box, plain = Box(), Box()
        found = outcome(f, (np, box, np.zeros(5), values))
        wanted = outcome(f, (numpy, plain, np.zeros(5), values))
        # the last line of an exception is one of numelt
        assert found[0][:2] == wanted[0][:2]
        assert (box.count, box.value.tolist()) == (plain.count, plain.value.tolist())


def test_one_object_with_two_names():
    def move(p, q, n):
        for i in range(n):
            p.value += i
            q.value -= 2 * i
            p.other.count += q.value
        return p.value, q.value, p.count

    def same():
        box = Box()
        return box, box, 30

    compiled = both(move, lambda: (Box(), Box(), 30), same, lambda: (Box(), Box(), 20), same)
    assert runs_of(compiled) == (4, 0)


def test_an_unchanged_value_stays_the_same_object():
    def swap_twice(box, a):
        for _ in range(4):
            box.value, a = a, box.value
        return box.value, a

    first, second = np.arange(3.0), np.arange(4.0)
    box = Box(first)
    assert np.jit(swap_twice)(box, second)[1] is second
    assert box.value is first


def test_a_class_that_changes():
    class Changing(Box):
        pass

    compiled = np.jit(add_all)
    box = Changing()
    assert compiled(box, np.arange(4)) == (6, 4)
    box.add = lambda x: None
    assert compiled(box, np.arange(4)) == (6, 4)
    del box.add
    Changing.add = lambda self, x: setattr(self, "value", -x)
    assert compiled(box, np.arange(4)) == (-3, 4)
    del Changing.add
    Changing.count = property(lambda self: 7, lambda self, value: None)
    assert compiled(box, np.arange(4)) == (3, 7)


def test_an_exception_in_a_method_leaves_what_it_has_done():
    def put(box, a, i):
        a[i] = 1.0
        box.value += 1
        a[i + 1] += 2.0

    def put_all(box, a, n):
        for i in range(n):
            put(box, a, i)

    both(put_all, lambda: (Box(), np.zeros(8), 20), lambda: (Box(), np.zeros(8), 7))


def test_the_rest_of_a_statement_fails_after_a_write():
    def put(a, i):
        a[i] += 1.0
        return a[i]

    def f(a, n, divisor):
        s = 0
        for i in range(n):
            s += put(a, i % 4) // divisor[i]
        return s

    both(f, lambda: (np.zeros(4), 9, [1, 2, 0, 1, 1, 1, 1, 1, 1]), lambda: (np.zeros(4), 12, [1] * 9))


def swap(a, i, j):
    a[i], a[j] = a[j], a[i]


def bubble(a, b):
    for _ in range(len(a)):
        for j in range(len(a) - 1):
            if a[j] > b[j + 1]:
                swap(a, j, j + 1)
                swap(b, j, j)


def test_a_function_that_writes_to_what_it_is_given():
    values = np.array([3.0, 1.0, 2.0, 9.0, 4.0])

    def overlapping():
        a = values.copy()
        return a[1:], a[:-1]

    def twice():
        a = values.copy()
        return a, a

    compiled = both(bubble, twice, overlapping, lambda: ([3, 1, 2], [0, 5, 1]))
    assert runs_of(compiled)[1] == 0


def test_slices_in_functions():
    def shift(v, by):
        v[1:] = v[:-1] * by
        v += 1
        return v[0]

    def f(a, n):
        s = 0.0
        for i in range(n):
            s += shift(a, 0.5) + a[i]
        return s

    both(f, lambda: (np.arange(9.0), 9), lambda: (np.arange(9.0), 12))


def test_an_array_expression_is_computed_before_a_call_that_writes():
    def put(a, i):
        a[i] = 100.0
        return 1.0

    def f(a, n):
        s = 0.0
        for i in range(n):
            s += (a * 2 + put(a, i)).sum()
        return s

    both(f, lambda: (np.arange(9.0), 9))


@pytest.mark.parametrize("count", [10, 1000, 1500])
def test_a_function_that_writes_much(count):
    def fill(v, value):
        for i in range(len(v)):
            v[i] = value + v[i]
        return v[0]

    def f(a, n):
        s = 0.0
        for i in range(n):
            s += fill(a, i)
        return s

    both(f, lambda: (np.arange(float(count)), 30), lambda: ([0.5] * count, 3))


def test_parameters_of_all_kinds():
    def weighted(x, /, y=2, *more, scale=1, shift):
        s = x + y * scale + shift
        for one in more:
            s += one
        return s

    def f(n, pair):
        s = 0
        for i in range(n):
            s += weighted(i, shift=1)
            s += weighted(i, 1, 2.5, i, scale=2, shift=i)
            s += weighted(*pair, *(i, 3), shift=s)
            s -= max(*pair, i)
        return s

    compiled = both(f, lambda: (20, (1, 2)), lambda: (20, (1, 2.5)))
    assert runs_of(compiled) == (2, 0)


def test_default_values_of_keyword_only_parameters_are_looked_up():
    def scaled(x, *, by=2):
        return x * by

    @np.jit
    def f(n):
        s = 0
        for i in range(n):
            s += scaled(i)
        return s

    assert f(10) == 90
    scaled.__kwdefaults__["by"] = 3
    assert f(10) == 135
    del scaled.__kwdefaults__["by"]
    with pytest.raises(TypeError, match="by"):
        f(10)


def test_a_tuple_of_several_types():
    def f(n):
        s = 0
        for i in range(n):
            for x in (1, 2.5, True, i):
                s += x
            for x in ():
                s += x
        return s

    assert runs_of(both(f, lambda: (20,)))[1] == 0


def test_a_condition_that_writes():
    def step(a):
        a[0] += 1
        return a[0]

    def f(a, limit):
        n = 0
        while step(a) < limit:
            n += 1
        return n

    for entry in (None, 0, 1, 2):
        _core.jit_force_entry(entry)
        try:
            both(f, lambda: (np.zeros(2), 20), lambda: (np.zeros(2), 0), lambda: (np.zeros(0), 2))
        finally:
            _core.jit_force_entry()


@pytest.mark.parametrize("entry", [None, 0, 1, 3])
def test_a_condition_that_fails_after_code_has_taken_over(entry):
    def positive(a):
        i = n = 0
        while a[i] > 0:
            n += 10
            i += 1
            a[0] = i
        return n

    def doubled(n):
        x = steps = 1
        while x * 3 < n:
            x *= 3
            steps += 1
        return x, steps

    _core.jit_force_entry(entry)
    try:
        both(positive, lambda: (np.ones(6),), lambda: (np.ones(1),))
        both(doubled, lambda: (2**62,), lambda: (2**80,), lambda: (2**63 + 5,))
    finally:
        _core.jit_force_entry()


def test_another_thread_sees_and_sets_attributes():
    class Shared(Box):
        stop = False

    @np.jit
    def count(box):
        while not box.stop:
            box.count += 1
        return box.count

    box, seen = Shared(), []

    def watch():
        for _ in range(200):
            seen.append(box.count)
            if len(set(seen)) > 3:
                break
            time.sleep(0.01)
        box.stop = True

    thread = threading.Thread(target=watch)
    thread.start()
    assert count(box) == box.count
    thread.join()
    assert len(set(seen)) > 3


@pytest.mark.core
@pytest.mark.parametrize("start", range(0, 120, MANY))
def test_random_functions(start, tmp_path):
    for seed in range(start, start + MANY):
        checked(tmp_path, seed, np.jit)


@pytest.mark.core
@pytest.mark.parametrize("entry", [0, 1, 2, 4])
def test_random_functions_in_which_code_takes_over(entry, tmp_path):
    _core.jit_force_entry(entry)
    try:
        for seed in range(MANY):
            checked(tmp_path, seed, np.jit)
    finally:
        _core.jit_force_entry()


@pytest.mark.core
@pytest.mark.parametrize("start", range(0, 20, 10))
def test_random_functions_with_an_exit_at_every_statement(start, tmp_path):
    exits = 0
    try:
        for seed in range(start, start + 10):
            text = random_objects.Writer(seed).module()
            for statement in range(1, text[text.index("def f(") :].count("\n") + 2):
                _core.jit_force_exit(statement)
                compiled = checked(tmp_path, seed, np.jit)
                reports = [unit.report() for unit in reporting.units(compiled)]
                taken = [one for r in reports for v in r["variants"] for one in v["exits"] if one[3]]
                exits += any(reason == "an exit for a test" for _, reason, *_ in taken)
    finally:
        _core.jit_force_exit(0)
    assert exits > 20


@pytest.mark.usefixtures("ahead")
@pytest.mark.parametrize("start", range(0, 40, 20))
def test_random_functions_ahead(start, tmp_path):
    for seed in range(start, start + 20):
        checked(tmp_path, seed, np.jit)


def checked(folder, seed, jit):
    """Compare a random function with CPython, and return its compiled form."""
    text = random_objects.Writer(seed).module()
    function = load(folder / f"objects_{seed}.py", text)
    compiled = jit(function)
    for number in (2 * seed, 2 * seed + 1):
        wanted = outcome(function, random_objects.arguments(number))
        got = outcome(compiled, random_objects.arguments(number))
        assert got == wanted, f"seed {seed}, arguments {number}\n{text}"
    return compiled
