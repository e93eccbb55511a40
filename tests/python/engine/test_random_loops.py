"""Random loops: the same batch in each iteration, with the changes between iterations that programs have.

Scalars change, windows move, buffers are swapped, arrays are made again and cast, masks, sorting and
reductions occur between other operations, errors are caught, and values are read in the middle. NumPy runs
the same text; every array and every value that is read must have its bits.
"""

import random

import numpy
import pytest

import numelt

from ..support.compare import in_threads
from ..support.layouts import OVERLAPPING, overlapping

SHAPES = [
    (1,),
    (2,),
    (7,),
    (64,),
    (65,),
    (257,),
    (2049,),
    (3, 5),
    (8, 8),
    (33, 65),
    (1, 9),
    (6, 7, 8),
    (0, 5),
]
LARGE = [(65_537,), (257, 300), (2, 40_000), (31, 40, 42)]
DTYPES = [
    ["f8"],
    ["f8", "?"],
    ["f4", "f8"],
    ["i8"],
    ["u1", "i4", "?"],
    ["i2", "f4"],
    ["c16"],
    ["f2", "i1"],
    ["u8"],
]

EXPRESSIONS = [
    "{E} + {E}",
    "{E} - {c}",
    "{E} * {E} % 11",
    "np.maximum({E}, {E})",
    "np.where({E} > {c}, {E}, {c})",
    "abs({E})",
    "{E} / {c}",
    "{E} ** 2",
    "np.roll({E}, i % 3 - 1, axis={axis})",
    "{E}.astype('{dtype}')",
    "{E} - {E}.max(axis={axis}, keepdims=True)",
    "np.sort({E}, axis={axis})",
    "np.cumsum({E}, axis={axis}) % 5",
    "np.concatenate([{E}, {E}])[: len(A)]",
    "np.flip({E}, {axis})",
]

STATEMENTS = [
    "{t} = {E}",
    "{t} = {E}",
    "{A} += {E}",
    "{A} -= {c}",
    "{A} *= {c}",
    "{A}[...] = {E} + 0",
    "{A}[{middle}] = {W} + {W}",
    "{A}[{middle}] = ({W} + {W} - {A}[{middle}]) % 9",
    "{A}[{middle}] += {W} * {c}",
    "d = {W} + {W} + 0; log.append(abs(d - {A}[{middle}]).max()); {A}[{middle}] = d",
    "m = ({W} > {c}) & ({W} != {c}); {A}[{middle}] = np.where(m, {W}, {c})",
    "m = {W} > {c}; {A}[{middle}] = m",
    "{A}[{E} > {c}] = {c}",
    "m = {E} > {c}; {A}[m] += {A}[m]",
    "np.copyto({A}, {E}, where={E} < {c}, casting='unsafe')",
    "np.multiply({W}, {W}, out={A}[{window}], casting='unsafe')",
    "np.add({E}, {E}, out={A}, casting='unsafe')",
    "A, B = B, A",
    "{A} = ({E} + 0).astype('{dtype}')",
    "d = {E} + 0; {A} = np.empty_like({A}); {A}[...] = d",
    "if i % 3 == 1: {A} = {A}.astype('{dtype}')",
    "{A}[...] = np.roll({E}, i % 4 - 1, axis={axis})",
    "{A}[::-1] = np.concatenate([{E}[1:], {E}[:1]])[: len({A})]",
    "{A}.sort(axis={axis})",
    "{A} = {A}[(np.arange(len({A})) * 3 + i) % max(len({A}), 1)]",
    "{A}[np.array([0, -1])] += {c}",
    "{A}[np.array([0, -1])] = {A}[np.array([-1, 0])]",
    "np.add.at({A}, [0, 0, -1], 1)",
    "V += 1",
    "V = {A}[{window}]",
    "del {t}",
    "s = s * 0.5 + i",
    "s = 0.5 + float(abs({A}.real).max() % 3)",
    "log.append({E}.max(axis={axis}))",
    "log.append(({E} > {c}).sum())",
    "log.append({A}.ravel()[:3].tolist())",
    "log.append({A}.argmax())",
    "if {A}.real.max() > 50: {A}[...] = {A}.real % 7",
    "numpy.asarray({A}).reshape(-1)[:1] = 3",
    "{A} += np.zeros(3333)",
    "{A}[10**6] = {c}",
    "{A} += {E}; 1 // 0",
    # arrays combined with themselves: reversed, shifted, transposed, through views
    "{A}[::-1] += {A}",
    "{A}[...] -= {A}[::-1]",
    "np.add({A}[::-1], {W}.sum(), out={A}, casting='unsafe')",
    "np.subtract({A}, {A}[::-1], out={A}[::-1], casting='unsafe')",
    "{A}[1:] += {A}[:-1]",
    "{A}[:-1] -= {A}[1:] * {c}",
    "np.multiply({A}[1:], {c}, out={A}[:-1], casting='unsafe')",
    "np.maximum({W}, {W}, out={W}, casting='unsafe')",
    "np.add({W}, {c}, out={W}, where={W} > {c}, casting='unsafe')",
    "np.cumsum({A}, axis={axis}, out={A})",
    "np.cumsum({A}[::-1], axis={axis}, out={A})",
    "{A}[...] = {A}.T if {A}.shape == {A}.T.shape else {A}",
    "{A} += {A}.T",
    "{A}[...] = np.flip({A}, {axis}) + {A}",
    "{A}[::2] = {A}[::-2][: len({A}[::2])]",
    "{A}[::2] *= {A}[1::2][:1]",
    "{A}.ravel()[::-1] += 1",
    "{A}.reshape(-1)[1:] = {A}.reshape(-1)[:-1]",
    "V[...] = {W}",
    "V -= {W}",
    "V[::-1] += V",
    "{A}[{middle}] += V",
    "np.copyto({A}, {A}[::-1])",
    "np.copyto({A}[1:], {A}[:-1], where={A}[1:] > {c})",
    "{A}[np.argsort({A}.real, axis=0).ravel()[:2] % len({A})] = {A}[:2]",
    "{A}[{A} > {A}[::-1]] = {c}",
    "np.add({A}, {A}[0], out={A}, casting='unsafe')",
    "{A}[0] += {A}.sum(axis=0)",
    "{A} -= {A}.mean(axis={axis}, keepdims=True).astype({A}.dtype)",
    "np.negative({W}.astype(float), out={A}[{window}], casting='unsafe')",
    "{A}.real[...] = {W}.real.max()",
    "{A}.flat[::3] = {A}.flat[1]",
    "np.einsum('...i->...i', {A})[...] = {c}",
    # views that overlap themselves
    "V = over({A}, '{way}')",
    "V = over({A}, '{way}')",
    "O = over({A}, '{way}'); log.append(O.sum(axis={axis})); {A} += {c}; log.append(O.max(axis={axis}))",
    "O = over({A}, '{way}'); w = O.sum(axis=1); O[O > {c}] = 0",
    "O = over({A}, '{way}'); w = O.max(axis=1); {A} -= {c}; O[O < {c}] = 1",
    "O = over({A}, '{way}'); w = O + {c}; O += 1; w = O.mean(axis=0)",
    "O = over({A}, '{way}'); w = O * 2; O[...] = {c}",
    "O = over({A}, '{way}'); w = O.any(axis=1); np.copyto(O, {c}, where=O > {c}, casting='unsafe')",
    "O = over({A}, '{way}'); w = O - 1; np.add(O, {c}, out=O, where=O > {c}, casting='unsafe')",
    "O = over({A}, '{way}'); np.multiply(O, 3, out=O, casting='unsafe'); w = O.T + 0",
    "O = over({A}, '{way}'); O[:, 0] = O[:, 1] + {c}; w = O.sum(axis=1)",
    "O = over({A}, '{way}'); O[1:] *= 2; O[::-1, 0] -= O[:, 1]",
    "O = over({A}, '{way}'); w = np.cumsum(O, axis=1); np.cumsum(O, axis=0, out=O)",
    "O = over({A}, '{way}'); m = O > {c}; O[m] = (O + 1)[m]; w = O + 0",
    "O = over({A}, '{way}'); O[[0, -1, 0]] = {c}; np.add.at(O, [0, 0, 1], 1)",
    "O = over({A}, '{way}'); w = O.min(axis=0, keepdims=True); np.clip(O, 1, 3, out=O)",
    "O = over({A}, '{way}'); np.add.reduce({A}, axis=0, out=O[0, 0]); O[0].sort(axis=0)",
    "O = over({A}, '{way}'); w = O.T @ O if O.ndim == 2 else O[0] @ O[1].T; O[1] = {c}",
    "O = over({A}, '{way}'); np.maximum.reduce(O, axis=1, out=O[:, 0]); np.put(O, [0, 1, 2], 4)",
    "V *= 2; w = V + {c}",
    "V[V > {c}] = {c}",
    "{A}.swapaxes(0, -1)[0] = 2",
    "u = {A}[::-1]; u += 1; log.append({A}.tolist())",
    "t = {A}.view(); t[0] = {A}[-1]",
    "{A}, V = {A}.copy(), {A}[0]; V += 1 if V.ndim else 0",
    "np.add.at({A}, np.array([0, -1, 0]), {A}[[0, 0, -1]])",
    "np.put({A}, [0, -1], {A}.ravel()[:2])",
    "np.where({A} > {c}, {A}, {A}[::-1])[0]; log.append(str({A}))",
    "{A} **= 2; {A} %= 7",
    "{A}[...] = {A} // 2 if {A}.dtype.kind in 'iuf' else {A}",
    "np.clip({A}, 0, 5, out={A})",
    "np.add.reduce({A}, axis=0, out={A}[0])",
    "np.matmul({A}, {A}.T, out=None) if {A}.ndim == 2 else 0",
]


class Writer:
    """Writes a program for arrays of one shape."""

    def __init__(self, seed, shapes):
        self.random = random.Random(seed)
        self.shape = self.random.choice(shapes)
        self.dtypes = self.random.choice(DTYPES)
        self.width = [n - 4 if n > 6 else n for n in self.shape]

    def windows(self, starts):
        return ", ".join(f"{at} : {at} + {w}" for at, w in zip(starts, self.width, strict=True))

    def window(self):
        def start(n, w):
            moving = self.random.choice([f"(i % {n - w + 1})", f"({n - w} - i % {n - w + 1})"])
            return moving if self.random.random() < 0.2 else self.random.randint(0, n - w)

        return self.windows(map(start, self.shape, self.width))

    def fill(self, text, depth):
        """Replace each placeholder of a template."""
        choose = self.random.choice
        while "{" in text:
            before, _, rest = text.partition("{")
            name, _, after = rest.partition("}")
            match name:
                case "E" if depth and self.random.random() < 0.5:
                    part = f"({self.fill(choose(EXPRESSIONS), depth - 1)})"
                case "E":
                    part = choose(["A", "B", "A", "B", "t", "u"])
                case "W":
                    part = f"{choose('AB')}[{self.window()}]"
                case "t":
                    part = choose("tu")
                case "c":
                    part = choose(["1", "2", "3", "s", "i", "0.5", "np.float32(1.5)", "True"])
                case "axis":
                    part = str(self.random.randrange(len(self.shape)))
                case "dtype":
                    part = choose(self.dtypes)
                case "way":
                    part = choose(sorted(OVERLAPPING))
                case "middle":
                    part = self.windows((n - w) // 2 for n, w in zip(self.shape, self.width, strict=True))
                case _:
                    part = self.window()
            text = before + part + after
        return text

    def program(self):
        """Return the text of a program, which uses `np`, `make` and `log`."""
        lines = [f"{name} = make({self.shape}, '{self.random.choice(self.dtypes)}')" for name in "AB"]
        lines += ["i = 0", f"V = A[{self.window()}]", "t, u, s = B + A, A * 2, 1.5"]
        lines.append(f"for i in range({self.random.choice([2, 3, 5, 9])}):")
        for _ in range(self.random.randint(2, 8)):
            statement = self.random.choice(STATEMENTS).replace("{A}", self.random.choice("AB"))
            lines += ["    try:", f"        {self.fill(statement, 2)}"]
            lines += ["    except Exception as error:", "        log.append(type(error).__name__)"]
        return "\n".join(lines)


def run(np, text):
    """Return the results of a program: its log and its arrays."""

    rng = numpy.random.default_rng(0)

    def make(shape, dtype):
        values = rng.integers(0, 9, shape)
        return np.array(
            (values / 4 if dtype[0] in "fc" else values > 3 if dtype == "?" else values).astype(dtype)
        )

    names = {"np": np, "numpy": numpy, "make": make, "log": []}
    names["over"] = lambda array, way: overlapping(np, array, way)
    with numpy.errstate(all="ignore"):
        exec(compile(text, "program", "exec"), names)
    return names["log"] + [names[name] for name in "ABOVtuw" if name in names]


def agree(text, ours, theirs):
    """Assert the same dtypes, shapes and bits, except for the signs of NaNs."""
    assert len(ours) == len(theirs), text
    for position, (x, y) in enumerate(zip(ours, theirs, strict=True)):
        x, y = numpy.asarray(x), numpy.asarray(y)
        assert (x.dtype, x.shape) == (y.dtype, y.shape), f"{position} of\n{text}"
        numpy.testing.assert_array_equal(x, y, err_msg=f"{position} of\n{text}")


def check(seed, shapes):
    text = Writer(seed, shapes).program()
    theirs = run(numpy, text)
    for _ in range(2):
        agree(text, run(numelt, text), theirs)


@pytest.fixture(params=["as it comes", "recorded", "planned"])
def way(request):
    """Run small operations when they are called, record all of them, or also plan all batches."""
    before = numelt.config.at_once, numelt.config.piecemeal
    if request.param != "as it comes":
        numelt.config.at_once = 0
    if request.param == "planned":
        numelt.config.piecemeal = 0
    yield
    numelt.config.at_once, numelt.config.piecemeal = before


@pytest.mark.core
@pytest.mark.parametrize("decade", range(12))
def test_small(way, decade):
    for seed in range(10 * decade, 10 * decade + 10):
        check(seed, SHAPES)


@pytest.mark.parametrize("seed", range(500, 516))
def test_large(seed):
    check(seed, LARGE)


@pytest.mark.parametrize("seed", range(700, 712))
def test_threads(seed, recorded):
    """Threads that run different programs at the same time do not influence each other."""
    texts = [Writer(seed + 1000 * n, SHAPES).program() for n in range(3)]
    results = in_threads(lambda text: [run(numelt, text) for _ in range(2)], texts)
    for text, result in zip(texts, results, strict=True):
        theirs = run(numpy, text)
        for ours in result:
            agree(text, ours, theirs)
