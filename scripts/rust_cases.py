"""The cases in which `rust_conformance.py` compares the Rust API with NumPy: name, function, arguments."""

import itertools

import numpy as np

CODES = "? i1 u1 i2 u2 i4 u4 i8 u8 f2 f4 f8 c8 c16"
DTYPES = [np.dtype(code) for code in CODES.split()]
# one dtype of each kind and width, for functions whose rules do not depend on other properties
SOME = [dtype for dtype in DTYPES if dtype.char not in "BhHiI"]

# functions of one operand and of two operands, with NumPy's names
ONE = """
    arccos arccosh arcsin arcsinh arctan arctanh bitwise_count cbrt ceil cos cosh exp exp2 expm1
    floor isfinite isinf isnan log log1p log2 log10 logical_not negative positive reciprocal rint
    sign signbit sin sinh sqrt square tan tanh trunc
"""
TWO = """
    add subtract multiply divide floor_divide remainder fmod maximum minimum fmax fmin copysign
    hypot logaddexp nextafter gcd lcm equal not_equal less less_equal greater greater_equal
    logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor
"""
UNARY = {"abs": np.absolute, "bitwise_invert": np.invert, "conj": np.conjugate}
UNARY |= {name: getattr(np, name) for name in ONE.split()}
BINARY = {
    "pow": np.power,
    "atan2": np.arctan2,
    "bitwise_left_shift": np.left_shift,
    "bitwise_right_shift": np.right_shift,
}
BINARY |= {name: getattr(np, name) for name in TWO.split()}
FOLDS = {name: getattr(np, name) for name in (
    "sum", "prod", "min", "max", "any", "all", "argmin", "argmax", "mean", "count_nonzero"
)}  # fmt: skip


class Window:
    """An array as the program makes it: values in C order, and a layout that selects a window of them."""

    def __init__(self, values, layout=""):
        self.values, self.layout, self.array = values, layout, values
        steps = iter(layout)
        for step in steps:
            array = self.array
            self.array = {
                "t": lambda a=array: a.T,
                "f": lambda a=array: a[::-1],
                "l": lambda a=array: a[..., ::-1],
                "s": lambda a=array: a[::2],
                "b": lambda a=array: np.broadcast_to(a, (int(next(steps)), *a.shape)),
            }[step]()

    def text(self):
        """Return the argument in the form that the program reads."""
        shape = ",".join(map(str, self.values.shape))
        return f"a{self.values.dtype.name}:{shape}:{self.values.tobytes().hex()}:{self.layout}"

    def __repr__(self):
        return f"{self.values.dtype.name}{self.array.shape}{self.layout}"


def specials(dtype):
    """Return the values of a dtype that functions treat specially."""
    if dtype.kind == "b":
        return [True, False]
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        signed = [-1, -2, -7] if dtype.kind == "i" else []
        return [0, 1, 2, 3, 7, *signed, info.max, info.min, info.max - 1]
    if dtype.kind == "c":
        nan, inf = float("nan"), float("inf")
        return [
            0,
            1,
            1j,
            -1.5 + 2j,
            complex(-0.0, -0.0),
            complex(inf, 1),
            complex(nan, 0),
            complex(0, -inf),
            2.5 - 0.5j,
        ]
    info = np.finfo(dtype)
    ordinary = [0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -2.5, 3.7, 1e-3]
    return [
        *ordinary,
        np.inf,
        -np.inf,
        np.nan,
        float(info.max),
        float(info.tiny),
        float(info.smallest_subnormal),
    ]


def filled(dtype, shape, start=0):
    """Return an array of special values, from the one at `start` on."""
    values = specials(dtype)
    size = int(np.prod(shape))
    chosen = [values[(start + at) % len(values)] for at in range(size)]
    return np.array(chosen, dtype).reshape(shape)


def mild(dtype, shape, start=0):
    """Return an array of small numbers, for functions that add or multiply many of them."""
    size = int(np.prod(shape))
    numbers = (np.arange(size) * 37 + start) % 23 - (11 if dtype.kind in "ifc" else 0)
    scaled = numbers / (4 if dtype.kind in "fc" else 1) + (1j * (numbers % 5) if dtype.kind == "c" else 0)
    return scaled.astype(dtype).reshape(shape)


def windows(dtype, make=filled):
    """Yield arrays of all layouts: without axes, empty, strided, reversed, transposed, broadcast, long."""
    for shape, layout in [
        ((), ""), ((0,), ""), ((0, 3), ""), ((3, 0), "t"), ((15,), ""), ((15,), "f"), ((3, 5), ""),
        ((5, 3), "t"), ((6, 4), "s"), ((3, 5), "fl"), ((5,), "b3"), ((2, 3, 4), "tf"), ((1,), ""),
        ((1, 3, 1), ""),
    ]:  # fmt: skip
        yield Window(make(dtype, shape), layout)


def pairs(left, right):
    """Yield pairs of arrays that broadcast, and one pair that does not."""
    for (a, la), (b, lb) in [
        (((15,), ""), ((15,), "f")), (((3, 5), ""), ((5,), "")), (((4, 1), ""), ((3,), "f")),
        (((), ""), ((0, 3), "")), (((5, 3), "t"), ((3, 5), "")), (((), ""), ((), "")),
        (((2,), ""), ((3,), "")),
    ]:  # fmt: skip
        yield Window(filled(left, a), la), Window(filled(right, b, 3), lb)


WEAK = [True, 2, -3, 0.5, float("nan"), 1e300, 1j, 300]


def elementwise_cases():
    """Yield cases of functions that compute each element by itself."""
    for name, function in UNARY.items():
        for dtype in DTYPES:
            yield from ((name, function, (window,)) for window in windows(dtype))
    for name, function in BINARY.items():
        for left, right in itertools.product(DTYPES, DTYPES):
            alike = left == right or (left, right) == (np.dtype("i8"), np.dtype("f4"))
            for args in itertools.islice(pairs(left, right), None if alike else 1):
                yield name, function, args
        for dtype, weak in itertools.product(DTYPES, WEAK):
            yield name, function, (Window(filled(dtype, (15,))), weak)
            yield name, function, (weak, Window(filled(dtype, (15,))))
        for dtype, other in itertools.product(SOME, SOME):
            yield name, function, (Window(filled(dtype, (7,))), filled(other, (1,), 1)[0])
    for dtype in DTYPES:
        for window in windows(dtype):
            yield "round", np.round, (window,)
            yield "real", np.real, (window,)
            yield "imag", np.imag, (window,)
    for left, right in itertools.product(DTYPES, DTYPES):
        condition = Window(filled(np.dtype(bool), (15,)))
        yield (
            "select",
            np.where,
            (condition, Window(filled(left, (15,))), Window(filled(right, (15,), 2), "f")),
        )
    for dtype, weak in itertools.product(DTYPES, WEAK):
        yield "select", np.where, (Window(filled(dtype, (3, 5))), weak, Window(filled(dtype, (5,))))
    bounds = [
        None,
        0,
        -3,
        2.5,
        300,
        -0.0,
        np.float32(1),
        np.int8(2),
        Window(filled(np.dtype("i2"), (5,))),
        float("inf"),
    ]
    for dtype in DTYPES:
        for window in [
            Window(filled(dtype, (3, 5))),
            Window(filled(dtype, ())),
            Window(filled(dtype, (0, 5)), "f"),
        ]:
            for low, high in itertools.product(bounds, bounds):
                yield "clip", np.clip, (window, low, high)


def folded(function):
    """Return NumPy's reduction, with axes and `keepdims` as positional arguments."""

    def call(a, axis, keepdims, ddof=None):
        axis = tuple(axis) if isinstance(axis, list) else axis
        more = {} if ddof is None else {"ddof": ddof}
        return function(a, axis=axis, keepdims=keepdims, **more)

    return call


def running(function):
    """Return NumPy's running reduction along an axis, or of all elements."""
    return lambda a, axis: function(a, axis=axis)


def reduction_cases():
    """Yield cases of reductions and products."""
    for dtype in DTYPES:
        many = [*windows(dtype), Window(mild(dtype, (1037,))), Window(mild(dtype, (40, 33)), "t")]
        many += [Window(mild(dtype, (3, 5, 7)), "fl")]
        for window in many:
            for axis, keepdims in itertools.product([None, 0, -1, [0, 1], [0, 0], 3], [False, True]):
                for name, function in FOLDS.items():
                    if not (name.startswith("arg") and isinstance(axis, list)):
                        yield name, folded(function), (window, axis, keepdims)
                for ddof in (0, 1, 0.5):
                    yield "var", folded(np.var), (window, axis, keepdims, ddof)
                    yield "std", folded(np.std), (window, axis, keepdims, ddof)
            for axis in (None, 0, -1):
                yield "cumulative_sum", running(np.cumsum), (window, axis)
                yield "cumulative_prod", running(np.cumprod), (window, axis)
    shapes = [
        ((3, 4), (4, 5)), ((4,), (4, 2)), ((3, 4), (4,)), ((4,), (4,)), ((2, 3, 4), (4, 2)), ((3, 4), (3, 4)),
        ((0, 4), (4, 2)), ((2, 0), (0, 3)), ((5, 1, 2, 3), (4, 3, 2)), ((), (3,)),
    ]  # fmt: skip
    for left, right in itertools.product(SOME, SOME):
        for a, b in shapes:
            yield "matmul", np.matmul, (Window(mild(left, a)), Window(mild(right, b, 5)))
        vectors = Window(mild(left, (3, 5))), Window(mild(right, (5,), 2), "f")
        yield "vecdot", np.vecdot, vectors
        for axes in (0, 1, 2):
            yield (
                "tensordot",
                np.tensordot,
                (Window(mild(left, (2, 3))), Window(mild(right, (2, 3), 1), "t"), axes),
            )


def sliced(a, parts):
    """Slice by a flat list of starts, stops and steps."""
    most, least = 2**63 - 1, -(2**63)
    limits = {most: None, least: None}
    key = [slice(limits.get(parts[k], parts[k]), limits.get(parts[k + 1], parts[k + 1]), parts[k + 2])
           for k in range(0, len(parts), 3)]  # fmt: skip
    return a[tuple(key)]


def unstacked(a, axis):
    """Return the parts along an axis."""
    return list(np.unstack(a, axis=axis))


def movement_cases():
    """Yield cases of functions that move elements."""
    for dtype in SOME:
        for window in windows(dtype):
            for shape in ([-1], [3, -1], [5, 3], [1, -1, 1], [-1, -1], [0, -1]):
                yield "reshape", np.reshape, (window, shape)
            yield "ravel", np.ravel, (window,)
            yield "transpose", np.transpose, (window,)
            yield "matrix_transpose", lambda a: np.matrix_transpose(a), (window,)
            for order in ([1, 0], [0, -1], [2, 0, 1], [0, 0]):
                yield "permute_dims", np.permute_dims, (window, order)
            for source, to in (([0], [-1]), ([0, 1], [1, 0]), ([5], [0])):
                yield "moveaxis", np.moveaxis, (window, source, to)
            for axis in (0, -1, 1, 7):
                yield "expand_dims", np.expand_dims, (window, axis)
                yield "flip", np.flip, (window, axis)
                yield "diff", lambda a, axis: np.diff(a, axis=axis), (window, axis)
                yield "repeat", lambda a, times, axis: np.repeat(a, times, axis=axis), (window, 3, axis)
                yield "unstack", unstacked, (window, axis)
                yield "roll", np.roll, (window, 2, axis)
                yield "roll", np.roll, (window, -7, axis)
            yield "roll", np.roll, (window, 4, None)
            for axes in (None, [0], [0, 2], [-1]):
                squeeze = lambda a, axes: np.squeeze(a, axes if axes is None else tuple(axes))  # noqa: E731
                yield "squeeze", squeeze, (window, axes)
            for shape in ([3, 5], [2, 3, 5], [4, 0, 3]):
                yield "broadcast_to", lambda a, shape: np.broadcast_to(a, tuple(shape)), (window, shape)
            for times in ([2], [2, 3], [1, 0]):
                yield "tile", np.tile, (window, times)
            for k in (0, 1, -2, 9):
                yield "diagonal", np.diagonal, (window, k)
                yield "tril", np.tril, (window, k)
                yield "triu", np.triu, (window, k)
            for parts in ([1, 3, 1], [2**63 - 1, -(2**63), -1], [-2, 2**63 - 1, 1, 0, 9, 2]):
                yield "slice", sliced, (window, parts)
    for left, right in itertools.product(DTYPES, DTYPES):
        a, b = Window(filled(left, (3, 5))), Window(filled(right, (5, 3), 2), "t")
        for axis in (0, -1, 2):
            yield "concat", lambda axis, *all: np.concat(all, axis=axis), (axis, a, b)
            yield "stack", lambda axis, *all: np.stack(all, axis=axis), (axis, a, b)
        yield (
            "astype",
            lambda a, like: a.astype(like.dtype),
            (Window(mild(left, (15,))), Window(mild(right, ()))),
        )
        yield (
            "broadcast_arrays",
            lambda *all: list(np.broadcast_arrays(*all)),
            (a, Window(filled(right, (3, 1)))),
        )
        grid = lambda *all: list(np.meshgrid(*all, indexing="ij"))  # noqa: E731
        yield "meshgrid", grid, (Window(filled(left, (3,))), Window(filled(right, (2,))))


def changed(change):
    """Return a function that changes a copy and returns it."""

    def call(a, *args):
        copy = a.copy()
        change(copy, *args)
        return copy

    return call


def put(a, index, value):
    """Store values at positions along the first axis."""
    a[index] = value


def assign(a, value):
    """Store a value in all elements of an array."""
    a[...] = value


def masks(shape):
    """Yield masks for arrays of a shape: some, all or no elements, fewer axes, wrong extents."""
    size = int(np.prod(shape))
    yield Window((np.arange(size) % 3 != 1).reshape(shape))
    yield Window(np.ones(shape, bool))
    yield Window(np.zeros(shape, bool))
    if len(shape) > 1:
        yield Window(np.arange(shape[0]) % 2 == 0, "f")
    yield Window(np.ones((*shape, 2), bool))
    yield Window(np.ones(9, bool))


def positions_along(shape):
    """Yield arrays of positions in an array of a shape, among them some that do not fit."""
    size = int(np.prod(shape))
    yield Window((np.arange(size) % 3).reshape(shape))
    yield Window((np.arange(size) % 3 - 3).astype("i2").reshape(shape), "t")
    yield Window(np.full(shape, 2, "u1")[:1] if shape else np.array(0))
    yield Window(np.zeros((*shape[:-1], 7), "i8"))
    yield Window(np.zeros((1,) * len(shape), "i8"), "f" if shape else "")
    yield Window(np.full((1,) * len(shape), 9))
    yield Window(np.zeros((*shape, 1), "i8"))
    yield Window(np.zeros(shape))


def picking_cases():
    """Yield cases of indexing, of sorting, and of functions that consist of these."""
    lists = [[2, 0, -1], [0], [], [5, 1], [-9]]
    indices = [Window(np.array(positions, code)) for positions in lists for code in ("i8", "i2")]
    indices += [
        Window(np.array([[0, 1], [2, -1]]), "t"),
        Window(np.array([1, 0, 2], "u1"), "f"),
        Window(np.array(1)),
    ]
    indices += [Window(np.array([0.5]))]
    for dtype in SOME:
        for window in windows(dtype):
            for index, axis in itertools.product(indices, (0, -1, 2)):
                yield "take", lambda a, index, axis: np.take(a, index, axis=axis), (window, index, axis)
            for index, axis in itertools.product(positions_along(window.array.shape), (0, -1, 2)):
                yield "take_along_axis", np.take_along_axis, (window, index, axis)
            for index in indices:
                for value in (3, 0.5, Window(filled(dtype, ())), Window(filled(dtype, (3, 1)))):
                    if window.array.ndim:
                        yield "put", changed(put), (window, index, value)
            for mask in masks(window.array.shape):
                yield "compress", lambda a, mask: a[mask], (window, mask)
                yield "put_mask", changed(put), (window, mask, 1)
                count = int(mask.array.sum()) if mask.array.shape == window.array.shape else 2
                yield "put_mask", changed(put), (window, mask, Window(filled(dtype, (count,), 1)))
            if window.array.ndim:
                yield "nonzero", lambda a: list(np.nonzero(a)), (window,)
            for value in (
                2,
                -1,
                0.5,
                1j,
                Window(filled(np.dtype("f4"), (1,))),
                Window(mild(np.dtype("i2"), (3, 1))),
            ):
                yield "assign", changed(assign), (window, value)
        for index in indices:
            add = changed(lambda a, index, value: np.add.at(a, index, value))
            yield "add_at", add, (Window(mild(dtype, (3, 5))), index, Window(mild(dtype, (5,))))
    for dtype in DTYPES:
        for window in [*windows(dtype), Window(mild(dtype, (1037,))), Window(mild(dtype, (40, 33)), "t")]:
            for axis in (0, -1, 1):
                yield "sort", lambda a, axis: np.sort(a, axis=axis, stable=True), (window, axis)
                yield "argsort", lambda a, axis: np.argsort(a, axis=axis, stable=True), (window, axis)
            yield "unique_values", lambda a: np.sort(np.unique_values(a)), (window,)
            yield "unique_all", lambda a: list(np.unique_all(a)), (window,)
        for window in windows(dtype, mild):
            yield "bincount", np.bincount, (window,)
        for other in SOME:
            sought = Window(filled(other, (3, 5)))
            for right in (False, True):
                search = lambda a, v, right: np.searchsorted(a, v, side="right" if right else "left")  # noqa: E731
                yield "searchsorted", search, (Window(np.sort(filled(dtype, (15,)))), sought, right)


def creation_cases():
    """Yield cases of functions that make arrays."""
    for dtype in DTYPES:
        like = Window(filled(dtype, (3, 5)), "t")
        one = Window(filled(dtype, ()))
        for shape in ([], [3], [2, 0], [2, 3]):
            yield "zeros", lambda shape, like: np.zeros(shape, like.dtype), (shape, one)
            yield "full", np.full, (shape, filled(dtype, (1,), 1)[0])
        yield "zeros_like", np.zeros_like, (like,)
        yield "ones_like", np.ones_like, (like,)
        for value in (2, 0.5, 1j, True, 300, -1):
            yield "full_like", np.full_like, (like, value)
        for n, m, k in itertools.product((0, 1, 4), (0, 3), (-5, -1, 0, 2)):
            yield "eye", lambda n, m, k, like: np.eye(n, m, k, like.dtype), (n, m, k, one)
    for shape in ([], [3], [2, 0]):
        yield "ones", np.ones, (shape,)
        for value in (2, 0.5, 1j, True):
            yield "full", np.full, (shape, value)
    ends = [0, 5, -3, 0.0, 0.3, 1.7, -2.5, 1e-3, float("nan"), float("inf"), 2**62]
    for start, stop, step in itertools.product(ends, ends, [1, -1, 2, 0.1, -0.25, 0, 7, 2**61]):
        yield "arange", np.arange, (start, stop, step)
    for value in (np.float32(2.5), np.int8(3), np.uint64(4)):
        yield "arange", np.arange, (0, value, 1)
    for start, stop, count, end in itertools.product(
        [0.0, 1.0, -2.5, 1e308], [0.0, 3.0, -1e308, 5e-324], [0, 1, 2, 5, 50], [True, False]
    ):
        yield "linspace", np.linspace, (start, stop, count, end)


def cases():
    """Return all cases: name, NumPy's function, arguments."""
    makers = (elementwise_cases, reduction_cases, movement_cases, picking_cases, creation_cases)
    return list(itertools.chain.from_iterable(make() for make in makers))
