"""Random functions whose loops read and write the items of lists, and of lists of lists.

The functions are those of `random_loops`, with lists in the place of arrays. One list may be reached in
several ways, rows may differ in length, and a number of another type may be among the numbers, or be stored.
"""

from __future__ import annotations

import random
from typing import Any

from . import random_loops

HEAD = random_loops.HEAD


class Writer(random_loops.Writer):
    """Writes the text of a function `f(x, y, m, k, b, n, s)`.

    `x` and `y` are lists of floats, `m` is a list of such lists, `k` one of ints, `b` one of truth values.
    """

    def __init__(self, seed: int) -> None:
        super().__init__(seed, products=False)

    def text(self) -> str:
        """Return the function."""
        text = super().text()
        text = text.replace("m.shape[0]", "len(m)").replace("m.shape[1]", "len(m[0])")
        if self._r.random() < 0.8:
            # its result is NumPy's, which the code does not store in a list of Python's numbers
            text = text.replace("np.sqrt", "math.sqrt")
        same = "[w is row for row in m if type(row) is list], type(w) is tuple or w is x, x is y"
        text = text.replace("return t,", f"return {same}, log, more, t,")
        log, more = self._r.choice(["[]", "[n]"]), self._r.choice(["[]", "log"])
        text = text.replace("    i = j = 0", f"    i = j = 0\n    log = {log}\n    more = {more}")
        return text.replace(
            "w = np.zeros(len(x))", self._r.choice(["w = [0.0] * len(x)", "w = x", "w = m[-1]"])
        )

    def _of_matrix(self) -> str:
        return f"m[{self._index()}][{self._index()}]"

    def _sum(self) -> str:
        return f"sum(x[{self._index()} :])"

    def _statement(self, space: str) -> list[str]:
        if self._r.random() < 0.07:
            return [f"{space}{self._r.choice(['log', 'log', 'more'])}.append({self._expression()})"]
        if self._r.random() < 0.05:
            return [f"{space}{self._r.choice(['w = m[' + self._index() + ']', 'x, y = y, x', 'x = w'])}"]
        return super()._statement(space)


def arguments(seed: int) -> tuple[Any, ...]:
    """Return random arguments for the function; each kind of list occurs sometimes."""
    r = random.Random(seed)
    length = r.choice([1, 3, 4, 7, 16, 33, 45])

    def floats(count: int) -> list[Any]:
        return [round(r.gauss(0.0, 1.0), 2) for _ in range(count)]

    x, y = floats(length), floats(length)
    columns = r.choice([3, length])
    m = [floats(columns) for _ in range(length)]
    k = [r.randrange(length) for _ in range(length)]
    b = [r.random() < 0.5 for _ in range(length)]
    if r.random() < 0.3:
        x[r.randrange(length)] = r.choice(random_loops.SPECIAL)
    kind = r.randrange(12)
    if kind == 0:
        y = x
    elif kind == 1:
        m[r.randrange(length)] = x
    elif kind == 2:
        m[r.randrange(length)] = m[r.randrange(length)]
    elif kind == 3:
        m[r.randrange(length)] = floats(2)
    elif kind == 4:
        y[r.randrange(length)] = r.choice([1, True, 10**30, None, float])
    elif kind == 5:
        k[r.randrange(length)] = r.choice([10**30, True, 0.5, -1])
    elif kind == 6:
        x, k = k, x
    elif kind == 7:
        y = []
    elif kind == 8:
        m[r.randrange(length)] = tuple(m[0])
    elif kind >= 10:
        m = [tuple(row) for row in m]
    return x, y, m, k, b, r.randint(-2, length + 1), r.gauss(0.0, 1.0)
