"""Random functions whose loops make arrays, assign them to other variables, view them and write to them."""

from __future__ import annotations

import random
from typing import Any

import numpy

import numelt as np

HEAD = """import numelt as np


def doubled(p, q=0.5):
    p = p * 2 + q
    for r in range(2):
        p = p - r
    return p


def pair(p, q):
    return p + q, np.array([p[0], q[-1], 3.0])


def longer(p):
    if len(p) > 4:
        return p[1:] + p[:-1]
    return np.zeros(6)


def same(p):
    return p


"""
ARRAYS = ["u", "v", "w"]


class Writer:
    """Writes the text of a function `f(a, b, n, s)`."""

    def __init__(self, seed: int) -> None:
        self._r = random.Random(seed)
        self._depth = 0

    def text(self) -> str:
        """Return the function."""
        lines = [
            "def f(a, b, n, s):",
            "    u = a",
            f"    v = {self._r.choice(['b', 'a', 'a[1:]', 'b.copy()'])}",
        ]
        lines += ["    w = np.ones(3)", "    k = 0", "    for k in range(n):"]
        lines += self._block("        ", self._r.randint(2, 6))
        lines += ["    return u, v, w, k, s, u is a, v is b, np.shares_memory(u, v), np.shares_memory(v, w)"]
        return "\n".join(lines) + "\n"

    def _block(self, space: str, count: int) -> list[str]:
        return [line for _ in range(count) for line in self._statement(space)]

    def _array(self) -> str:
        return self._r.choice(ARRAYS)

    def _number(self) -> str:
        return self._r.choice(
            ["s", "k", "0.5", "2", f"{self._array()}[0]", f"{self._array()}[k % 3]", "-1.25"]
        )

    def _expression(self) -> str:
        r, x = self._r, self._array()
        return r.choice(
            [
                f"{x} * {self._number()} - {self._number()}",
                f"{x} + {x}",
                f"{x} * 0.5 + {self._array()} * 0.25",
                f"abs({x}) - np.minimum({x}, {self._number()})",
                f"{x}[1:] - {x}[:-1]",
                f"{x}[::1] ** 2 * 0.001",
                f"-{x}",
                f"doubled({x})",
                f"doubled({x} + 1, {self._number()})",
                f"longer({x}) * 0.5",
                f"{x}.copy()",
                f"np.array([{self._number()}, {x}.sum(), s, 1.5])",
                f"np.zeros({r.randint(0, 6)}) + {self._number()}",
                f"np.ones_like({x})",
                f"{x} * 0.1 if {self._number()} > 0 else {self._array()} - 1",
            ]
        )

    def _scalar(self) -> str:
        x = self._array()
        return self._r.choice(
            [
                f"{x}.sum()",
                f"np.dot({x}, {x})",
                f"np.mean({x})",
                f"{x}.max()",
                f"len({x})",
                f"{x}[-1]",
                f"{x}.shape[0]",
            ]
        )

    def _statement(self, space: str) -> list[str]:
        r, x, y = self._r, self._array(), self._array()
        kind = r.randint(0, 13 if self._depth < 2 else 10)
        if kind <= 3:
            return [f"{space}{x} = {self._expression()}"]
        if kind == 4:
            return [f"{space}{x} = {r.choice([y, f'{y}[1:]', f'{y}[: k + 1]', f'same({y})'])}"]
        if kind == 5:
            return [f"{space}{x}, {y} = {r.choice([f'{y}, {x}', f'pair({x}, {y})', f'{x} + 1, {x} - 1'])}"]
        if kind == 6:
            return [
                f"{space}{x}{r.choice(['', '[1:]', '[:2]'])} {r.choice(['+=', '*=', '-='])} {self._number()}"
            ]
        if kind == 7:
            target = r.choice([f"{x}[0]", f"{x}[k % 3]", f"{x}[1:]", f"{x}[:-1]", f"{x}[:]"])
            value = r.choice(
                [self._number(), self._scalar(), f"{x}[1:] * 0.5", f"{x}[:-1] + {x}[1:]", f"{y}[:2]"]
            )
            return [f"{space}{target} = {value}"]
        if kind <= 9:
            return [f"{space}s = {self._scalar()} * {r.choice(['1e-3', '0.5', '1'])}"]
        if kind == 10:
            return [f"{space}{x} = {y} = {self._expression()}"]
        self._depth += 1
        head = r.choice(
            [
                f"if {self._number()} > {self._number()}:",
                f"for z in {x}:",
                "for j in range(3):",
                f"if len({x}) < 4:",
            ]
        )
        lines = [space + head, *self._block(space + "    ", r.randint(1, 3))]
        if head.startswith("if") and r.random() < 0.5:
            lines += [f"{space}else:", *self._block(space + "    ", r.randint(1, 2))]
        if head.startswith("for z"):
            lines.append(f"{space}    s = s * 0.5 + z")
        self._depth -= 1
        return lines


def arguments(seed: int) -> tuple[Any, ...]:
    """Return arguments for the function."""
    rng = numpy.random.default_rng(seed)
    length = int(rng.choice([3, 4, 5, 8, 9, 40]))
    a, b = (rng.normal(size=length).round(2) for _ in range(2))
    return np.asarray(a), np.asarray(b), int(rng.integers(0, 9)), float(rng.normal())
