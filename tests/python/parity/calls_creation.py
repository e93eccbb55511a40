"""Calls that make arrays of shapes, ranges, numbers, sequences and lists of arrays, and that join arrays."""

import itertools

from .driver import row, rows
from .operands import ALL, FEW

DTYPES = [
    "'?'", "'i1'", "'u2'", "'i8'", "'f2'", "'f4'", "'d'", "'F'", "'D'", "'l'", "'float'", "'complex'",
    "'longdouble'",
    "'g'", "'<f8'", "'>f8'", "'=i4'", "'U3'", "'S2'", "'O'", "'M8[s]'", "''", "'i3'", "'float8'", "bool",
    "int",
    "float", "complex", "str", "object", "np.float32", "np.bool_", "np.intc", "np.longlong", "np.dtype('f4')",
    "np.dtype('>i4')", "np.longdouble", "np.floating", "None", "[('a', int)]",
]  # fmt: skip
TABLE = [
    row(call.format(dtype))
    for dtype in DTYPES
    for call in (
        "np.zeros(3, {})", "np.ones((2, 2), dtype={})", "np.zeros((2, 0), dtype={})",
        "np.array([1.0, 2.0], dtype={})", "np.asarray([1, 2], {})", "np.asarray(np.arange(3), {})",
        "np.array(np.arange(3.0), dtype={})", "np.arange(3).astype({})", "np.full(3, 1, dtype={})",
        "np.arange(5, dtype={})", "np.arange(0.5, 4, 1, {})",
    )
]  # fmt: skip
TABLE += [
    row(f"np.arange({start}, 4, {step}, {dtype})")
    for start in ("0", "0.5", "5")
    for step in ("1", "2", "0.5", "None", "-1")
    for dtype in ("'i4'", "'f8'", "'F'", "'?'", "'u1'", "'O'", "'M8[D]'", "float", "int", "None")
]
# the last ones do not fit every dtype, or have steps that float16 rounds
TABLE += [
    row(f"np.arange({ends}, dtype={dtype!r})")
    for dtype in "bBhHiIlLefd"
    for ends in (
        "120, 128", "120, 129", "250, 256", "3, 0, -1", "0, -5, -2", "2, 1", "127, 500, 1",
        "4194300, 4194310", "0, 100000, 50", "127, 40000, 3729", "-131, 60000, 7547",
    )
]  # fmt: skip
TABLE += rows(
    """
    np.zeros(shape=3)
    np.zeros((2, 2), dtype="f4")
    np.zeros(3, dtype=None)
    np.zeros(3, order="F")
    np.zeros((2, 3), int, "F")
    np.zeros(3, nothing=1)
    np.zeros(-1)
    np.zeros((2, -1))
    np.zeros("a")
    np.zeros(2.0)
    np.zeros([2, 3])
    np.ones(3, like=w)
    np.empty((), "?").shape
    np.ones((), "?")
    np.full(2, 2.5)
    np.full((2, 3), [1, 2, 3])
    np.full(2, 7.9, int)
    np.eye(3)
    np.eye(2, 4, 1)
    np.identity(3)
    np.tri(3)
    np.linspace(0, 1, 5)
    np.linspace(0, 1, 3000)
    np.linspace(0, 1, -1)
    np.linspace(w[0], w[1], 4, endpoint=False)
    np.linspace(0, 10, 4, True, True)
    np.linspace(w, 1, 3)
    np.arange(3, 0, -1)
    np.arange(np.float64(0.5), 3, 0.25)
    np.arange(np.float64(3))
    np.arange(np.int64(3))
    np.arange(np.int64(1), 9, np.int64(2))
    np.arange(np.int64(1), np.float64(3))
    np.arange(np.float64("nan"))
    np.arange(np.float64(-0.0), 2)
    np.arange(np.int64(-1))
    np.arange(9, step=0)
    np.mgrid[0:3, 0:4]
    np.ogrid[-1:1:5j]
    np.indices((2, 3))
    np.frombuffer(b'12345678', 'u1')
    np.fromiter([1, 2, 3], float)
    np.fromiter((1, 2.5), int)
    np.fromiter(range(4), "f4", 2)
    np.fromiter(map(float, range(3)), float, count=2, like=None)
    np.fromiter({1: 2}.values(), dtype=int)
    np.fromiter(zip([1], [2.0]), [("a", int), ("b", float)])
    np.fromiter([np.array(1.0), 2], float)
    np.fromiter([np.float32(1), np.int64(2)], complex)
    np.fromiter(w, float)
    np.fromiter((k * k for k in range(3)), "i2")
    np.fromiter((np.array(k) for k in range(3)), float)
    np.fromiter([1e40, 1], "f4")
    np.fromiter((k for k in [1e40]), "f4")
    np.fromiter([300], "u1")
    np.fromiter(range(3), float, 5)
    np.fromiter(iter([]), int)
    np.fromiter(5, int)
    np.fromiter("ab", "U1")
    np.fromiter([1, None], object)
    np.array(object=[1.0, 2.0])
    np.array([1.0, 2.0], "f4", copy=True)
    np.array([1.0, 2.0], order="F")
    np.asarray(a=[1, 2])
    np.array(5.0)
    np.array(5)
    np.array(-0.0)
    np.array(1 << 60)
    np.array(1 << 70)
    np.array(5.5, dtype=int)
    np.array(5, dtype="f4")
    np.array(np.float64(5))
    np.array(np.int64(5), dtype="i1")
    np.array(np.float64(1e300), dtype="f4")
    np.array(True)
    np.array([np.int64(3), 2.5])
    np.array([1, np.float64(2)], dtype="f4")
    np.array([np.float64(1), 2.5, 3, np.int64(4), True] * 9, object)
    np.array([[w], [w]])
    np.atleast_1d(np.float64(2))
    np.atleast_1d(2)
    np.atleast_2d(2.5)
    np.issubdtype(np.float32, np.floating)
    np.issubdtype(int, np.floating)
    np.issubdtype("U3", np.flexible)
    np.result_type(3, 2.5)
    """,
    ["f8"],
)
SEQUENCES = [
    "[0.5, -0.0, np.nan]", "[1, -2, 3]", "[1, 2, 2.5, 3]", "[7]", "[2.5, 1]", "[2**53, 0.5]",
    "[2**53 + 1, 0.5]",
    "[2**53 + 1, 1]", "[[1, 2], [3, 4]]", "[[1, 2], [3, 4.5]]", "([1.5, 2], (3, 4))", "[]", "[[], []]",
    "[[1, 2], [3]]", "[1, [2]]", "[[2], 1]", "[True, False]", "[True, 2]", "[True, 1.0]",
    "[np.float64(2), 1]",
    "[np.int64(2), 1]", "[np.float32(2), 1]", "[1, 2j]", "[1.0] * 20 + ['a']", "[0.5] * 5000",
    "list(range(5000))",
    "[[1, 2.5]] * 3000", "[10**30, 1]", "[1.0, None]", "[300, 1]", "[1e300, 1]", "(1.0, -0.0)",
    "[np.nan, np.inf, -np.inf]", "[[1.0], [2.0]]", "[[1.0, 2.0], [3.0]]", "[1.0, 'a']", "[2**60, 1]",
    "[2**63, 1.0]", "[2**70]", "[1e300, 1e-300]", "3.5", "7", "'abc'", "[1.0, [2.0]]", "range(3)", "{1.0}",
    "[1 << 60, 1]",
]  # fmt: skip
TABLE += [
    row(f"np.{name}({sequence}, {dtype})")
    for name in ("array", "asarray")
    for sequence in SEQUENCES
    for dtype in ("None", "float", "int", "'f4'", "'f2'", "'u1'", "'?'", "'c8'", "'i1'", "'c16'")
]
TABLE += [row(f"np.array(tuple({sequence}))") for sequence in SEQUENCES if sequence.startswith("[")]
# sources that are converted, and the arguments of the conversion
SOURCES = {
    "matrix": "np.arange(12.0).reshape(3, 4)", "turned": "np.arange(12.0).reshape(3, 4).T", "number": "3",
    "strided": "np.arange(12.0).reshape(3, 4)[::2, ::-1]", "rows": "[[1, 2]]", "row": "[1.5, 2]",
    "0-d": "np.array(2.5)", "empty": "np.zeros((0, 4))",
}  # fmt: skip
CONVERSIONS = {
    "asanyarray": ["", "dtype='f4'", "order='F'", "copy=True", "dtype='f8', copy=False"],
    "ascontiguousarray": ["", "dtype='f4'", "dtype='f8'"],
    "asfortranarray": ["", "dtype='f4'", "dtype='f8'"],
    "copy": ["", "order='F'", "order='C'", "order='A'", "subok=True"],
    "array": ["", "ndmin=3", "order='F'", "copy=None, order='C'", "copy=False", "dtype='f4'"],
    "asarray": ["", "order='A'", "copy=True", "dtype='i4'", "order='x'", "copy=1"],
}
TABLE += [
    row(f"a = {source}; b = np.{name}(a, {given}); (b, b is a, np.shares_memory(b, a))")
    for source in SOURCES.values()
    for name, options in CONVERSIONS.items()
    for given in options
]
# arrays of lists of arrays
for _rows in ("[x]", "[x, y]", "(x, y)", "[x, y] * 4", "[x, y] * 4 + [x]", "[A, B]", "[A, B, A[::-1]]",
    "[A.T, B.T]",
              "[x[::-1], y[::2]]", "[x, y[:-1]]", "[x, y.astype('i2')]", "[x, 1.0]", "[x, [1.0] * len(x)]",
              "[x, A]", "[x, None]", "list(A)", "list(A[::-1])", "[x[0], x[1]]", "[z, z]",
              "[x[1], 2]"):  # fmt: skip
    TABLE += rows(f"np.array({_rows})\nnp.asarray({_rows})", ALL)
    TABLE += rows(
        f"np.array({_rows}, dtype='c16')\nnp.array({_rows}, order='F')\nnp.array({_rows}, ndmin=3)\n"
        f"np.array({_rows}, dtype=x.dtype)".replace("x.dtype",
            "A.dtype" if "x" not in _rows and "A" in _rows else "x.dtype"),
        FEW,
    )  # fmt: skip
# joining
PIECES = [
    "[1, 2]", "[1.5]", "(3,)", "[True]", "np.array([1, 2], 'i1')", "np.array([1, 2**63], 'u8')",
    "np.arange(5)",
    "np.ones(2, 'f2')", "np.arange(4.0)[::-1]", "np.ones(2, 'c8')", "np.array([True, False])", "4", "0.1",
    "np.float32(0.5)", "np.arange(3.0).sum()", "1j", "np.arange(6).reshape(2, 3).T", "np.zeros(0)",
    "[2**60]", "[]",
    "['a']", "np.array(7)",
]  # fmt: skip
TABLE += [
    row(call.format(one, other))
    for one, other in itertools.product(PIECES, repeat=2)
    for call in (
        "np.append({0}, {1})", "np.append({0}, {1}, axis=0)", "np.concatenate(({0}, {1}))",
        "np.concatenate([{0}, {1}, np.arange(5)])", "np.stack(({0}, {1}))", "np.stack(({0}, {1}), axis=-1)",
        "np.r_[{0}, {1}]", "np.r_[{0}, {1}, {0}]",
    )
]  # fmt: skip
NUMBERS = ["True", "1", "-1", "300", "2**40", "2**70", "0.5", "-0.0", "1e300", "np.nan", "1j", "None", "'r'"]
TABLE += [
    one
    for number in NUMBERS
    for one in rows(
        f"np.r_[{number}, x]\nnp.r_[x[::-2], {number}, {number}]\nnp.r_[x[:1], 0:3, {number}]", FEW
    )
]
TABLE += rows(
    """
    np.concatenate([x, y])
    np.concatenate([x, y[::-1]])
    np.concatenate([A, B])
    np.concatenate([A.T, B.T])
    np.concatenate([A, B], axis=1)
    np.concatenate([A, B], axis=None)
    np.concatenate([A, x], axis=None)
    np.concatenate([A, 2], axis=None)
    np.concatenate([A[:0], x], axis=None)
    np.concatenate([A, [1.5]], axis=None)
    np.concatenate([x, i])
    np.concatenate([x, y[:0], x])
    np.concatenate(([0.0], x))
    np.concatenate(([1.0], x, [2.0]))
    np.concatenate(([True], x))
    np.concatenate((x, []))
    np.concatenate(([[1.0]], x[None, :1]))
    np.concatenate([x, A])
    np.concatenate([])
    np.concatenate([x, y], axis=3)
    np.concatenate([x] * 9)
    np.hstack([x, y])
    np.hstack([A, B])
    np.hstack(([1.0], x))
    np.hstack([A, A[0]])
    np.vstack([x, y])
    np.vstack([A, A[0]])
    np.vstack([A, x])
    np.vstack([x[0], x[1]])
    np.vstack([A, A[0], np.stack([A, A])])
    np.vstack((m, np.stack([x, x])))
    np.dstack([x, y])
    np.column_stack([x, y])
    np.stack([x, y])
    np.stack([A, B], axis=2)
    np.stack([A[0], [1] * A.shape[1]])
    np.stack(([1.0, 2.0], x[:2]))
    np.block([[A], [B]])
    np.r_[0, x, 1.0]
    np.r_[True, m]
    np.c_[x, y]
    np.c_[x[::-1], x, x]
    np.c_[np.arange(3), np.ones(3, "f4"), np.ones((3, 2), order="F")]
    np.c_[np.ones((2, 1, 2)), np.zeros((2, 1, 3), int)]
    np.c_[np.arange(3), 1]
    np.c_[np.arange(3), [1, 2, 3]]
    np.c_[np.arange(3), np.arange(4)]
    np.c_[np.arange(3), np.ones((3, 1, 1))]
    np.c_[np.array(1), np.array([2])]
    np.c_[np.zeros(0), np.zeros(0, int)]
    np.c_[np.ma.array([1, 2], mask=[0, 1]), np.arange(2)]
    np.append(x, 1)
    np.append(A, x)
    np.append(A, B, axis=0)
    np.append(x, [[1]], axis=0)
    """,
    ALL,
)
