"""Loops whose bodies change: what was recorded last time is only a guess at what follows now.

If a batch repeats the program of an earlier one, it follows that program, and is not stored again. In these
tests, bodies repeat, and are then changed in one place (another operation, constant, dtype, shape or alias;
an array that dies earlier or later; a read at another position; an end after some statements), in every
order. NumPy runs the same programs.
"""

import numpy
import pytest

import numelt

from ..support.compare import assert_same

pytestmark = pytest.mark.quick


BINARY = ["add", "subtract", "multiply", "maximum", "minimum", "copysign", "fmin"]
UNARY = ["negative", "absolute", "square", "rint", "floor", "sign"]
REDUCE = ["sum", "min", "max", "mean"]
DTYPES = ["float64", "float64", "float32", "int64", "int32"]
ROWS, COLUMNS, NAMES = 5, 7, 6


def window(random):
    """Return a key for a view of four rows of all columns, so that views of any two arrays fit together."""
    start = int(random.integers(0, 2))
    rows = (
        slice(start, start + 4)
        if random.random() < 0.7
        else slice(start + 3, start - 1 if start else None, -1)
    )
    return rows, slice(None, None, int(random.choice([1, 1, -1])))


def statement(random):
    """Return one random statement: its kind and its parts."""
    kind = str(
        random.choice(
            ["binary"] * 4
            + ["number"] * 3
            + ["unary", "unary", "in place", "assign", "assign", "fill"]
            + ["sum", "axis", "cast", "drop", "read", "where", "gather"]
        )
    )
    return {
        "kind": kind,
        "op": str(random.choice({"unary": UNARY}.get(kind, REDUCE if kind in ("sum", "axis") else BINARY))),
        "names": [int(name) for name in random.integers(NAMES, size=4)],
        "keys": [window(random), window(random), window(random)],
        "whole": bool(random.random() < 0.5),
        "number": float(random.choice([0.5, 2.0, -1.25, 3.0, 1.0])),
        "dtype": str(random.choice(DTYPES)),
        "index": [int(i) for i in random.integers(-5, 5, 4)],
    }


def changed(random, body):
    """Return the body with one change."""
    body = [dict(s) for s in body]
    at = int(random.integers(len(body)))
    other, kind = (
        statement(random),
        str(
            random.choice(
                [
                    "op",
                    "number",
                    "dtype",
                    "names",
                    "keys",
                    "whole",
                    "drop",
                    "end",
                    "read",
                    "more",
                    "less",
                    "other",
                ]
            )
        ),
    )
    if kind == "drop":
        body.insert(at, {**other, "kind": "drop"})
    elif kind == "end":
        del body[at + 1 :]
    elif kind == "read":
        body.insert(at, {**other, "kind": "read"})
    elif kind == "more":
        body.insert(at, other)
    elif kind == "less" and len(body) > 1:
        del body[at]
    elif kind == "other":
        body[at] = other
    elif kind == "op" and body[at]["kind"] != other["kind"]:
        body[at] = {**body[at], "number": other["number"]}
    elif kind in body[at]:
        body[at] = {**body[at], kind: other[kind]}
    return body


class Side:
    """The arrays under one package, and the values that were read."""

    def __init__(self, np, start):
        self.np = np
        self.arrays = [np.array(a) for a in start]
        self.numbers = []
        self.seen = []

    def view(self, s, at):
        array = self.arrays[s["names"][at]]
        return array if s["whole"] and array.shape == (ROWS, COLUMNS) else array[s["keys"][at % 3]]

    def run(self, s):
        np, kind, target = self.np, s["kind"], s["names"][3]
        a, b = self.arrays[s["names"][0]][s["keys"][0]], self.arrays[s["names"][1]][s["keys"][1]]
        if s["whole"]:
            a, b = self.arrays[s["names"][0]], self.arrays[s["names"][1]]
        if kind == "binary":
            self.put(target, getattr(np, s["op"])(a, b))
        elif kind == "number":
            self.put(target, getattr(np, s["op"])(a, s["number"]))
        elif kind == "unary":
            self.put(target, getattr(np, s["op"])(a))
        elif kind == "in place":
            window = self.arrays[target][s["keys"][2]] if not s["whole"] else self.arrays[target]
            np.add(window, self.small(b), out=window, casting="unsafe")
        elif kind == "assign":
            if s["whole"]:
                self.arrays[target][...] = self.small(a)
            else:
                self.arrays[target][s["keys"][2]] = self.small(a)
        elif kind == "fill":
            self.arrays[target][s["keys"][2]] = s["number"]
        elif kind == "sum":
            self.numbers.append(getattr(np, s["op"])(a))
        elif kind == "axis":
            self.arrays[target][s["keys"][2]] = self.small(getattr(np, s["op"])(a, axis=0))
        elif kind == "cast":
            self.put(target, self.small(a).astype(s["dtype"]))
        elif kind == "where":
            self.put(target, np.where(a > b, a, s["number"]))
        elif kind == "gather":
            self.arrays[target][1:] = self.small(self.arrays[s["names"][0]][s["index"]])
        elif kind == "drop":
            self.arrays[target] = np.full((ROWS, COLUMNS), s["number"])
            self.numbers = self.numbers[:-1]
        else:
            self.seen.append(np.array(self.arrays[target]))
            self.seen.extend(self.numbers)
            self.numbers = []

    def small(self, value):
        """Limit values to those that every dtype can hold."""
        return self.np.clip(value, -1000, 1000)

    def put(self, target, value):
        """Replace an array, or the part of it into which the value fits."""
        if value.shape == (ROWS, COLUMNS):
            self.arrays[target] = value
        else:
            self.arrays[target][:4] = self.small(value)

    def tame(self):
        """Keep the numbers from growing without bound."""
        for at, array in enumerate(self.arrays):
            self.arrays[at] = self.np.clip(array, -100, 100)


@pytest.mark.parametrize("seed", range(60))
def test_bodies_that_change_give_numpys_numbers(seed):
    random = numpy.random.default_rng(seed)
    start = [random.integers(-9, 9, (ROWS, COLUMNS)).astype(random.choice(DTYPES)) for _ in range(NAMES)]
    sides = [Side(np, start) for np in (numelt, numpy)]
    bodies = [[statement(random) for _ in range(int(random.integers(4, 12)))]]
    bodies += [changed(random, bodies[0]) for _ in range(3)]
    bodies.append(changed(random, bodies[-1]))
    with numpy.errstate(all="ignore"):
        for _ in range(24):
            # usually the first, sometimes another
            body = bodies[0 if random.random() < 0.5 else int(random.integers(len(bodies)))]
            ends = random.random() < 0.7
            for side in sides:
                for s in body:
                    side.run(s)
                side.tame()
                if ends:
                    side.run({**body[-1], "kind": "read"})
            ours, theirs = (side.seen for side in sides)
            for mine, wanted in zip(ours, theirs, strict=True):
                assert_same(mine, wanted)
            for side in sides:
                side.seen = []
    for mine, wanted in zip(sides[0].arrays, sides[1].arrays, strict=True):
        assert_same(mine, wanted)


def test_a_repeated_body_is_found_again_after_another():
    x = numelt.array(numpy.linspace(0.0, 1.0, 500))

    def first(k):
        y = x * k
        return float((y + 1).sum())

    def second(k):
        y = x * k
        return float((y - 1).max())

    for _ in range(2):
        first(2.0), second(2.0)
    before = numelt._core.stats()["plan_misses"]
    for k in (1.5, 2.5, 3.5):
        for body, wanted in ((first, lambda a: (a + 1).sum()), (second, lambda a: (a - 1).max())) * 2:
            assert body(k) == wanted(numpy.linspace(0.0, 1.0, 500) * k)
    assert numelt._core.stats()["plan_misses"] == before
