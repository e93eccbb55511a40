"""Random functions whose loops assign to attributes, and call functions and methods that write to arrays.

The functions and methods that are called are random, too: they read and write elements, slices and
attributes, call each other, loop, return early and raise exceptions. An object may have several names, an
array may be reached in several ways, and some classes run code of their own when an attribute is used.
"""

from __future__ import annotations

import random
from typing import Any

import numpy

import numelt as np

HEAD = """import math
import numelt as np

ONE = 1


class Body:
    kind = 2
    rate = 0.5

    def __init__(self, a, b):
        self.x = 0.5
        self.n = 1
        self.a = a
        self.b = b
        self.other = self
        self.items = [1, 2, 3, 4, 5]

METHODS

class Cell:
    __slots__ = ("x", "n", "a", "b", "other", "rate", "kind", "items")

    def __init__(self, a, b):
        self.x = 1.5
        self.n = 2
        self.a = a
        self.b = b
        self.other = self
        self.rate = 2
        self.kind = True
        self.items = [0.5, 1.5, 2.5]

METHODS

class Counting(Body):
    count = 0

    def __setattr__(self, name, value):
        object.__setattr__(self, name, value)
        Counting.count += 1


class Computed(Body):
    @property
    def x(self):
        return self.n + 0.5

    @x.setter
    def x(self, value):
        self.n = 3


class Instead(Body):
    def __init__(self, a, b):
        super().__init__(a, b)
        self.bump = lambda *args: 7
        self.rate = 1.5


def made(kind, a, b):
    Counting.count = 0
    classes = [Body, Cell] * 4 + [Body] * 4 + [Counting, Computed, Instead]
    p = classes[kind % 15](a, b)
    q = classes[kind // 15 % 15](b, a)
    p.other, q.other = (q, p) if kind % 3 else (p, p)
    return p, (p if kind % 5 == 0 else q)


def state(p):
    return [p.x, p.n, p.a, p.b, p.rate, p.kind, p.items, p.other is p, type(p).__name__]


def plain(t, u=2, *, scale=1):
    return t * scale + u


def swap(v, i, j):
    v[i], v[j] = v[j], v[i]


def all_of(*args):
    s = 0
    for t in args:
        s += t
    return s


"""

COMMON = """    @property
    def twice(self):
        return 2 * self.n

    @property
    def changed(self):
        self.a[0] += 1
        self.n += 1
        return self.n

    @staticmethod
    def half(t, u=1):
        return t / 2 + u

    def __call__(self, t):
        self.n += 1
        return t + self.n

    def __getitem__(self, k):
        if isinstance(k, tuple):
            return self.a[k[0]] + k[1]
        return self.b[k]

    def __setitem__(self, k, value):
        if isinstance(k, tuple):
            i, by = k
            self.a[i] = value * by
            self.n += 1
        else:
            self.items[k] = value

    def __len__(self):
        return self.n

"""

NUMBERS = ("0", "1", "2", "-1", "3", "0.5", "-1.5", "7", "1e308", "4611686018427387904", "True", "2.0")


class Writer:
    """Writes functions, methods and a function `f(kind, a, b, g, n, out)` that uses them in loops."""

    def __init__(self, seed: int) -> None:
        self._r = random.Random(seed)
        self._lines: list[str] = []
        # what the function that is being written can use
        self._names: tuple[str, ...] = ()
        self._ints: tuple[str, ...] = ()
        self._objects: tuple[str, ...] = ()
        self._arrays: tuple[str, ...] = ()
        self._functions: list[str] = []
        self._in_f = False
        self._loops = self._left = 0

    def module(self) -> str:
        """Return the text of the module."""
        names = ["first", "second"]
        self._functions = ["plain", "swap", "all_of"]
        functions = "".join(self._function(name) for name in names)
        self._functions += names
        methods = COMMON + self._method("bump") + self._method("act")
        self._functions += ["bump", "act"]
        return HEAD.replace("METHODS", methods) + functions + self._main()

    def _line(self, depth: int, text: str) -> None:
        self._lines.append("    " * depth + text)

    def _function(self, name: str) -> str:
        self._lines, self._in_f, self._left = [], False, self._r.choice([2, 4, 6])
        self._line(0, f"def {name}(v, w, k, s, p):")
        self._names, self._ints = ("s", "t"), ("k", "h")
        self._objects, self._arrays = ("p",), ("v", "w", "v", "p.a")
        self._callee_body(1)
        self._functions.append(name)
        return "\n".join(self._lines) + "\n\n\n"

    def _method(self, name: str) -> str:
        self._lines, self._in_f, self._left = [], False, self._r.choice([2, 4, 6])
        self._line(1, f"def {name}(self, k, s=2, *, by=1):")
        self._names, self._ints = ("s", "t", "by"), ("k", "h")
        self._objects, self._arrays = ("self",), ("self.a", "self.b")
        self._callee_body(2)
        return "\n".join(self._lines) + "\n\n"

    def _callee_body(self, depth: int) -> None:
        self._line(depth, f"t = {self._number()}")
        self._line(depth, f"h = {self._r.choice(['0', '1', 'k'])}")
        self._block(depth, 1)
        if self._r.random() < 0.7:
            self._line(depth, f"return {self._expression()}")

    def _main(self) -> str:
        self._lines, self._in_f, self._left = [], True, 14
        self._line(0, "def f(kind, a, b, g, n, out):")
        self._line(1, "p, q = made(kind, a, b)")
        self._names, self._ints, self._objects = ("s", "t", "u"), ("i", "j"), ("p", "q", "p.other")
        self._arrays = ("a", "b", "a", "p.a", "q.b", "g[0]", "g[1]")
        for name in self._names:
            self._line(1, f"{name} = {self._number()}")
        self._line(1, "i = j = 0")
        for _ in range(self._r.choice([1, 1, 2])):
            self._loop(1, 2)
        self._line(1, "return state(p), state(q), i, j, s, t, u, out, p.a is a, q.a is p.a, Counting.count")
        return "\n".join(self._lines) + "\n"

    def _number(self) -> str:
        return self._r.choice(NUMBERS)

    def _index(self) -> str:
        # most indices are within bounds
        name = self._r.choice(self._ints)
        return self._r.choice([f"{name} % 3", f"{name} % 3", "0", "1", "-1", f"{name} % 2", name])

    def _element(self) -> str:
        return f"{self._r.choice(self._arrays)}[{self._index()}]"

    def _field(self) -> str:
        return f"{self._r.choice(self._objects)}.{self._r.choice(['x', 'n', 'x', 'n', 'rate', 'kind'])}"

    def _call(self) -> str:
        r = self._r
        name = r.choice(self._functions)
        if name == "plain":
            argument = r.choice(["", ", 3", ", u=s", ", scale=2", ", *(1,)", ", *(s,), scale=s", ", 1, 2"])
            return f"plain({self._name()}{argument})"
        if name == "swap":
            return f"swap({r.choice(self._arrays)}, {self._index()}, {self._index()})"
        if r.random() < 0.15:
            p = r.choice(self._objects)
            return r.choice(
                [f"{p}.half({self._name()})", f"{p}({self._name()})", f"{p}.changed", f"{p}.twice"]
            )
        if r.random() < 0.15:
            p = r.choice(self._objects)
            return r.choice([f"{p}[{self._index()}]", f"{p}[{self._index()}, {self._name()}]", f"len({p})"])
        if name == "all_of":
            return r.choice(["all_of(t, 2, s)", "all_of()", f"all_of({self._name()}, *(1, s))"])
        if name in ("bump", "act"):
            more = r.choice(["", f", {self._name()}", ", by=2", f", by={self._name()}"])
            return f"{r.choice(self._objects)}.{name}({self._int()}{more})"
        v, w = r.choice(self._arrays), r.choice(self._arrays)
        v = f"{v}[1:]" if r.random() < 0.2 else v
        return f"{name}({v}, {w}, {self._int()}, {self._name()}, {r.choice(self._objects)})"

    def _int(self) -> str:
        return self._r.choice([*self._ints, *self._ints, "1", "2", "len(a)" if self._in_f else "3"])

    def _name(self) -> str:
        return self._r.choice([*self._names, self._number()])

    def _expression(self, depth: int = 2) -> str:
        r = self._r
        if depth == 0 or r.random() < 0.3:
            return r.choice(
                [r.choice([*self._names, *self._ints]), self._element(), self._field(), self._number()]
            )
        a, b = self._expression(depth - 1), self._expression(depth - 1)
        return r.choice(
            [
                f"({a} + {b})",
                f"({a} - {b})",
                f"({a} * {b} % 4611686018427387904)",
                f"({a} / {b})",
                f"({a} // {b})",
                f"min({a}, {b})",
                f"abs({a})",
                f"({a} if {self._test()} else {b})",
                f"({a} and {b})",
                self._call(),
                self._call(),
                f"({a} + {self._call()})",
                f"({self._call()} + {a})",
                f"({self._call()} if {self._test()} else {a})",
                f"({a} or {self._call()})",
                f"({r.choice(self._arrays)} * 2).max()",
                f"({r.choice(self._arrays)} + {self._call()}).sum()",
                f"float({self._element()})",
            ]
        )

    def _test(self) -> str:
        r, a, b = self._r, self._expression(0), self._expression(0)
        return r.choice(
            [f"{a} < {b}", f"{a} >= {b}", f"not {a}", f"{a} < {b} and {self._call()}", f"{a} == {b}"]
        )

    def _block(self, depth: int, loops: int, in_loop: bool = False) -> None:
        for _ in range(self._r.choice([1, 2, 2, 3])):
            self._statement(depth, loops, in_loop)

    def _statement(self, depth: int, loops: int, in_loop: bool) -> None:
        r, name = self._r, self._r.choice(self._names)
        self._left -= 1
        v, w, p = r.choice(self._arrays), r.choice(self._arrays), r.choice(self._objects)
        simple = [
            f"{name} = {self._expression()}",
            f"{name} {r.choice(['+=', '-='])} {self._expression(1)}",
            f"{self._element()} = {self._expression(1)}",
            f"{self._element()} {r.choice(['+=', '-=', '*='])} {self._expression(1)}",
            f"{v}[{self._index()}], {w}[{self._index()}] = {self._element()}, {self._expression(0)}",
            f"{self._field()} = {self._expression(1)}",
            f"{self._field()} {r.choice(['+=', '-=', '+='])} {self._expression(1)}",
            f"{p}.x, {p}.n = {p}.n, {self._expression(1)}",
            f"{p}[{self._index()}] {r.choice(['=', '=', '+='])} {self._expression(1)}",
            f"{p}[{self._index()}, {self._name()}] {r.choice(['=', '=', '-='])} {self._expression(1)}",
            self._call(),
            self._call(),
            f"{name} = {self._call()}",
            f"{v}[1:] = {w}[:-1] * {self._expression(0)}",
            f"{v}[1:] = {v}[:-1]",
            f"{v} += {self._expression(0)}" if "." in v or "[" in v else f"{v}[:] = {self._expression(0)}",
            f"{p}.a, {p}.b = {p}.b, {p}.a",
            f"{r.choice(self._ints)} = {r.choice(['0', '1', '2', 'len(' + v + ')', self._int()])}",
        ]
        rare = [
            f"if {self._test()}: raise KeyError({name})",
            f"{p}.a = {v}",
            f"{p}.b = {v} + 1",
            f"{name} = {p}.twice",
            f"{name} = {{1: {name}}}[1]",
            f"{p}.extra = {name}",
            f"{p}.items[{self._index()}] = {self._expression(0)}",
            f"{name} = {p}.extra",
            f"{p}.other = {p}",
            f"assert {self._test()}",
            f"{p}[{self._index()}], {name} = {name}, {p}[{self._index()}]",
            f"{p}[1:] = {name}",
            "pass",
        ]
        if in_loop:
            rare += [f"if {self._test()}: {r.choice(['break', 'continue'])}"] * 3
        if self._in_f:
            rare += [f"out.append({self._field()})", f"out.append(str({name}))", "p, q = q, p"]
        elif r.random() < 0.5:
            rare += [f"if {self._test()}: return {self._expression(1)}"] * 3
        kind = r.random()
        if kind < 0.7 or self._left < 0 or depth > 5:
            self._line(depth, r.choice(simple))
        elif kind < 0.8:
            self._line(depth, r.choice(rare))
        elif kind < 0.92 or not loops:
            self._line(depth, f"if {self._test()}:")
            self._block(depth + 1, loops, in_loop)
            if r.random() < 0.4:
                self._line(depth, "else:")
                self._block(depth + 1, loops, in_loop)
        else:
            self._loop(depth, loops)

    def _loop(self, depth: int, loops: int) -> None:
        r, name = self._r, self._r.choice(self._ints)
        if r.random() < 0.7:
            sources = ["range(4)", "range(1, 3)", f"range(len({self._arrays[0]}))", f"range({name} % 3, 4)"]
            sources += ["range(n)"] * 3 if self._in_f else ["range(3)"]
            if r.random() < 0.15:
                name, sources = r.choice(self._names), [r.choice(self._arrays), "(0.5, 2, 1)"]
            self._line(depth, f"for {name} in {r.choice(sources)}:")
        else:
            self._loops += 1
            counter = f"w{self._loops}"
            self._line(depth, f"{counter} = 0")
            self._line(depth, f"while {counter} < {r.choice(['3', '5'])} and {self._test()}:")
            self._line(depth + 1, f"{counter} += 1")
        self._block(depth + 1, loops - 1, True)


def arguments(seed: int) -> tuple[Any, ...]:
    """Return random arguments for the function; arrays share memory now and then."""
    rng = numpy.random.default_rng(seed)
    count = int(rng.integers(3, 9))
    a = rng.normal(0, 3, count).round(2)
    dtype = ["f8", "f8", "i8", "f4", "i4", "u1", "?", "f8"][seed % 8]
    b = rng.integers(0, 5, count).astype(dtype)
    g = rng.integers(-4, 9, (3, count)).astype(["f8", "i8"][seed % 2])
    made = [np.asarray(values) for values in (a, b, g)]
    kind = seed % 6
    if kind == 1:
        made[1] = made[0]
    elif kind == 2:
        made[1] = made[0][::-1]
    elif kind == 3:
        made[0], made[1] = made[0][1:], made[0][:-1]
    elif kind == 4:
        made[1] = made[2][0]
    return int(rng.integers(0, 225)), *made, int(rng.integers(3, 12)), []
