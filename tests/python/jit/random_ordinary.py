"""Random programs with the constructs that surround and interrupt loops in ordinary code.

Draws of random numbers, functions that share variables, `try` in loops, `else` of loops, lists,
dictionaries, objects with attributes, generators, signals, integers beyond 64 bits, NumPy's scalars of all
dtypes beside Python's numbers, arrays that share memory and variables that get other arrays while the loop
runs.
"""

from __future__ import annotations

from typing import Any

import numpy

import numelt as np

from .random_expressions import INTS, SCALARS, VECTORS, Expressions

HEAD = """import math
import random
import signal
import numelt as np

LIMIT = 7
SCALE = 0.5
counter = 0
caught = []
rng = np.random.default_rng(1)
legacy = np.random.RandomState(2)
dice = random.Random(3)
pick = random.randrange


def on_signal(number, frame):
    global counter
    counter += 1
    if counter % 3 == 0:
        raise ValueError("signal")


class Point:
    __slots__ = ("x", "y", "n")

    def __init__(self, x, y):
        self.x = x
        self.y = y
        self.n = 0

    def move(self, d):
        self.x = self.x + d
        self.n += 1
        return self.x

    def norm(self):
        return abs(self.x) + abs(self.y)


def collatz(n):
    steps = 0
    while n > 1 and steps < 50:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


def power(p, k=3):
    made = 1
    for _ in range(k):
        made = made * p
    return made


def bumped(p):
    global counter
    counter = counter + 1
    return p + counter


def thrown(p):
    if rng.random() < 0.3:
        return dice.gauss(p, 0.5)
    return legacy.normal(p) + rng.integers(3)


def drop(v):
    v[rng.integers(-1, 1 + len(v))] = legacy.rand()
    return rng.uniform()


def fill(v, value):
    for q in range(len(v)):
        v[q] = value
    return len(v)


def numbers(n):
    for q in range(n):
        yield q * q - 3


def first_above(v, limit):
    for q, item in enumerate(v):
        if item > limit:
            return q
    else:
        return None


def sign(p):
    if p > 0:
        return 1
    elif p < 0:
        return -1.0
    return None


"""


class Writer(Expressions):
    """Writes the text of a function `f(a, b, c, g, n, z, log)`: three vectors, a matrix, numbers, a list."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self._lines: list[str] = []
        self._loops = 0
        # the number of loops around the current statement
        self._around = 0
        self._names = 0
        self._left = 22

    def text(self) -> str:
        """Return the function."""
        r = self._r
        self._lines = ["def f(a, b, c, g, n, z, log):"]
        r.choice([self._plain_start, self._plain_start, self._sparse_start])()
        if r.random() < 0.5:
            self._inner_functions()
        for _ in range(r.randint(1, 3)):
            self._loop(1)
        self._line(
            1, f"return i, j, p, q, x, y, z, items, table, a, b, c, g, {self._number()}, point.x, point.n"
        )
        return "\n".join(self._lines) + "\n"

    def _line(self, depth: int, text: str) -> None:
        self._lines.append("    " * depth + text)

    def _new(self, prefix: str) -> str:
        self._names += 1
        return f"{prefix}{self._names}"

    def _plain_start(self) -> None:
        r = self._r
        starts = ["0", "1", "-1", "2**62", "2**63 - 1", "-(2**63)", "True", "n", "len(a)", "10**20"]
        for name in ("i", "j", "p", "q"):
            self._line(1, f"{name} = {r.choice([*starts[:3], *starts])}")
        for name in ("x", "y"):
            value = r.choice(["0.0", "1.5", "-0.0", "z", "1e308", "float('inf')", "a[0]", "0"])
            if r.random() < 0.3:
                value = f"np.{r.choice(SCALARS)}({r.choice(['1', '3', '100'])})"
            self._line(1, f"{name} = {value}")
        self._line(1, "items = [3, 1, 2]")
        self._line(1, "table = {}")
        self._line(1, "point = Point(1, 2.5)")
        self._line(1, "small = lambda t: t * 2 if t < n else t")

    def _sparse_start(self) -> None:
        self._plain_start()
        name = self._r.choice(["i", "j", "p", "x", "y"])
        self._line(1, f"del {name}")

    def _inner_functions(self) -> None:
        r = self._r
        self._line(1, "def inner(t, u=2):")
        if r.random() < 0.4:
            self._line(2, f"nonlocal {r.choice(['x', 'p'])}")
            self._line(2, r.choice(["x = t", "p = u", "x, p = t, u"]))
        self._line(2, f"return {r.choice(['t + u', 't * y', 't if t else p', 'n - t', 'a[t % n] + u', 'q'])}")
        self._line(1, "small = inner")

    def _block(self, depth: int) -> None:
        for _ in range(self._r.choice([1, 2, 2, 3])):
            self._statement(depth)

    def _statement(self, depth: int) -> None:
        r = self._r
        self._left -= 1
        simple = [self._assign] * 6 + [self._augment] * 4 + [self._store] * 4 + [self._note] * 2
        simple += [
            self._lists,
            self._objects,
            self._arrays,
            self._arrays,
            self._unpack,
            self._delete,
            self._rare,
        ]
        if self._around:
            simple += [self._leave] * 2
        if depth < 6 and self._left > 0:
            simple += [self._condition] * 4 + [self._loop] * 3 + [self._guard] * 3 + [self._define]
        r.choice(simple)(depth)

    def _target(self) -> str:
        return self._r.choice(["i", "j", "p", "q", "x", "y", "x", "p"])

    def _assign(self, depth: int) -> None:
        name = self._target()
        value = self._integer() if name in INTS else self._number()
        value = "None" if self._r.random() < 0.03 else value
        self._line(depth, f"{name} = {value}")

    def _augment(self, depth: int) -> None:
        r, name = self._r, self._target()
        integers = ["+=", "-=", "+=", "//=", "%=", "^=", "|=", "<<=", ">>="]
        value = self._integer(1) if name in INTS else self._number(1)
        operator = r.choice(integers if name in INTS else ["+=", "-=", "*=", "/=", "//=", "%=", "+="])
        if operator == "<<=":
            value = r.choice(["1", "2", "7"])
        self._line(depth, f"{name} {operator} {value}")

    def _store(self, depth: int) -> None:
        r = self._r
        self._line(depth, f"{self._element()} {r.choice(['=', '=', '+=', '-=', '*='])} {self._number(1)}")

    def _note(self, depth: int) -> None:
        self._line(
            depth, f"log.append({self._r.choice([self._number(1), self._target(), '(i, x)', 'str(p)'])})"
        )

    def _lists(self, depth: int) -> None:
        r = self._r
        self._line(
            depth,
            r.choice(
                [
                    f"items.append({self._number(1)})",
                    f"items[{self._index()}] = {self._number(1)}",
                    "items = items[::-1][:9]",
                    f"x = items[{r.choice(['0', '-1', 'i % 3'])}]",
                    "items.sort(key=str)",
                    f"items = [t for t in items if t != {self._integer(0)}] + [1, 2]",
                    f"table[{self._integer(0)}] = table.get({self._integer(0)}, 0) + 1",
                    "y = sum(items[:3])",
                    "items = items + [i]",
                    f"x = sum(t * {self._float(0)} for t in {r.choice(VECTORS)})",
                    "y = max((t for t in numbers(4)), default=0)",
                    "del items[3:]",
                    "items[1:2] = [i, j]",
                ]
            ),
        )

    def _objects(self, depth: int) -> None:
        self._line(
            depth,
            self._r.choice(
                [
                    f"point.x = {self._number(1)}",
                    f"point.n += {self._integer(0)}",
                    f"point.move({self._number(0)})",
                    f"point = Point({self._number(0)}, i)",
                    "x = point.x * 0.5",
                ]
            ),
        )

    def _arrays(self, depth: int) -> None:
        r, v, w = self._r, self._r.choice(VECTORS), self._r.choice(VECTORS)
        self._line(
            depth,
            r.choice(
                [
                    f"{v} = {self._vector()}",
                    f"{v}, {w} = {w}, {v}",
                    f"{v} = {w}[1:] if len({w}) > 2 else np.ones(5)",
                    f"{v}[{r.choice([':', '1:', '::2', ':-1'])}] {r.choice(['=', '+='])} {self._number(0)}",
                    f"{v}[1:] = {v}[:-1]",
                    f"{v} {r.choice(['+=', '*=', '-='])} {self._number(0)}",
                    f"g[{self._index()}] = {self._number(0)}",
                    f"g[{self._index()}, :] += {self._number(0)}",
                    "g = g.T",
                    f"fill({r.choice([v, f'{v}[1:]', 'g[0]'])}, {self._number(0)})",
                    f"{v} = {v}.copy()",
                    f"x = ({self._vector()}).sum()",
                    f"p = len({self._vector()})",
                ]
            ),
        )

    def _unpack(self, depth: int) -> None:
        r = self._r
        self._line(
            depth,
            r.choice(
                [
                    "i, j = j, i",
                    "p, q = divmod(p, 7)",
                    f"x, y = {self._number(1)}, {self._number(1)}",
                    f"p, *more = {self._integer(0)}, {self._integer(0)}, 3",
                    f"{r.choice(VECTORS)}[i], {r.choice(VECTORS)}[j] = {self._number(0)}, {self._number(0)}",
                    "x = y = p",
                    "(p, q), x = (q, p), y",
                    f"p, q = {r.choice(VECTORS)}[:2]",
                ]
            ),
        )

    def _delete(self, depth: int) -> None:
        if self._r.random() < 0.3:
            self._line(depth, f"del {self._target()}")
        else:
            self._line(depth, f"{self._target()} = None")

    def _rare(self, depth: int) -> None:
        r = self._r
        self._line(
            depth,
            r.choice(
                [
                    "signal.raise_signal(signal.SIGUSR1)",
                    f"assert {self._test(0)}, {self._integer(0)}",
                    f"if {self._test(0)}: raise KeyError({self._integer(0)})",
                    "global counter; counter += 1",
                    f"caught.append({self._integer(0)})",
                    "p += counter",
                    "np.seterr(over='ignore')",
                    "np.seterr(over='warn')",
                    f"x = float('{r.choice(['nan', 'inf', '-inf'])}')",
                    "x = dice.random(); dice.seed(4)",
                    f"x = rng.{r.choice(['random', 'normal'])}(size=3)[i]",
                ]
            ).replace("global counter; counter += 1", "x = bumped(x)"),
        )

    def _leave(self, depth: int) -> None:
        self._line(depth, f"if {self._test(0)}:")
        self._line(depth + 1, self._r.choice(["break", "continue", "continue", "return log[-3:]", "break"]))

    def _condition(self, depth: int) -> None:
        r = self._r
        self._line(depth, f"if {self._test()}:")
        self._block(depth + 1)
        if r.random() < 0.3:
            self._line(depth, f"elif {self._test(0)}:")
            self._block(depth + 1)
        if r.random() < 0.4:
            self._line(depth, "else:")
            self._block(depth + 1)

    def _guard(self, depth: int) -> None:
        r = self._r
        if r.random() < 0.15:
            self._line(depth, f"with np.errstate({r.choice(['all', 'over', 'divide', 'invalid'])}='ignore'):")
            self._block(depth + 1)
            return
        self._line(depth, "try:")
        self._block(depth + 1)
        kind = r.choice(
            ["Exception", "ZeroDivisionError", "(IndexError, ValueError)", "ArithmeticError", "TypeError"]
        )
        self._line(depth, f"except {kind} as error:")
        self._line(depth + 1, "log.append((type(error).__name__, str(error)))")
        if r.random() < 0.3:
            self._block(depth + 1)
        if r.random() < 0.2:
            self._line(depth, "else:")
            self._block(depth + 1)
        if r.random() < 0.3:
            self._line(depth, "finally:")
            self._line(depth + 1, r.choice(["q = q + 1", "log.append(i)", "x = 0.5"]))

    def _define(self, depth: int) -> None:
        """Define a function in a loop that sees the loop's variables."""
        r, name = self._r, self._new("made")
        self._line(depth, f"def {name}(t, u={r.choice(['i', 'x', '1'])}):")
        if r.random() < 0.3:
            self._line(depth + 1, "nonlocal y")
            self._line(depth + 1, f"y = {r.choice(['t', 'u', 'x'])}")
        self._line(depth + 1, f"return {r.choice(['t + u', 't * x', 'u', 'p - t'])}")
        self._line(depth, f"{self._target()} = {name}({self._number(0)})")

    def _loop(self, depth: int) -> None:
        r = self._r
        self._loops += 1
        if r.random() < 0.25:
            count = self._new("w")
            self._line(depth, f"{count} = 0")
            self._line(depth, f"while {count} < {r.choice(['n', '6', '11', 'len(a)'])}{self._and_test()}:")
            self._line(depth + 1, f"{count} += 1")
        else:
            self._line(depth, f"for {self._head(self._loops == 1)}:")
        self._around += 1
        self._block(depth + 1)
        self._around -= 1
        if r.random() < 0.15:
            self._line(depth, "else:")
            self._block(depth + 1)

    def _and_test(self) -> str:
        return f" and ({self._test(0)})" if self._r.random() < 0.4 else ""

    def _head(self, is_first: bool) -> str:
        r, name = self._r, self._r.choice(["i", "j", "i", "p"])
        v = r.choice(VECTORS)
        ranges = [
            "n",
            "len(a)",
            "1, n",
            "n - 1, -1, -1",
            "0, n, 2",
            "9",
            "LIMIT",
            "len(items)",
            "-3, 4",
            "g.shape[0]",
        ]
        kinds = [f"{name} in range({r.choice(ranges)})"] * (20 if is_first else 10)
        kinds += [
            f"x in {v}",
            f"x in {self._vector()}",
            f"i, x in enumerate({v})",
            f"i, x in enumerate({v}[1:], {r.choice(['1', 'n', '-2'])})",
            f"x, y in zip({v}, {r.choice(VECTORS)})",
            f"(i, x), y in zip(enumerate({v}), items)",
            "x in items",
            "x in items[:5]",
            "x in list(items)",
            "i, x in enumerate(items[:6])",
            "i in reversed(range(5))",
            "i in numbers(6)",
            "p in (t * 2 for t in range(n))",
            "x in (0.5, 2, 3.5)",
            "i in (0, 1, 2, 1)",
            "p in sorted(table)",
            "row in g",
            "x in g[0]",
            "x in g.flat",
            "items[0] in range(4)",
            "point.x in range(3)",
            "i in np.arange(5)",
            "i in map(int, items[:4])",
            "x in [i * 0.5 for i in range(4)]",
        ]
        return r.choice(kinds)


def arguments(seed: int) -> tuple[Any, ...]:
    """Return arguments for the function: vectors of three dtypes, which share memory now and then."""
    rng = numpy.random.default_rng(seed)
    count = int(rng.integers(2, 14))
    a = rng.normal(0, 3, count).round(2)
    b = rng.normal(0, 3, count).astype(["f8", "f4", "f8", "f2", "i8"][seed % 5])
    dtype = ["i8", "i4", "u1", "i1", "u8", "?", "u2"][seed % 7]
    c = rng.integers(0, 2 if dtype == "?" else 100, count).astype(dtype)
    g = rng.integers(-4, 9, (4, 5)).astype(["f8", "i8", "f4"][seed % 3])
    if seed % 5 == 0:
        a[rng.integers(0, count)] = [numpy.nan, numpy.inf, -0.0, 1e300][seed % 4]
    kind = seed % 6
    if kind == 1:
        b = a[::-1]
    elif kind == 2:
        b = a
    elif kind == 3:
        a, b = a[1:], a[:-1]
        a, b = (a, b) if len(a) > 1 else (g[0], g[1])
    elif kind == 4:
        a = numpy.repeat(a, 2)[::2]
    return a, b, c, g, count, [0.5, 2.0, numpy.float64(3), numpy.float32(1.5), -1.0][seed % 5], []


def shared(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Convert NumPy's arrays to numelt's; arguments that are one object stay one object."""
    made: dict[int, Any] = {}
    return tuple(
        made.setdefault(id(value), np.asarray(value)) if isinstance(value, numpy.ndarray) else value
        for value in values
    )
