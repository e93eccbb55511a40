"""Functions that arrange, repeat, pad, transform and solve."""

from .driver import rows
from .operands import ALL, COMPLEX, FEW, FLOATS, LAYOUTS, NATIVE

TABLE = rows(
    """
    np.roll(x, 2)
    np.roll(x, -5)
    np.roll(A, 2, 0)
    np.roll(A, (1, 2), (0, 1))
    np.roll(A, (0, 0), (0, 1))
    np.roll(A, (-1, 7), (1, 0))
    np.roll(A, (1, 2), (0, 0))
    np.roll(A, (3, -4), (-1, -2))
    np.roll(A, (1,), (0,))
    np.roll(A, 2, (0, 1))
    np.roll(A, (1, 2), 0)
    np.roll(A, (1, 2), (0, 5))
    np.roll(A, (1, 2, 3), (0, 1))
    np.roll(A, 1 << 70, 0)
    np.roll(A, (1 << 62, 1 << 62), (0, 0))
    np.roll(A, np.int64(1), 0)
    np.roll(A, (1, np.int64(1)), (0, 1))
    np.roll(A, 3, None)
    np.roll(A, (), ())
    np.roll(np.stack([A, A], 2), (1, 2), (0, 1))
    np.repeat(x, 2)
    np.repeat(x, abs(i) % 4)
    np.repeat(A, [1] * len(A), axis=0)
    np.repeat(A, [1, 0, 2], 0)
    np.repeat(x, abs(i) % 3 - 1)
    np.repeat(x, abs(i) * 1.0)
    np.repeat(x, i[:3])
    np.tile(x, 2)
    np.tile(A, (2, 1))
    np.pad(A, 1)
    np.pad(A, 1, mode="edge")
    np.pad(A, 1, mode="wrap")
    np.pad(A, ((1, 0), (0, 2)), constant_values=3)
    np.pad(x, (1, 2), constant_values=7)
    np.pad(x, 2, mode="reflect")
    np.pad(x, -1)
    np.pad(x, 1, mode="no")
    np.split(x, 4)
    np.split(x, 5)
    np.split(x, [2, 5])
    np.split(x, i[:0])
    np.array_split(x, 5)
    np.array_split(A, [1], axis=1)
    np.array_split(x, 0)
    np.insert(x, 1, 2)
    np.delete(x, [0, 1])
    np.delete(x, 1)
    np.triu(A)
    np.tril(A)
    np.tril(A, 1)
    np.triu(A, -2)
    np.triu(A, 9)
    np.triu(A, -9)
    np.tril(A, 2**62)
    np.tril(A, 1.5)
    np.triu(A, True)
    np.triu(A, np.int64(1))
    np.tril(np.stack([A, B]))
    np.triu(z)
    np.triu()
    np.meshgrid(x[:4], y[:3])
    np.meshgrid(x[:4], A[:2, :2], indexing="ij")
    np.trim_zeros(x)
    np.resize(x, (2, 3))
    np.ediff1d(x)
    """,
    [*NATIVE, "O", "U2", "M8[D]", ">i4"],
)
# an `i` of one element states how often everything is repeated
TABLE += rows("np.repeat(A, abs(i[:1]), 1)", most=1025)
TABLE += rows(
    """
    np.apply_along_axis(np.sum, 0, A)
    np.apply_along_axis(np.cumsum, 1, A)
    np.apply_along_axis(lambda r: r * 2, 1, A)
    np.apply_over_axes(np.sum, A, [0])
    np.vectorize(lambda v: v * 2)(x[:5])
    np.vectorize(lambda r: r.sum(), signature="(n)->()")(A)
    np.polyval([1, 2], x)
    np.piecewise(x, [x < 0, x >= 0], [-1, 1])
    np.frompyfunc(lambda v: v, 1, 1)(x[:5])
    np.cross(x[:3], y[:3])
    np.fft.fftshift(x)
    np.kron(x, 2.5)
    """,
    FEW,
    layouts=("dense", "strided", "reversed", "waiting", "0-d", "empty"),
    norm=4,
    most=1025,
)
TABLE += rows(
    "np.kron(A, B)\nnp.kron(x, y)\nnp.multiply.outer(A, x)\nnp.subtract.outer(m, m)", FEW, most=65, norm=4
)
TABLE += rows("np.triu(x)", FEW, most=65)

# functions that use BLAS: the bits depend on how its routines are called, and numelt calls the same ones
PRODUCTS = rows(
    """
    x @ y
    np.dot(x, y)
    x.dot(y)
    np.inner(x, y)
    np.vdot(x, y)
    A @ B.T
    np.dot(A, B.T)
    np.matmul(B.T, A)
    A @ A[0]
    A.T @ A[:, 0]
    np.dot(A, 2)
    np.dot(2.5, x)
    A @ B
    np.tensordot(A, B.T, axes=1)
    np.tensordot(A, B)
    np.einsum("ij,ij->i", A, B)
    np.einsum("ij->ji", A)
    np.einsum("i,i", x, y)
    np.einsum("ij,ij->", A, B)
    np.matvec(A, A[0])
    np.vecdot(A, B)
    np.matmul(A[None], B.T[None])
    np.dot([1, 2], [3, 4])
    np.dot(x, y, np.array(0.0))
    """,
    NATIVE,
    domain="small",
    norm=8,
    most=1025,
)
TABLE += PRODUCTS
LAPACK = rows(
    """
    np.linalg.norm(x)
    np.linalg.norm(x[::2])
    np.linalg.norm(A)
    np.linalg.norm(A, axis=1)
    np.linalg.norm(A, 1)
    np.linalg.norm(x, np.inf)
    np.linalg.inv(A[:2, :2])
    np.linalg.inv(A[:3, :3] + 9 * np.eye(3))
    np.linalg.inv(A)
    np.linalg.solve(A[:2, :2], B[:2, :2])
    np.linalg.solve(A[:2, :2], B[:2, 1])
    np.linalg.solve(A[:2, :2].T, B[:2, ::-1])
    np.linalg.det(A[:3, :3])
    np.linalg.slogdet(A[:3, :3])
    np.linalg.svd(A, compute_uv=False)
    np.linalg.eigvalsh(A[:2, :2])
    np.linalg.eigh(A[:2, :2])
    np.linalg.eig(A[:2, :2] + A[:2, :2].T)
    np.linalg.qr(A[:3, :3])
    np.linalg.matrix_power(A[:2, :2], 2)
    np.linalg.diagonal(A)
    np.linalg.trace(A)
    """,
    ["i8", *FLOATS, *COMPLEX],
    domain="small",
    norm=8,
    most=1025,
)
TABLE += LAPACK
TRANSFORMED = [
    "x", "A", "A, axis=0", "A, 4, 0", "x, None", "x, 1", "x, 4", "x, 5", "x, 64", "x, 0", "x, -3", "x, True",
    "x, 2.5", "x, np.int64(6)", "x, None, -1, 'ortho'", "z", "A[None]", "A.T",
]  # fmt: skip
for _name in ("fft", "ifft", "rfft", "irfft"):
    # without elements, NumPy's `irfft` transforms uninitialized memory
    TABLE += rows(
        "\n".join(f"np.fft.{_name}({given})" for given in TRANSFORMED),
        ["?", "i1", "i8", "u8", "f2", "f4", "f8", "c8", "c16"],
        layouts=[layout for layout in LAYOUTS if layout != "empty" or _name != "irfft"],
        domain="small",
        most=4097,
    )
# NumPy carries out calls on dates, text and objects item by item
TABLE += rows(
    """
    np.add.reduce(x)
    np.maximum.reduceat(x, [0, 1])
    np.char.upper(x)
    np.busday_count("2024-01", x)
    x.max()
    x - x
    x == x[0]
    x < x[0]
    np.array([item for item in x], object)
    x.astype("M8[M]")
    x.astype("i8")
    x.astype("f8", casting="safe")
    x.astype("U4")
    np.cumsum(x)
    np.dot(x, x)
    np.where(m, x, x[0])
    np.sort(x)[0]
    np.split(x, 2)
    np.linspace(x[0], 4, 3)
    np.unique(x, return_counts=True)
    x + "x"
    x - np.timedelta64(1, "D")
    x > np.datetime64("1970-01-12")
    """,
    ALL[14:],
)
