"""Random expressions for `random_ordinary`: numbers of Python's and NumPy's, vectors and conditions.

They use the names that its functions have: the integers `i`, `j`, `n`, `p` and `q`, the floats `x`, `y` and
`z`, the vectors `a`, `b` and `c`, the matrix `g`, and the helpers of its modules.
"""

from __future__ import annotations

import random

SCALARS = (
    "int8",
    "uint8",
    "int16",
    "uint16",
    "int32",
    "uint32",
    "int64",
    "uint64",
    "float32",
    "float64",
    "bool_",
)
SCALARS += ("float16", "complex64")
INTS = ("i", "j", "n", "p", "q")
FLOATS = ("x", "y", "z")
VECTORS = ("a", "b", "c")


class Expressions:
    """Writes the text of expressions."""

    def __init__(self, seed: int) -> None:
        self._r = random.Random(seed)

    def _integer(self, depth: int = 2) -> str:
        r = self._r
        if depth == 0 or r.random() < 0.35:
            return r.choice(
                [*INTS, "i", "j", "p", "2", "3", "-1", "7", "0", "len(a)", "LIMIT", "255", "point.n"]
            )
        a, b = self._integer(depth - 1), self._integer(depth - 1)
        return r.choice(
            [
                f"({a} + {b})",
                f"({a} - {b})",
                f"({a} * {b} % 2**66)",
                f"({a} // {b})",
                f"({a} % {b})",
                f"({a} // 3)",
                f"({a} % 5)",
                f"({a} & {b})",
                f"({a} | {b})",
                f"({a} ^ {b})",
                f"({a} << {r.choice(['1', '3', '31', '62', f'({b} % 70)'])})",
                f"({a} >> {r.choice(['1', '3', '70', f'({b} % 70)'])})",
                f"(-{a})",
                f"(~{a})",
                f"abs({a})",
                f"min({a}, {b})",
                f"max({a}, {b})",
                f"int({self._float(depth - 1)})",
                f"({a} if {self._test(depth - 1)} else {b})",
                f"divmod({a}, {r.choice(['3', '-4', b])})[{r.choice('01')}]",
                f"({a} % 9) ** {r.choice(['2', '3', '20', '0'])}",
                f"pow({a}, 2, 1000003)",
                f"collatz({a} % 30)",
                f"power({a} % 11, {r.choice(['2', '5', '21'])})",
                f"len(items[{a}:{b}])",
                f"sum(range({a} % 12))",
                f"first_above({r.choice(VECTORS)}, {b})",
                self._drawn_integer(depth - 1),
                self._drawn_integer(depth - 1),
                f"bool({a})",
                f"c[{self._index()}]",
                f"int(c[{self._index()}])",
                f"math.isqrt(abs({a}))",
                f"math.gcd({a}, {b})",
                f"(t := {a})",
            ]
        )

    def _float(self, depth: int = 2) -> str:
        r = self._r
        if depth == 0 or r.random() < 0.35:
            return r.choice([*FLOATS, "x", "0.5", "-1.5", "1e10", "SCALE", self._element(), "point.x"])
        a, b = self._float(depth - 1), self._number(depth - 1)
        return r.choice(
            [
                f"({a} + {b})",
                f"({a} - {b})",
                f"({a} * {b})",
                f"({a} / {b})",
                f"({b} / {a})",
                f"({a} // {b})",
                f"({a} % {b})",
                f"(-{a})",
                f"abs({a})",
                f"float({b})",
                f"round({a}, {r.choice(['1', '2', '-1'])})",
                f"min({a}, {b})",
                f"max({b}, {a})",
                f"math.{r.choice(['sqrt', 'sin', 'exp', 'log', 'floor', 'atan'])}({a})",
                f"math.{r.choice(['radians', 'degrees'])}({a})",
                f"np.{r.choice(['sqrt', 'sin', 'exp', 'abs', 'square', 'floor', 'sign'])}({a})",
                f"np.{r.choice(['fabs', 'reciprocal'])}({a})",
                f"({a} if {self._test(depth - 1)} else {b})",
                f"({a} % 17) ** {r.choice(['2', '0.5', '-1', '3'])}",
                f"small({b})",
                f"bumped({b})",
                f"power({a}, 2)",
                self._drawn(depth - 1),
                self._drawn(depth - 1),
                f"point.{r.choice(['norm()', 'move(1)', 'y', 'x'])}",
                f"{r.choice(VECTORS)}.{r.choice(['sum()', 'max()', 'mean()', 'min()', 'std()'])}",
                f"np.dot({r.choice(VECTORS)}, {r.choice(VECTORS)})",
                f"float({self._scalar(depth - 1)})",
                f"math.hypot({a}, {b})",
                f"np.{r.choice(['fmax', 'fmin'])}({a}, {b})",
                f"({a} and {b})",
                f"({a} or {b})",
            ]
        )

    def _drawn_integer(self, depth: int) -> str:
        """Return a draw of a random integer."""
        r, a, b = self._r, self._integer(depth), self._integer(depth)
        return r.choice(
            [
                f"rng.integers({a} % 9, 10)",
                f"rng.integers({a})",
                f"rng.integers({a}, high={b})",
                f"legacy.randint({a}, {b})",
                f"np.random.randint({r.choice(['2', '2**40', '100', a])})",
                f"dice.randrange({r.choice(['7', '2**35', '1', a])})",
                f"dice.randint({a}, {b})",
                f"random.randint(-3, {a})",
                f"pick({b})",
                f"dice.getrandbits({a} % 70)",
                "dice.choice(items)",
            ]
        )

    def _drawn(self, depth: int) -> str:
        """Return a draw of a random float."""
        r, a, b = self._r, self._number(depth), self._number(depth)
        return r.choice(
            [
                "rng.random()",
                f"rng.normal({a}, {r.choice(['0.5', '2', b])})",
                "rng.standard_normal()",
                f"rng.uniform({a}, {b})",
                f"rng.uniform(high={b})",
                f"rng.exponential({a})",
                "np.random.rand()",
                "np.random.random()",
                f"np.random.normal({a}, scale={r.choice(['1', b])})",
                "legacy.randn()",
                f"legacy.uniform(-1, {b})",
                "random.random()",
                f"dice.uniform({a}, {b})",
                f"random.gauss({a}, {b})",
                "dice.gauss()",
                f"dice.normalvariate({a}, 2)",
                f"random.expovariate({a})",
                f"dice.choice(({a}, {b}, 3))",
                f"thrown({a})",
                f"drop({r.choice(VECTORS)})",
            ]
        )

    def _scalar(self, depth: int = 1) -> str:
        """Return a scalar of NumPy's."""
        r = self._r
        a = f"np.{r.choice(SCALARS)}({r.choice(['1', '3', '100', '0', 'i % 100', 'n', 'p % 7'])})"
        if depth == 0:
            return a
        b = r.choice([self._scalar(depth - 1), self._number(depth - 1), "1", "200", "0.5", "-1"])
        return r.choice(
            [
                a,
                f"({a} {r.choice(['+', '-', '*', '/', '//', '%', '**'])} {r.choice(['2', b])})",
                f"({r.choice(['2', b])} {r.choice(['+', '-', '*', '/', '//', '%'])} {a})",
                f"({a} {r.choice(['&', '|', '^', '<<', '>>'])} {r.choice(['1', b])})",
                f"({a} {r.choice(['<', '==', '>='])} {b})",
                f"(-{a})",
                f"abs({a})",
                f"{r.choice(['min', 'max'])}({a}, {b})",
                f"({a} if {a} > {b} else {b})",
            ]
        )

    def _number(self, depth: int = 2) -> str:
        return self._r.choice([self._integer, self._integer, self._float, self._float, self._scalar])(depth)

    def _index(self) -> str:
        r = self._r
        names = ["i", "j", "i", "j", "-1", "0", "i - 1", "-i", "i % n", "j % n", "(i * 7) % n", "n - 1 - i"]
        names += ["p % n", "q", "np.int64(1)", "np.uint8(0)", "True", "i // 2", "int(x) % n", "len(a) - 1"]
        return r.choice([*names, "items[0] % n"])

    def _element(self) -> str:
        r = self._r
        if r.random() < 0.25:
            return r.choice([f"g[{self._index()}, {self._index()}]", f"g[{self._index()}][{self._index()}]"])
        return f"{r.choice(VECTORS)}[{self._index()}]"

    def _vector(self) -> str:
        r, v, w = self._r, self._r.choice(VECTORS), self._r.choice(VECTORS)
        return r.choice(
            [
                v,
                f"{v}[::-1]",
                f"{v}[{r.choice(['1:', ':-1', '::2', 'i:', ':i', '-3:', ':'])}]",
                f"{v} {r.choice(['+', '-', '*'])} {r.choice([w, '1', '0.5', 'x', 'i'])}",
                f"{v}.copy()",
                f"np.zeros({r.choice(['n', '3', 'len(a)', '3, dtype=int', 'n, dtype=np.float32'])})",
                f"np.{r.choice(['sqrt', 'abs', 'cumsum', 'sort', 'sin', 'round', 'sign'])}({v})",
                f"np.where({v} > {r.choice(['0', 'x'])}, {v}, {w})",
                f"g[{r.choice(['0', '-1', 'i % 4'])}]",
                f"g[:, {r.choice(['0', '-1', 'i % 4'])}]",
                f"{v}.astype({r.choice(['int', 'np.float32', 'np.uint8', 'bool'])})",
                f"np.array([{self._number(1)}, {self._number(1)}, 2])",
                f"np.arange({r.choice(['n', 'i % 6', '4'])})",
            ]
        )

    def _test(self, depth: int = 1) -> str:
        r = self._r
        a, b = self._number(depth), self._number(depth)
        return r.choice(
            [
                f"{a} {r.choice(['<', '<=', '>', '>=', '==', '!='])} {b}",
                f"{self._integer(0)} {r.choice(['<', '>', '==', '!='])} {self._integer(0)}",
                f"{self._integer(0)} % {r.choice(['2', '3'])} == {r.choice('01')}",
                f"{self._integer(0)} < {self._integer(0)} <= {self._number(0)}",
                f"not {a}",
                f"{a} {r.choice(['and', 'or'])} {b}",
                f"{self._integer(0)} in {r.choice(['items', '(1, 2, 3)', 'table', 'range(5)'])}",
                f"{r.choice(FLOATS)} is {r.choice(['', 'not '])}None",
                f"isinstance({a}, {r.choice(['int', 'float', 'bool', '(int, float)', 'np.floating'])})",
                f"type({a}) is {r.choice(['int', 'float', 'np.float64', 'bool'])}",
                f"sign({a}) == {r.choice(['1', 'None', '-1'])}",
            ]
        )
