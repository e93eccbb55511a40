"""Attributes and methods of arrays, and the functions that make views and copies."""

from .driver import row, rows
from .operands import ALL, FEW, LAYOUTS, NATIVE

ATTRIBUTES = ["shape", "strides", "dtype", "ndim", "size", "itemsize", "nbytes", "T", "real", "imag", "mT",
    "base is None"]  # fmt: skip
TABLE = rows("\n".join(f"x.{name}\nA.{name}" for name in ATTRIBUTES))
TABLE += rows(
    "\n".join(f"A.flags[{name!r}]" for name in ("C_CONTIGUOUS", "F_CONTIGUOUS", "WRITEABLE", "ALIGNED"))
)

METHODS = {
    "reshape": [
        "-1", "6, 2", "(6, 2)", "(-1, 3)", "2, -1, 2", "5, 5", "-1, -1", "None", "[3, 4]", "np.int64(12)",
        "True, 12", "()", "12, 1, 1, 1, 1", "-12", "0, -1", "4, 3, order='C'", "4, 3, order='F'",
        "(4, 3), order='A'", "4, 3, copy=True", "4, 3, order='C', copy=False", "4, 3, order='c'",
        "4, 3, order='x'", "2.0, 6", "(5, -1)", "1, -1", "(-1, 1), order='F'",
    ],
    "ravel": ["", "'C'", "'F'", "'K'", "'x'", "order='F'", "order='C'", "order='K'"],
    "flatten": ["", "'F'"],
    "transpose": [
        "", "None", "0", "1, 0", "0, 1", "-1, 0", "1, 1", "0, 2", "(1, 0)", "0, 2, 1", "1.0, 0",
        "1, 0, 3, 2, 4",
    ],
    "squeeze": ["", "None", "5", "axis=0"],
    "view": ["", "'i4'", "np.uint8", "'i1'", "dtype=np.int8", "np.ndarray", "float", "complex", "'u2'"],
    "item": ["", "0", "-1", "3", "100", "1, 2", "(1, 2)", "np.int64(1)", "1.0", "None", "0, 0, 0", "*(1, 2)"],
    "tolist": ["", "1"],
    "tobytes": ["", "'F'"],
    "copy": ["", "'F'", "order='K'"],
    "astype": [
        "'f4'", "'float32'", "'?'", "'u4'", "'c8'", "'nonsense'", "'>f8'", "'O'", "'S3'", "int", "float",
        "bool",
        "complex", "'i2'", "'f2'", "np.dtype('f4')", "dtype='f4'", "'f4', copy=False", "float, copy=False",
        "'i4', casting='safe'", "foo=1", "'U8'", "'i1'", "'u8'", "'f8', order='F'",
    ],
    "fill": ["0", "1.5", "True", "-1", "300", "1e300", "1 + 2j", "np.float64(2.5)", "'a'"],
    "swapaxes": ["0, 1", "0, 5"],
    "byteswap": [""],
    "diagonal": ["", "1"],
    "repeat": ["2", "[1, 0, 2], 0", "2, 1"],
    "conj": [""],
    "__len__": [""],
    "__bool__": [""],
    "__int__": [""],
    "__float__": [""],
    "__array__": [""],
}  # fmt: skip
for _name, _arguments in METHODS.items():
    _dtypes = ALL if _name in ("reshape", "view", "astype", "tolist", "item", "copy") else NATIVE
    # comparing long lists is slow
    _most = {"most": 4097} if _name == "tolist" else {}
    for _given in _arguments:
        TABLE.append(row(f"A.{_name}({_given})", _dtypes, **_most))
        TABLE.append(row(f"x.{_name}({_given})", _dtypes, **_most))
TABLE += rows(
    """
    A.shape = (2, 6)
    A.shape = (4, 4)
    A.ndim = 3
    A.size = 3
    A.itemsize = 3
    A.T = 3
    del A.shape
    del A.ndim
    x.real = 7
    x.imag = 2
    list(x)
    list(A)
    [row for row in A]
    len(x)
    bool(x[:1])
    iter(x[0, ...])
    x[0].__class__ is type(x[0])
    x.flat[3]
    x.flat[2:5]
    A.flat[-1]
    x.flat[2] = 5
    A.flat[1:4] = [1, 2]
    np.copy(x)
    np.copy(A, order="F")
    np.ascontiguousarray(A)
    np.ascontiguousarray(A.T)
    np.asfortranarray(A)
    np.asanyarray(A, dtype="f4")
    np.asanyarray(A, order="F")
    np.asanyarray(A)
    np.asarray(A)
    np.asarray(A) is A
    np.asarray(A, A.dtype) is A
    np.asarray(A, dtype="f4")
    np.asarray(A, order="F")
    np.asarray(A, order="A")
    np.asarray(A, copy=True)
    np.asarray(A, dtype=None)
    np.asarray(A, copy=1)
    np.array(A)
    np.array(A, copy=False)
    np.array(A, copy=None)
    np.array(A, copy=None, order="C")
    np.array(A, ndmin=3)
    np.array(A, order="F")
    np.array(A, dtype="f4")
    np.array(A, subok=True)
    np.array(x[::2], subok=False, copy=True)
    np.flip(x)
    np.flip(A)
    np.flip(A, 0)
    np.flipud(A)
    np.fliplr(A)
    np.rot90(A)
    np.transpose(A)
    np.moveaxis(A, 0, -1)
    np.expand_dims(x, 0)
    np.expand_dims(A, (0, 2))
    np.squeeze(A[None])
    np.atleast_1d(x)
    np.atleast_2d(x)
    np.atleast_3d(x)
    np.atleast_1d(2.5, x)
    np.broadcast_to(x, (2, *x.shape))
    np.broadcast_arrays(x, A[:1, :1])
    np.reshape(A, -1)
    np.ravel(A)
    np.full_like(x, 3)
    np.full_like(A, 2.5)
    np.full_like(A.T, 7)
    np.full_like(x, 1, dtype="i4")
    np.full_like(x, 300)
    np.full_like(x, 1e300)
    np.full_like(x, 2**70)
    np.full_like(x, x)
    np.zeros_like(A)
    np.ones_like(A, order="F")
    np.zeros_like(A, dtype=int)
    np.empty_like(A).shape
    np.result_type(x, "f4")
    np.result_type(x, i)
    np.result_type(i, 2.5)
    np.can_cast(x.dtype, "f4")
    np.shape(A)
    np.ndim(x)
    np.size(A, 0)
    np.shares_memory(x, x[1:])
    np.diag(A)
    np.diag(x[:3], 1)
    np.diagonal(A)
    np.linalg.diagonal(A)
    np.lib.stride_tricks.sliding_window_view(x, 3)
    np.lib.stride_tricks.sliding_window_view(A, (2, 2))
    np.lib.stride_tricks.sliding_window_view(x, 99)
    isinstance(x, np.ndarray)
    isinstance(x, (int, np.ndarray))
    isinstance(x, list)
    np.ndarray.argsort(x, kind="stable")
    x.view(np.uint8)[1:9].view("u4")
    x[:3].view(complex)
    x.byteswap(inplace=True)
    """,
    [*NATIVE, "O", "U2", "M8[D]", ">i4"],
)
TABLE += rows("np.diag(x)", [*NATIVE, "O", "U2", "M8[D]", ">i4"], most=65)
TABLE += rows("list(A.flat)", [*NATIVE, "O", "U2", "M8[D]", ">i4"], most=4097)
TABLE += rows("np.outer(x, y)\nnp.diag(x, 2)\nnp.diagflat(x)\nnp.vander(x, 3)", FEW, most=65, norm=4)

# three axes and more
TABLE += rows(
    """
    C.reshape(-1)
    C.reshape(2, -1, 2)
    C.reshape(C.shape[::-1], order="F")
    C.ravel()
    C.ravel("F")
    C.ravel("K")
    C.transpose()
    C.transpose(0, 2, 1)
    C.transpose(2, 0, 1)
    C[:, None, :, None].transpose(1, 0, 3, 2, 4)
    C[:, None, :, None].squeeze()
    C.swapaxes(0, 2)
    C.copy()
    C.copy("K")
    C.T.copy("F")
    C.tolist()
    C.astype("f8").tobytes()
    C.astype("f4")
    C.fill(3)
    C.item(1, 0, 1)
    C.view("u1")
    C.nonzero()
    C.T.nonzero()
    C.trace()
    C.diagonal()
    C.sum(axis=(0, 2))
    C.max(axis=1)
    C.any(axis=(1, 2), keepdims=True)
    C.cumsum(0)
    C.argmin(1)
    np.sort(C, axis=1)
    np.tril(C)
    np.flip(C, (0, 2))
    np.rot90(C)
    np.roll(C, (1, 2), (0, 2))
    np.concatenate([C, C[:1]])
    np.stack([C, C], axis=1)
    np.moveaxis(C, 0, -1)
    np.where(C > 0, C, 1)
    C + C[:1]
    C * C[:, :1]
    C[..., :1] - C[:1]
    C.T + C.T[:1]
    C == C[0]
    C[0]
    C[0, 1]
    C[1, 0, 1]
    C[:, 1]
    C[..., 1]
    C[::-1, :, ::2]
    C[[0, 1]]
    C[[0, 1], [1, 0]]
    C[[0, 1], :, [1, 0]]
    C[:, [0, 1]]
    C[np.array([[0, 1], [1, 0]])]
    C[C > 0]
    C[M[:1, :1].repeat(C.shape[0], 0)[:, 0]]
    C[0] = 5
    C[[0, 1]] = 2.5
    C[..., 1] = C[..., 0]
    C[C > 0] = 1
    C[[0, 1], [1, 0]] += 1
    C.take([0, 3])
    C.take([0, 1], axis=1)
    C.repeat(2, 1)
    list(C)
    np.add.reduce(C, axis=(0, 1))
    np.add.accumulate(C, 2)
    np.maximum.reduceat(C, [0, 1], axis=1)
    """,
    [*NATIVE, "O", "U2", ">i4"],
    layouts=[layout for layout in LAYOUTS if layout not in ("windows", "broadcast")],
    norm=4,
)
