"""Random functions with loops, as text, and the outcome of running them.

In: a seed. Out: the text of a function, arguments for it, and `outcome`, which returns everything that a
program can see of a call: the result with its types and bits, the exception with its text and line, the
warnings with their lines, and the arguments afterwards.
"""

from __future__ import annotations

import random
import traceback
import warnings
from typing import Any

import numpy

import numelt as np

NAMES = ("i", "j", "k", "s", "t", "x", "y", "n", "m")
ARRAYS = ("a", "b", "c", "g")


class Writer:
    """Writes a function."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._lines: list[str] = []
        self._loops = 0

    def choice(self, *items: Any) -> Any:
        return self._random.choice(items)

    def number(self) -> str:
        return str(
            self.choice(0, 1, 2, 3, -1, 7, 0.5, 2.5, -1.5, 1e10, 1000, 4611686018427387904, True, 1e308)
        )

    def index(self) -> str:
        return str(
            self.choice(
                "i", "j", "k", "i - 1", "i + 1", "0", "-1", "n - 1", "i % 5", "(i * 3) % 7", "k % 4", "s"
            )
        )

    def element(self) -> str:
        name = self.choice(*ARRAYS)
        if name == "g":
            return (
                f"g[{self.index()}, {self.index()}]"
                if self.choice(1, 1, 0)
                else f"g[{self.index()}][{self.index()}]"
            )
        return f"{name}[{self.index()}]"

    def expression(self, depth: int = 2) -> str:
        if depth == 0 or self._random.random() < 0.3:
            return self.choice(self.choice(*NAMES), self.choice(*NAMES), self.number(), self.element())
        inner = [self.expression(depth - 1) for _ in range(3)]
        return self.choice(
            f"({inner[0]} {self.choice('+', '-')} {inner[1]})",
            # integers would grow without bound
            f"({inner[0]} * {inner[1]} % 4611686018427387904)",
            f"({inner[0]} {self.choice('/', '//', '%')} {inner[1]})",
            f"({inner[0]} {self.choice('&', '|', '^')} {inner[1]})",
            f"({inner[0]} {self.choice('<<', '>>')} {self.choice('1', '3', 'j % 5', '62')})",
            f"(-{inner[0]})",
            f"abs({inner[0]})",
            f"{self.choice('min', 'max')}({inner[0]}, {inner[1]})",
            f"({inner[0]} if {self.test(depth - 1)} else {inner[1]})",
            f"{self.choice('int', 'float', 'bool', 'round')}({inner[0]})",
            f"math.{self.choice('sqrt', 'sin', 'floor', 'exp', 'log')}({inner[0]})",
            f"np.{self.choice('sqrt', 'exp', 'sin', 'abs', 'floor')}({inner[0]})",
            f"({inner[0]} % 10007) ** {self.choice('2', '3', '0.5', '-1')}",
            f"({self.test(depth - 1)})",
            f"helper({inner[0]}, {inner[1]})",
            f"np.{self.choice('float32', 'int32', 'uint8', 'float64', 'int64')}({inner[0]})",
            f"(a[{self.index()}:] * {inner[0]}).{self.choice('max', 'min')}()",
        )

    def test(self, depth: int = 1) -> str:
        a, b, c = (self.expression(depth) for _ in range(3))
        return self.choice(
            f"{a} {self.choice('<', '<=', '>', '>=', '==', '!=')} {b}",
            f"{a} < {b} < {c}",
            f"not {a}",
            f"{a} {self.choice('and', 'or')} {b}",
            f"{a} in (1, 2.0, 3)",
            f"{self.choice(*NAMES)} is None",
        )

    def line(self, depth: int, text: str) -> None:
        self._lines.append("    " * depth + text)

    def block(self, depth: int, loops: int, in_loop: bool) -> None:
        for _ in range(self.choice(1, 2, 2, 3)):
            self.statement(depth, loops, in_loop)

    def statement(self, depth: int, loops: int, in_loop: bool) -> None:
        kind = self._random.random()
        name = self.choice(*NAMES)
        if kind < 0.3:
            self.line(depth, f"{name} = {self.expression()}")
        elif kind < 0.4:
            self.line(depth, f"{name} {self.choice('+=', '-=', '//=', '%=')} {self.expression(1)}")
        elif kind < 0.52:
            self.line(depth, f"{self.element()} {self.choice('=', '+=', '*=')} {self.expression(1)}")
        elif kind < 0.56:
            self.line(depth, f"{name}, {self.choice(*NAMES)} = {self.expression(1)}, {self.expression(1)}")
        elif kind < 0.58:
            self.line(
                depth,
                f"b[{self.index()}:] {self.choice('=', '+=')} a[{self.index()}:] * {self.expression(1)}",
            )
        elif kind < 0.6 and in_loop:
            self.line(depth, f"out.append({name})")
        elif kind < 0.76 and depth < 6:
            self.line(depth, f"if {self.test()}:")
            self.block(depth + 1, loops, in_loop)
            if self.choice(True, False):
                self.line(depth, "else:")
                self.block(depth + 1, loops, in_loop)
        elif kind < 0.82 and in_loop:
            self.line(depth, self.choice("continue", "break", f"return {name}", "continue"))
        elif loops and depth < 6:
            self.loop(depth, loops)
        else:
            self.line(depth, f"{name} = None" if self.choice(0, 0, 1) else "pass")

    def loop(self, depth: int, loops: int) -> None:
        kind = self._random.random()
        name = self.choice("i", "j", "k")
        if kind < 0.5:
            bounds = self.choice(
                "n % 9", "len(a)", "1, n % 9", "n % 7, 0, -1", "g.shape[0]", "0, 9, 2", "k % 8", "int(m) % 9"
            )
            self.line(depth, f"for {name} in range({bounds}):")
        elif kind < 0.62:
            self.line(depth, f"for x in {self.choice('a', 'b', 'c', 'g[1]', 'a[2:]', '(1, 2, 3)')}:")
        elif kind < 0.7:
            self.line(depth, f"for {name}, x in enumerate({self.choice('a', 'c')}):")
        elif kind < 0.76:
            self.line(depth, "for x, y in zip(a, c):")
        else:
            self._loops += 1
            counter = f"w{self._loops}"
            self.line(depth, f"{counter} = 0")
            self.line(depth, f"while {counter} < {self.choice('n % 9', '6', 'k % 8')} and ({self.test()}):")
            self.line(depth + 1, f"{counter} += 1")
        self.block(depth + 1, loops - 1, True)

    def text(self) -> str:
        """Return the text of a function `f`."""
        self._lines = []
        self.line(0, "def f(a, b, c, g, n, m, out):")
        for name in ("i", "j", "k", "s", "t", "x", "y"):
            if self._random.random() < 0.75:
                self.line(1, f"{name} = {self.number()}")
        for _ in range(self.choice(1, 2)):
            self.loop(1, 3)
        names = ", ".join(self._random.sample(NAMES, 5))
        self.line(1, f"return {names}, out")
        return "\n".join(self._lines) + "\n"


HEAD = """import math
import numelt as np


def helper(p, q=2):
    if p < 0:
        return -p
    for r in range(3):
        q = q + r
    return p * q


"""


def arguments(seed: int) -> tuple[Any, ...]:
    """Return arguments for a random function."""
    rng = numpy.random.default_rng(seed)
    count = int(rng.integers(1, 9))
    a = rng.normal(0, 3, count).round(2)
    if seed % 7 == 0:
        a[0] = numpy.inf
    if seed % 11 == 0:
        a[-1] = numpy.nan
    dtype = ["int64", "int32", "uint8", "float32", "bool"][seed % 5]
    c = rng.integers(0, 9, count).astype(dtype)
    g = rng.integers(-4, 9, (4, 5)).astype(["float64", "int64"][seed % 2])
    made = [np.asarray(values.copy()) for values in (a, a[::-1], c, g)]
    if seed % 3 == 0:
        made[1] = made[0][::-1]  # shares memory
    return (*made, count, [3, 2.5, numpy.float64(2), numpy.int32(5)][seed % 4], [])


def seen(value: Any) -> Any:
    """Return everything that a program can see of a value."""
    if isinstance(value, np.ndarray):
        array = numpy.array(value)
        if array.dtype.kind == "f":
            array[numpy.isnan(array)] = numpy.nan  # the sign of a NaN has no meaning
        content = repr(array.tolist()) if array.dtype.hasobject else array.tobytes()
        return "array", str(array.dtype), array.shape, content
    if isinstance(value, tuple | list):
        return [type(value).__name__, *map(seen, value)]
    return type(value).__name__, repr(value)


def outcome(function: Any, args: tuple[Any, ...]) -> Any:
    """Return everything that a program can see of a call."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = seen(function(*args))
        except Exception as error:
            line = traceback.extract_tb(error.__traceback__)[-1].lineno
            if isinstance(error, UnboundLocalError):
                line = None  # CPython 3.11 names the line before a loop's first statement
            result = type(error).__name__, str(error), line
    told = [(warning.category.__name__, str(warning.message), warning.lineno) for warning in caught]
    return result, told, [seen(arg) for arg in args]
