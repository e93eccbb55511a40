"""Random functions whose loops read and write elements of arrays, in ways that code without exits supports.

Indices are sums of loop variables, bounds come from shapes and from arguments, arguments overlap, are
reversed or have special values, and variables carry values from one iteration to the next.
"""

from __future__ import annotations

import random
from typing import Any

import numpy

HEAD = """import math
import numelt as np


def half(p):
    return p * 0.5 if p > 0 else -p


"""
SPECIAL = [0.0, -0.0, numpy.inf, -numpy.inf, numpy.nan, 1e308, -1e308, 5e-324, 1.0, 3.0]


class Writer:
    """Writes the text of a function `f(x, y, m, k, b, n, s)`.

    `x` and `y` are vectors of floats, `m` is a matrix, `k` a vector of small integers, `b` one of truth
    values. Without `products`, there is no `np.dot`.
    """

    def __init__(self, seed: int, products: bool = True) -> None:
        self._r = random.Random(seed)
        self._products = products
        self._loops: list[str] = []

    def text(self) -> str:
        """Return the function."""
        r = self._r
        start = r.choice(["0", "0.0", "s", "x[0]", "1", "n"])
        lines = [
            "def f(x, y, m, k, b, n, s):",
            f"    t = {start}",
            f"    c = {r.choice(['0', '0', 's', 'n'])}",
        ]
        lines += ["    w = np.zeros(len(x))", "    i = j = 0"]
        for _ in range(r.randint(1, 3)):
            lines += self._loop("    ")
        lines += ["    return t, c, i, j, x, y, m, k, b, w"]
        return "\n".join(lines) + "\n"

    def _bounds(self) -> str:
        r = self._r
        stop = r.choice(["len(x)", "len(x)", "n", "m.shape[0]", "m.shape[1]", "len(y) - 1", "len(k)", "40"])
        kinds = [f"range({stop})"] * 3 + [
            f"range(1, {stop})",
            f"range({stop} - 1, 0, -1)",
            f"range(0, {stop}, 2)",
        ]
        kinds += [f"range(max(0, n - 3), min(n + 3, {stop}))", "range(3)", "range(n, n + 4)"]
        if self._loops:
            outer = self._loops[-1]
            kinds += [f"range({outer} + 1, {stop})", f"range({outer})", f"range({outer} - 1, {outer} + 2)"]
        return r.choice(kinds)

    def _loop(self, space: str) -> list[str]:
        r = self._r
        name = "ij"[len(self._loops) % 2]
        head = f"{space}for {name} in {self._bounds()}:"
        if r.random() < 0.12:
            head = f"{space}for {name}, c in enumerate({r.choice(['x', 'y', 'k'])}):"
        self._loops.append(name)
        body = self._block(space + "    ", r.randint(1, 4))
        self._loops.pop()
        return [head, *body]

    def _block(self, space: str, count: int) -> list[str]:
        return [line for _ in range(count) for line in self._statement(space)]

    def _index(self) -> str:
        r, i = self._r, self._r.choice(self._loops)
        j = self._loops[-1]
        return r.choice(
            [
                i,
                i,
                j,
                j,
                j,
                f"{i} + 1",
                f"{i} - 1",
                f"2 * {i}",
                f"{i} + {j}",
                f"{i} % len(x)",
                f"k[{i}]",
                "0",
                "-1",
                f"len(x) - 1 - {j}",
                f"{j} + n",
                "n",
                f"({j} + n) % 3",
                f"min({j}, n)",
                f"max({i} - 1, 0)",
                f"({i} + 1) % len(x)",
                f"({j} - 1) % len(x)",
                f"({j} + {i} - 2) % m.shape[0]",
                f"({j} + 1) % n",
                f"({j} + n) % len(x)",
            ]
        )

    def _element(self) -> str:
        r = self._r
        name = r.choice(["x", "x", "y", "w", "m", "k", "b"])
        return self._of_matrix() if name == "m" else f"{name}[{self._index()}]"

    def _of_matrix(self) -> str:
        return f"m[{self._index()}, {self._index()}]"

    def _sum(self) -> str:
        return f"x[{self._index()} :].sum()"

    def _value(self) -> str:
        r = self._r
        return r.choice(
            [
                self._element(),
                self._element(),
                self._element(),
                "s",
                "t",
                "c",
                "0.5",
                "2",
                "n",
                self._loops[-1],
            ]
        )

    def _expression(self) -> str:
        r, a, b, d = self._r, self._value(), self._value(), self._value()
        # An integer that is multiplied by itself in each iteration soon has millions of digits.
        b = self._element() if b in ("t", "c") else b
        e = self._element() if a in ("t", "c") else a
        return r.choice(
            [
                f"{a} * {b} + {d}",
                f"{a} + {b}",
                f"{a} - {b} * 0.25",
                f"{a} / {b}",
                f"{a} * 1e200 * {b}",
                f"({e} - {b}) ** 2",
                f"half({a})",
                f"math.sqrt(abs({a}))",
                f"math.sqrt({a})",
                f"math.sqrt({a}) if {a} > {b} else {d}",
                f"np.sqrt({a})",
                f"max({a}, {b})",
                f"min({a}, {b}, {d})",
                f"{a} // 2",
                f"{a} % 3",
                f"abs({a})",
                f"{a} if {b} > {d} else {b}",
                f"math.exp({a})",
                self._sum(),
                *self._dots(),
                a,
            ]
        )

    def _dots(self) -> list[str]:
        dots = [
            f"np.dot(m[{self._index()}], m[{self._index()}])",
            f"np.dot(w[{self._loops[-1]} :], x[{self._loops[-1]} :])",
        ]
        return dots if self._products else []

    def _statement(self, space: str) -> list[str]:
        r = self._r
        kind = r.randint(0, 15)
        if kind <= 4:
            name = r.choice(["x", "y", "w", "m"])
            at = self._of_matrix() if name == "m" else f"{name}[{self._index()}]"
            return [f"{space}{at} {r.choice(['=', '=', '=', '+=', '-=', '*='])} {self._expression()}"]
        if kind == 5:
            return [f"{space}{r.choice(['k', 'b'])}[{self._index()}] = {self._value()}"]
        if kind <= 8:
            return [f"{space}t {r.choice(['=', '+=', '+=', '+=', '-='])} {self._expression()}"]
        if kind == 9:
            return [f"{space}c {r.choice(['+= 1', '= ' + self._expression(), '= ' + self._loops[-1]])}"]
        if kind == 10:
            return [f"{space}t, c = {r.choice(['c, t', 't + 1, ' + self._value()])}"]
        if kind == 11 and len(self._loops) < 3:
            return self._loop(space)
        if kind == 12 and len(self._loops) < 3:
            return self._loop(space)
        if kind == 13:
            return [
                f"{space}if {self._value()} > {self._value()}:",
                f"{space}    {r.choice(['break', 'continue'])}",
            ]
        condition = f"{self._value()} {r.choice(['<', '>', '==', '>='])} {self._value()}"
        lines = [f"{space}if {condition}:", *self._block(space + "    ", r.randint(1, 2))]
        if r.random() < 0.4:
            lines += [f"{space}else:", *self._block(space + "    ", 1)]
        return lines


def arguments(seed: int) -> tuple[Any, ...]:
    """Return random arguments for the function; each kind of vector occurs sometimes."""
    rng = numpy.random.default_rng(seed)
    length = int(rng.choice([3, 4, 7, 16, 33, 45]))
    memory = rng.normal(size=4 * length).round(2)
    if rng.random() < 0.3:
        memory[rng.integers(0, len(memory), 3)] = rng.choice(SPECIAL, 3)
    x, y = memory[:length], memory[length : 2 * length]
    kind = rng.integers(0, 9)
    if kind == 0:
        y = x
    elif kind == 1:
        y = memory[1 : length + 1]
    elif kind == 2:
        x = x[::-1]
    elif kind == 3:
        x = memory[: 2 * length : 2]
    columns = int(rng.choice([3, 5, length]))
    m = rng.normal(size=(length, columns)).round(2)
    if rng.random() < 0.2:
        m = m.T
    if rng.random() < 0.1:
        m = memory[: 2 * length].reshape(2, length)
    k = rng.integers(0, length, length)
    return x, y, m, k, rng.random(length) > 0.5, int(rng.integers(-2, length + 1)), float(rng.normal())
