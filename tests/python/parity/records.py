"""The parity table: one row per function, from which the tests over dtypes and layouts are generated.

A row states the call, the dtypes and the layouts of the arguments, and by how much the result may differ from
NumPy's. 0 means identical bits; transcendental functions may differ by as much as two good libraries do.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from ..support.layouts import COMPLEX, FLOATS, NATIVE

INTEGERS = NATIVE[1:]
REAL = [*NATIVE, *FLOATS]
ALL = [*REAL, *COMPLEX]
FEW = ["bool", "int8", "uint8", "int32", "int64", "uint64", "float32", "float64", "complex128"]


@dataclass(frozen=True)
class Record:
    """A row of the table."""

    name: str
    call: Callable
    dtypes: list = field(default_factory=lambda: FEW)
    arity: int = 1
    domain: str = "any"
    ulp: float = 0
    rtol: float = 0.0
    layouts: tuple = ()
    # for complex results: the distance in ULP of the number's magnitude instead of each part
    norm: float = 0


def ufunc(name, dtypes=FEW, arity=1, domain="any", ulp=0):
    """Return the row of an elementwise function."""
    return Record(name, lambda np, *args: getattr(np, name)(*args), dtypes, arity, domain, ulp)


def method(name, *args, dtypes=FEW, label="", rtol=0.0, ulp=0, domain="any", layouts=(), **kwargs):
    """Return the row of a function and the method of the same name, which must agree."""

    def call(np, x):
        result = getattr(np, name)(x, *args, **kwargs)
        again = getattr(x, name)(*args, **kwargs)
        return result, again

    return Record(f"{name}{label}", call, dtypes, 1, domain, ulp, rtol, layouts)


def function(name, *args, dtypes=FEW, label="", rtol=0.0, ulp=0, domain="any", layouts=(), **kwargs):
    """Return the row of a function of one array."""
    return Record(
        f"{name}{label}",
        lambda np, x: getattr(np, name)(x, *args, **kwargs),
        dtypes,
        1,
        domain,
        ulp,
        rtol,
        layouts,
    )


AXES = ("vector", "long", "matrix", "strided", "reversed", "transposed", "middle", "one_row", "column")
DEEP = ("matrix", "cube", "strided", "reversed", "transposed", "middle", "one_row", "column")

ELEMENTWISE = [
    *(ufunc(name, ALL, 2) for name in ("add", "equal", "not_equal")),
    ufunc("multiply", REAL, 2),
    # NumPy fuses the two products of a complex product if the data are contiguous
    Record("multiply", lambda np, x, y: np.multiply(x, y), COMPLEX, 2, norm=2),
    *(ufunc(name, [*INTEGERS, *FLOATS, *COMPLEX], 2) for name in ("subtract",)),
    *(
        ufunc(name, REAL, 2)
        for name in ("maximum", "minimum", "fmax", "fmin", "less", "less_equal", "greater")
    ),
    *(ufunc(name, [*REAL, "complex128"], 2, "positive") for name in ("divide", "true_divide")),
    *(ufunc(name, [*INTEGERS, *FLOATS], 2) for name in ("floor_divide", "remainder", "mod", "fmod")),
    *(ufunc(name, ["bool", *INTEGERS], 2) for name in ("bitwise_and", "bitwise_or", "bitwise_xor")),
    *(ufunc(name, INTEGERS, 2, "small") for name in ("left_shift", "right_shift")),
    *(ufunc(name, ALL, 2) for name in ("logical_and", "logical_or", "logical_xor")),
    ufunc("power", INTEGERS, 2, "small"),
    ufunc("power", FLOATS, 2, "positive", 4),
    ufunc("float_power", ["float64"], 2, "positive", 4),
    ufunc("copysign", FLOATS, 2),
    ufunc("hypot", FLOATS, 2, "any", 2),
    ufunc("arctan2", FLOATS, 2, "any", 4),
    *(ufunc(name, [*INTEGERS, *FLOATS, *COMPLEX]) for name in ("negative", "positive", "conjugate")),
    ufunc("square", [*INTEGERS, *FLOATS]),
    Record("square", lambda np, x: np.square(x), COMPLEX, norm=2),
    ufunc("absolute", REAL),
    ufunc("absolute", COMPLEX, 1, "any", 2),
    *(ufunc(name, [*INTEGERS, *FLOATS]) for name in ("sign",)),
    *(ufunc(name, ALL) for name in ("logical_not", "isnan", "isinf", "isfinite")),
    *(ufunc(name, ["bool", *INTEGERS]) for name in ("invert", "bitwise_not")),
    *(ufunc(name, FLOATS) for name in ("floor", "ceil", "trunc", "rint", "signbit", "fabs", "reciprocal")),
    ufunc("sqrt", [*REAL], 1, "positive"),
    *(
        ufunc(name, [*FLOATS, "int64", "bool"], 1, "small", 4)
        for name in ("exp", "exp2", "expm1", "sin", "cos", "tan")
    ),
    *(ufunc(name, FLOATS, 1, "small", 4) for name in ("sinh", "cosh", "tanh", "arctan", "arcsinh", "cbrt")),
    *(ufunc(name, [*FLOATS, "int32"], 1, "positive", 4) for name in ("log", "log2", "log10", "log1p")),
    *(ufunc(name, FLOATS, 1, "unit", 4) for name in ("arcsin", "arccos", "arctanh")),
    *(ufunc(name, ["float64"], 1) for name in ("deg2rad", "rad2deg", "radians", "degrees")),
    Record("mixed add", lambda np, x, y: x + y.astype("int16"), ["float32", "int8", "uint64"], 2),
    Record(
        "scalar right",
        lambda np, x: (x + 1, x * 2, x - 3, x // 2 if x.dtype.kind != "c" else x),
        INTEGERS + FLOATS,
    ),
    Record("scalar left", lambda np, x: (1 + x, 2 * x, 3 - x, 7.5 * x), INTEGERS + FLOATS + COMPLEX),
    Record("float scalar", lambda np, x: (x * 0.5, x / 3.0, x + 1e-3), FEW[1:]),
    Record("square by power", lambda np, x: x**2, INTEGERS + FLOATS + COMPLEX, norm=2),
    Record("root by power", lambda np, x: x**0.5, FLOATS, domain="positive"),
    Record("cube by power", lambda np, x: x**3, FLOATS, domain="positive", ulp=4),
    Record("compare with number", lambda np, x: (x < 3, x >= 0, x == 1, x != 2), REAL),
    Record("where", lambda np, x, y: np.where(x > y, x, y), REAL, 2),
    Record("where number", lambda np, x: np.where(x > 0, x, 0), INTEGERS + FLOATS),
    Record("clip", lambda np, x: (np.clip(x, 2, 50), x.clip(2, 50), x.clip(min=3)), INTEGERS + FLOATS),
    Record("astype", lambda np, x: [x.astype(t) for t in ("bool", "int64", "float32", "complex128")], REAL),
    Record("divmod", lambda np, x, y: divmod(x, y), ["int64", "float64"], 2, "positive"),
    Record("real and imag", lambda np, x: (x.real, x.imag, np.real(x), np.imag(x)), FEW),
    Record("isclose", lambda np, x, y: (np.isclose(x, y), np.isclose(x, x), np.allclose(x, x)), REAL, 2),
]

REDUCTIONS = [
    *(method(name, label=" all", dtypes=ALL) for name in ("sum",)),
    method("prod", label=" all", dtypes=["int64", "int8"], domain="small"),
    *(method(name, label=" all", dtypes=REAL, layouts=AXES) for name in ("min", "max")),
    *(method(name, label=" all", dtypes=ALL) for name in ("any", "all")),
    *(method(name, label=" all", dtypes=REAL, layouts=AXES) for name in ("argmin", "argmax")),
    *(method(name, axis=0, label=" axis 0", dtypes=FEW, layouts=AXES) for name in ("sum", "any", "all")),
    *(method(name, axis=-1, label=" axis -1", dtypes=FEW, layouts=AXES) for name in ("sum", "any", "all")),
    *(method(name, axis=0, label=" axis 0", dtypes=REAL, layouts=AXES) for name in ("min", "max", "argmin")),
    *(
        method(name, axis=-1, label=" axis -1", dtypes=REAL, layouts=AXES)
        for name in ("min", "max", "argmax")
    ),
    method("sum", axis=1, keepdims=True, label=" keepdims", layouts=DEEP),
    method("sum", axis=(0, 1), label=" axes", layouts=DEEP),
    method("max", axis=(0, 1), keepdims=True, dtypes=REAL, label=" axes", layouts=DEEP),
    method("sum", axis=(), label=" no axes", layouts=DEEP),
    method("sum", dtype="float64", dtypes=["int32", "float32", "bool"], label=" as float64", rtol=1e-15),
    method("mean", label=" all", dtypes=[*REAL, "complex128"], layouts=AXES),
    method("mean", axis=0, label=" axis 0", dtypes=[*REAL, "complex128"], layouts=AXES),
    method("mean", axis=-1, keepdims=True, label=" keepdims", dtypes=FEW, layouts=AXES),
    method("var", label=" all", dtypes=REAL, layouts=AXES),
    method("std", label=" all", dtypes=REAL, layouts=AXES),
    method("var", axis=0, label=" axis 0", dtypes=FEW, layouts=DEEP),
    method(
        "std",
        axis=-1,
        ddof=1,
        label=" ddof",
        dtypes=["int32", "float32", "float64"],
        layouts=("matrix", "cube"),
    ),
    function("ptp", dtypes=["int32", "float64"], layouts=AXES),
    function("count_nonzero", dtypes=FEW),
    function("count_nonzero", axis=0, label=" axis", layouts=AXES),
    function("average", dtypes=["int32", "float64"], layouts=AXES),
    method("cumsum", label=" all", dtypes=FEW),
    method("cumsum", axis=0, label=" axis 0", dtypes=FEW, layouts=AXES),
    method("cumprod", axis=-1, label=" axis -1", dtypes=["int64", "float64"], layouts=AXES),
    Record(
        "add.reduce", lambda np, x: (np.add.reduce(x), np.maximum.reduce(x, axis=-1)), REAL[1:], layouts=AXES
    ),
    Record("add.accumulate", lambda np, x: np.add.accumulate(x), INTEGERS + FLOATS, layouts=AXES),
    Record("sum of expression", lambda np, x: np.sum(x * 2 + 1), FEW[1:]),
    Record("diff", lambda np, x: (np.diff(x), np.diff(x, axis=0), np.diff(x, n=2)), REAL, layouts=AXES),
]

MANIPULATION = [
    Record(
        "reshape", lambda np, x: (x.reshape(-1), np.reshape(x, (-1, 1)), x.reshape(x.shape[::-1], order="F"))
    ),
    Record("ravel", lambda np, x: (np.ravel(x), x.ravel("F"), x.flatten(), x.ravel("K"))),
    Record("transpose", lambda np, x: (x.T, np.transpose(x), x.transpose())),
    Record(
        "axes", lambda np, x: (np.swapaxes(x, 0, -1), np.moveaxis(x, 0, -1), np.rollaxis(x, -1)), layouts=AXES
    ),
    Record("squeeze", lambda np, x: (np.squeeze(x), np.expand_dims(x, 0), x[None], x[..., None])),
    Record("atleast", lambda np, x: (np.atleast_1d(x), np.atleast_2d(x), np.atleast_3d(x))),
    Record("flip", lambda np, x: (np.flip(x), np.flip(x, 0), np.flipud(x)), layouts=AXES),
    Record("rotate", lambda np, x: (np.rot90(x), np.rot90(x, 2), np.rot90(x, 3), np.fliplr(x)), layouts=DEEP),
    Record("broadcast_to", lambda np, x: np.broadcast_to(x, (2, *x.shape))),
    Record("broadcast_arrays", lambda np, x: np.broadcast_arrays(x, np.zeros((2,) + (1,) * x.ndim, x.dtype))),
    Record(
        "concatenate",
        lambda np, x, y: (np.concatenate([x, y]), np.concatenate((x, y), axis=-1)),
        layouts=AXES,
        arity=2,
    ),
    Record("concatenate mixed", lambda np, x: np.concatenate([x, x.astype("float64")], axis=None), FEW),
    Record(
        "stack", lambda np, x, y: (np.stack([x, y]), np.stack([x, y], axis=-1), np.vstack([x, y])), arity=2
    ),
    Record("hstack", lambda np, x, y: (np.hstack([x, y]), np.dstack([x, y])), arity=2),
    Record(
        "column_stack",
        lambda np, x, y: np.column_stack([x, y]),
        arity=2,
        layouts=("vector", "matrix", "strided"),
    ),
    Record(
        "array_split", lambda np, x: (np.array_split(x, 3), np.split(x, [1, 3]), np.split(x, 1)), layouts=AXES
    ),
    Record("tile", lambda np, x: (np.tile(x, 2), np.tile(x, (2, 1, 3)))),
    Record("repeat", lambda np, x: (np.repeat(x, 3), x.repeat(2))),
    Record("repeat axis", lambda np, x: np.repeat(x, 2, axis=-1), layouts=AXES),
    Record(
        "roll", lambda np, x: (np.roll(x, 2), np.roll(x, -1, axis=0), np.roll(x, 30, axis=-1)), layouts=AXES
    ),
    Record("pad", lambda np, x: (np.pad(x, 1), np.pad(x, (2, 0), constant_values=1)), FEW[1:], layouts=AXES),
    Record(
        "diagonal",
        lambda np, x: (np.diagonal(x), x.diagonal(1), np.trace(x), np.diag(x, -1)),
        layouts=("matrix", "strided", "reversed", "transposed"),
    ),
    Record("diag", lambda np, x: (np.diag(x), np.diag(x, 2)), layouts=("vector",)),
    Record("triangles", lambda np, x: (np.tril(x), np.triu(x, 1), np.tril(x, -1)), layouts=DEEP),
    Record(
        "copies",
        lambda np, x: (x.copy(), np.copy(x), np.array(x), np.ascontiguousarray(x), np.asfortranarray(x)),
    ),
    Record(
        "likes",
        lambda np, x: (np.zeros_like(x), np.ones_like(x), np.full_like(x, 1), np.zeros_like(x, dtype=int)),
    ),
    Record("strides of likes", lambda np, x: np.zeros_like(x).strides == np.zeros_like(x, order="K").strides),
    Record("basic index", lambda np, x: (x[0], x[-1], x[1:], x[::-1], x[..., 0], x[()])),
    Record("mask read", lambda np, x: x[x > 0], REAL),
    Record("integer index", lambda np, x: (x[[0, -1]], np.take(x, [0, 0])), layouts=AXES),
    Record(
        "sorting", lambda np, x: (np.sort(x), np.argsort(x, kind="stable"), np.unique(x)), REAL, layouts=AXES
    ),
    Record("nonzero", lambda np, x: (np.nonzero(x), np.argwhere(x), np.flatnonzero(x)), REAL, layouts=AXES),
    Record("meshgrid", lambda np, x: np.meshgrid(x, x[:2]), layouts=("vector",)),
    Record("outer", lambda np, x, y: (np.outer(x, y), np.multiply.outer(x, y)), FEW[1:], arity=2, norm=2),
]

PRODUCTS = [
    Record(
        "matmul",
        lambda np, x: (x @ x.T, np.dot(x, x.T), np.matmul(x, x.T)),
        [*FLOATS, *COMPLEX, "int32"],
        rtol=1e-5,
        layouts=("matrix", "strided", "transposed", "reversed"),
    ),
    Record(
        "vector products",
        lambda np, x: (x @ x, np.dot(x, x), np.inner(x, x), np.vdot(x, x)),
        [*FLOATS, *COMPLEX, "int64"],
        rtol=1e-5,
        layouts=("vector", "long"),
    ),
    Record(
        "matrix vector",
        lambda np, x: (x @ x[0], x.T @ x[:, 0], np.dot(x, 2)),
        [*FLOATS, "int32"],
        rtol=1e-4,
        layouts=("matrix", "strided", "transposed"),
    ),
    Record(
        "tensordot",
        lambda np, x: (np.tensordot(x, x), np.tensordot(x, x.T, 1)),
        [*FLOATS, "int32"],
        rtol=1e-4,
        layouts=("matrix", "strided"),
    ),
    Record(
        "linalg",
        lambda np, x: (np.linalg.norm(x), np.linalg.svd(x)[1]),
        ["float64"],
        rtol=1e-10,
        layouts=("matrix", "strided"),
    ),
    Record(
        "einsum",
        lambda np, x: np.einsum("ij,ij->i", x, x),
        ["float64", "int32"],
        rtol=1e-12,
        layouts=("matrix", "strided"),
    ),
    Record(
        "fft",
        lambda np, x: np.fft.fft(x),
        ["float64", "complex128"],
        rtol=1e-10,
        layouts=("vector", "long", "matrix"),
    ),
    Record(
        "statistics",
        lambda np, x: (np.median(x), np.percentile(x, 30), np.histogram(x)[0]),
        ["float64"],
        layouts=AXES,
    ),
]

WRITES = [
    Record("add in place", lambda np, x: [x.__iadd__(1), x][1], FEW[1:]),
    Record("multiply in place", lambda np, x: [x.__imul__(x), x][1], FEW[1:], norm=2),
    Record("slice write", lambda np, x: [x.__setitem__(slice(1, None), 3), x][1], layouts=AXES),
    Record("overlapping write", lambda np, x: [x.__setitem__(slice(1, None), x[:-1]), x][1], layouts=AXES),
    Record("reversed write", lambda np, x: [x.__setitem__(slice(None), x[::-1]), x][1], layouts=AXES),
    Record("mask write", lambda np, x: [x.__setitem__(x > 1, 0), x][1], REAL),
    Record("mask array write", lambda np, x: [x.__setitem__(x > 1, x[x > 1] // 2), x][1], INTEGERS),
    Record("integer index write", lambda np, x: [x.__setitem__([0, -1], 1), x][1], layouts=AXES),
    Record("out", lambda np, x: [np.add(x, x, out=x), x][1], FEW),
    Record(
        "sum out",
        lambda np, x: np.sum(x, axis=0, out=np.zeros(x.shape[1:], "float64")),
        ["float64", "int32"],
        layouts=DEEP,
    ),
    Record("fill", lambda np, x: [x.fill(2), x][1], FEW),
    Record("copyto", lambda np, x: [np.copyto(x, x[::-1]), x][1], layouts=AXES),
    Record("copyto where", lambda np, x: [np.copyto(x, x * 0, where=x > 1), x][1], REAL[1:]),
    Record("sort in place", lambda np, x: [x.sort(), x][1], REAL, layouts=AXES),
]

CREATION = [
    Record(f"arange{args}", lambda np, args=args: np.arange(*args), [None], 0) for args in [ (5,), (0,),
    (-3,), (2, 9), (9, 2, -2), (0.0, 1.0, 0.1), (1, 2, 0.3), (0.5,), (10, 0, -3), (0, 1e-9, 1e-10), (1.0,
    1.3, 0.1), (-1.5, 3), (0, 5, 0.7), (2**53, 2**53 + 5), (0.1, 0.1), (3, 3.0000001, 1), ]
]  # fmt: skip
CREATION += [
    Record(f"linspace{args}", lambda np, args=args: np.linspace(*args), [None], 0) for args in [ (0, 1),
    (0, 1, 7), (2.5, -3.1, 11), (0, 1, 1), (0, 1, 0), (3, 3, 4), (0, 1, 5, False), (0, 10, 4, True, True),
    (1e-308, 2e-308, 9), (0, 5e-324, 5), (-1, 1, 1000), ]
]  # fmt: skip
CREATION += [
    Record(
        "zeros",
        lambda np: (np.zeros(3), np.zeros((2, 3), int), np.zeros((), bool), np.zeros(2, "f4", "F")),
        [None],
        0,
    ),
    Record(
        "ones",
        lambda np: (np.ones(3), np.ones((2, 3), "complex64"), np.ones(0, bool), np.ones([2, 2])),
        [None],
        0,
    ),
    Record(
        "full",
        lambda np: (np.full(3, 2), np.full((2, 2), 1.5), np.full(2, 1j), np.full(2, 7.9, int)),
        [None],
        0,
    ),
    Record("full of array", lambda np: np.full((2, 3), [1, 2, 3]), [None], 0),
    Record(
        "eye",
        lambda np: (np.eye(3), np.eye(2, 4, 1), np.eye(4, 2, -1, int), np.eye(2, k=5), np.identity(3)),
        [None],
        0,
    ),
    Record("tri", lambda np: (np.tri(3), np.tri(2, 4, 1), np.tri(3, k=-1, dtype=int)), [None], 0),
    Record(
        "array of list",
        lambda np: (np.array([1, 2]), np.array([[1.5], [2]]), np.array(3), np.array([True])),
        [None],
        0,
    ),
    Record(
        "array dtype",
        lambda np: (np.array([1, 2], "f4"), np.array([1, 2], complex), np.array((), int)),
        [None],
        0,
    ),
    Record("indices", lambda np: (np.indices((2, 3)), np.indices((2, 3), sparse=True)), [None], 0),
    Record(
        "grids",
        lambda np: (np.mgrid[0:2, 0:3], np.r_[1:4, 7], np.c_[[1, 2], [3, 4]], np.ogrid[0:2]),
        [None],
        0,
    ),
    Record("fromfunction", lambda np: np.fromfunction(lambda i, j: i * 2 + j, (3, 4)), [None], 0),
    Record(
        "other dtypes",
        lambda np: (np.zeros(2, "f2"), np.zeros(2, "U3"), np.zeros(2, ">f8"), np.zeros(2, "i4,f8")),
        [None],
        0,
    ),
    Record(
        "vander", lambda np: (np.vander([1, 2, 3]), np.logspace(0, 2, 5), np.geomspace(1, 8, 4)), [None], 0
    ),
]

TABLE = [*ELEMENTWISE, *REDUCTIONS, *MANIPULATION, *PRODUCTS, *WRITES, *CREATION]
