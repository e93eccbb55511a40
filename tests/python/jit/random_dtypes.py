"""Random functions whose loops read and write arrays of all dtypes, in place, with rare errors.

The arrays are long enough for several attempts at iterations ahead. Each has one of many dtypes; sometimes it
is empty, read-only, reversed or overlaps another one, or has an element near its end for which an operation
fails.
"""

from __future__ import annotations

import random
from typing import Any

import numpy

HEAD = """import math
import numelt as np


def clipped(p, low, high):
    return low if p < low else high if p > high else p


"""
DTYPES = ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"]
LENGTHS = [0, 1, 2, 5, 40, 300, 3000, 20_000]


class Writer:
    """Writes the text of a function `f(x, y, z, m, n, s)`: three vectors, a matrix, an int and a float."""

    def __init__(self, seed: int) -> None:
        self._r = random.Random(seed)
        self._loops: list[str] = []

    def text(self) -> str:
        """Return the function."""
        r = self._r
        lines = ["def f(x, y, z, m, n, s):", f"    t = {r.choice(['0', '0.0', 's', 'n', 'False'])}"]
        lines += [f"    c = {r.choice(['0', '1', 'None', 'n'])}", "    i = j = -1"]
        if r.random() < 0.3:
            view = r.choice(["y[::-1]", "x[1:]", "x", "z.copy()", "m[0]", "m[:, 0]"])
            lines += [f"    {r.choice('xyz')} = {view}"]
        for _ in range(r.randint(1, 2)):
            lines += self._loop("    ")
        lines += ["    return t, c, i, j"]
        return "\n".join(lines) + "\n"

    def _loop(self, space: str) -> list[str]:
        r, i = self._r, "ij"[len(self._loops) % 2]
        if self._loops:
            bounds = [
                "range(3)",
                "range(m.shape[1])",
                f"range({self._loops[0]} % 5)",
                "range(2, m.shape[1] - 1)",
            ]
        else:
            bounds = [
                "range(len(x))",
                "range(n)",
                "range(len(x) - 1)",
                "range(1, len(y))",
                "range(len(x) - 1, -1, -1)",
            ]
            bounds += ["range(m.shape[0])", "range(0, n, 3)", "range(len(z))"]
        self._loops.append(i)
        body = [line for _ in range(r.randint(1, 3)) for line in self._statement(space + "    ")]
        self._loops.pop()
        return [f"{space}for {i} in {r.choice(bounds)}:", *body]

    def _index(self) -> str:
        i = self._r.choice(self._loops)
        more = [f"{i} + 1", f"{i} - 1", f"n - 1 - {i}", f"-{i} - 1", f"{i} % 7", f"{i} // 2", "-1", "0"]
        return self._r.choice([i] * 8 + more)

    def _element(self) -> str:
        r = self._r
        name = r.choice(["x", "x", "y", "z", "m"])
        if name == "m":
            at = [
                f"m[{self._index()}, {r.choice(self._loops)}]",
                f"m[{self._index()}][{r.choice(self._loops)}]",
            ]
            return r.choice([*at, f"m[{self._loops[0]}, 0]"])
        return f"{name}[{self._index()}]"

    def _value(self) -> str:
        r = self._r
        return r.choice([self._element()] * 5 + ["s", "t", "2", "0.5", "n", "True", self._loops[-1]])

    def _expression(self) -> str:
        r, a, b, d = self._r, self._element(), self._value(), self._value()
        return r.choice(
            [
                a,
                f"{a} + {b}",
                f"{a} - {b}",
                f"{a} * {b}",
                f"{a} / {b}",
                f"{a} // {b}",
                f"{a} % {b}",
                f"{a} ** 2",
                f"-{a}",
                f"~{a}",
                f"{a} & 3",
                f"{a} >> 1",
                f"{a} << 2",
                f"{a} | {self._element()}",
                f"{a} ^ 1",
                f"int({a}) + {b}",
                f"int({a}) * 1000003 % 65537",
                f"float({a}) * 0.5",
                f"bool({a})",
                f"abs({a})",
                f"min({a}, {b})",
                f"max({a}, {b}, {d})",
                f"clipped({a}, 0, {b})",
                f"{a} if {b} < {d} else {self._element()}",
                f"{a} > {b}",
                f"{a} and {b}",
                f"not {a}",
                f"math.sqrt({a})",
                f"np.sqrt({a})",
                f"math.floor({a})",
                f"round({a})",
                f"{a} * {b} + {d}",
            ]
        )

    def _statement(self, space: str) -> list[str]:
        r, kind = self._r, self._r.randint(0, 13)
        if kind <= 5:
            operator = r.choice(["=", "=", "=", "+=", "-=", "*=", "//=", "^=", "/="])
            return [f"{space}{self._element()} {operator} {self._expression()}"]
        if kind <= 7:
            return [f"{space}t {r.choice(['=', '+=', '+=', '-=', '|='])} {self._expression()}"]
        if kind == 8:
            value = [self._expression(), self._loops[-1], f"max(c or 0, {self._element()})"]
            return [f"{space}c = {r.choice(value)}"]
        if kind == 9:
            a, b = self._element(), self._element()
            return [f"{space}{a}, {b} = {b}, {a}"]
        if kind <= 11 and len(self._loops) < 2:
            return self._loop(space)
        condition = f"{self._element()} {r.choice(['<', '>', '==', '!=', '>='])} {self._value()}"
        body = (
            [f"{space}    {r.choice(['break', 'continue'])}"]
            if r.random() < 0.2
            else self._statement(space + "    ")
        )
        lines = [f"{space}if {condition}:", *body]
        if r.random() < 0.3:
            lines += [f"{space}else:", *self._statement(space + "    ")]
        return lines


def _vector(rng: numpy.random.Generator, length: int) -> Any:
    dtype = numpy.dtype(rng.choice(DTYPES))
    if dtype.kind == "f":
        made = rng.normal(size=length).round(3).astype(dtype)
        special = [0.0, numpy.inf, numpy.nan, -1.0, numpy.finfo(dtype).max, 1e-40]
    else:
        low, high = (0, 2) if dtype.kind == "b" else (0 if dtype.kind == "u" else -9, 10)
        made = rng.integers(low, high, length).astype(dtype)
        if rng.random() < 0.5:
            made[made == 0] = 1
        special = [0, 1] if dtype.kind == "b" else [0, numpy.iinfo(dtype).max, numpy.iinfo(dtype).min]
    if length and rng.random() < 0.4:
        made[length - 1 - rng.integers(0, min(length, 40))] = rng.choice(numpy.array(special, dtype))
    return made


def arguments(seed: int, most: int = 20_000) -> tuple[Any, ...]:
    """Return arguments for the function; `most` is the greatest length."""
    rng = numpy.random.default_rng(seed)
    length = int(rng.choice([n for n in LENGTHS if n <= most]))
    x, y, z = (_vector(rng, length) for _ in range(3))
    kind = rng.integers(0, 12)
    if kind == 0:
        y = x
    elif kind == 1:
        x, y = x[1:], x[:-1]
    elif kind == 2:
        y = x[::-1]
    elif kind == 3:
        x = x[::2]
    elif kind == 4 and x.dtype.kind != "f":  # the bits of a NaN are not determined
        z = x.view([d for d in ("u1", "i4") if not length or x.nbytes % numpy.dtype(d).itemsize == 0][-1])
    elif kind == 5:
        y = y[:-1]
    columns = int(rng.choice([1, 3, 8]))
    m = _vector(rng, length * columns).reshape(length, columns)
    if rng.random() < 0.2:
        m = m.reshape(columns, length).T
    if rng.random() < 0.1 and length:
        m = numpy.lib.stride_tricks.as_strided(
            x, (length // 2, 2), (x.strides[0], x.strides[0]), writeable=True
        )[: len(x) - 2]
    for array in (x, y, z, m):
        if rng.random() < 0.05:
            array.flags.writeable = False
    n = int(rng.choice([length, length, length, length + 1, max(length - 1, 0), 3, -1]))
    return x, y, z, m, n, float(rng.normal())
