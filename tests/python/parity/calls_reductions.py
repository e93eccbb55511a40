"""Calls that reduce, scan, sort and search, with all of their arguments."""

from .driver import row, rows
from .operands import ALL, FEW, NATIVE

TABLE = []
for _name in ("sum", "prod", "min", "max", "any", "all", "mean", "argmin", "argmax"):
    _exact = {"domain": "small" if _name == "prod" else "any", "norm": 4 if _name in ("prod", "mean") else 0}
    TABLE += rows(f"x.{_name}()\nnp.{_name}(x)\nnp.{_name}(A)", ALL, **_exact)
    TABLE += rows(
        f"""
        A.{_name}(0)
        A.{_name}(axis=1)
        A.{_name}(-1)
        A.{_name}(1, keepdims=True)
        A.{_name}(axis=7)
        A.T.{_name}(0)
        A[..., ::-1].{_name}(0)
        np.{_name}(A, axis=0, keepdims=True)
        np.{_name}(A[..., None], axis=1)
        np.{_name}(x, keepdims=True)
        np.{_name}(x[:0])
        np.{_name}(x[1:])
        np.{_name}(x.T)
        np.{_name}(x.real)
        np.{_name}(x.imag)
        np.{_name}([x, y])
        np.{_name}([x, y], axis=0)
        np.{_name}([x, y, x[::-1]], axis=0, keepdims=True)
        np.{_name}([x, y], axis=1)
        np.{_name}([x, y], axis=-1)
        np.{_name}([x, y.astype("f4")], axis=0)
        np.{_name}([x, y[:-1]], axis=0)
        np.{_name}([x], axis=0)
        """,
        FEW,
        **_exact,
    )
for _name in ("sum", "prod", "min", "max", "any", "all", "mean"):
    _exact = {"domain": "small" if _name == "prod" else "any", "norm": 4 if _name in ("prod", "mean") else 0}
    TABLE += rows(
        f"""
        A.{_name}(axis=(0, 1))
        A.{_name}(axis=(1, 0), keepdims=True)
        A.{_name}(axis=())
        A.{_name}(axis=(0, 0))
        A[:, None].{_name}(axis=(0, 2))
        np.{_name}(x, where=m)
        np.{_name}(A, axis=0, where=M)
        np.{_name}(A, axis=0, out=np.zeros(A.shape[1:]))
        np.{_name}(x, out=np.zeros(()))
        """,
        FEW,
        **_exact,
    )
for _name in ("sum", "prod", "min", "max"):
    TABLE += rows(
        f"np.{_name}(x, initial=3)\nx.{_name}(initial=3.5)\nnp.{_name}(x, initial=-3, where=m)\n"
        f"np.{_name}(A, axis=4, initial=1)",
        FEW,
        domain="small",
        norm=4,
    )
for _name in ("sum", "prod", "mean"):
    TABLE += rows(f"x.{_name}(dtype='f4')\nA.{_name}(0, dtype='c16')", FEW, domain="small", norm=4)
for _name in ("var", "std"):
    TABLE += rows(
        f"""
        x.{_name}()
        A.{_name}(0)
        A.{_name}(axis=1, ddof=1)
        np.{_name}(A, keepdims=True)
        np.{_name}(x, where=m)
        np.{_name}(x[::2])
        """,
        FEW,
        norm=8,
    )
for _name in ("cumsum", "cumprod"):
    _exact = {"domain": "small", "norm": 4}
    TABLE += rows(f"x.{_name}()\nnp.{_name}(x)\nnp.{_name}(x[::-1])", ALL, **_exact)
    TABLE += rows(
        f"A.{_name}()\nA.{_name}(0)\nnp.{_name}(A, axis=-1)\nA.{_name}(0, dtype='f4')", FEW, **_exact
    )
for _name in ("maximum", "minimum"):
    TABLE += rows(f"np.{_name}.accumulate(x)\nnp.{_name}.accumulate(A, -1)", NATIVE, domain="positive")

TABLE += rows(
    """
    np.argmax(x, out=np.array(0))
    np.ptp(x)
    np.ptp(A, axis=0)
    np.count_nonzero(x)
    np.count_nonzero(m)
    np.count_nonzero(A, axis=0)
    np.nonzero(x)
    x.nonzero()
    np.nonzero(A)
    A.T.nonzero()
    np.nonzero(m)
    np.nonzero(A > 0)
    np.nonzero(M)
    np.where(m)
    np.where(A)
    np.flatnonzero(x)
    np.flatnonzero(A)
    np.flatnonzero(m)
    np.flatnonzero(x[::-1])
    np.flatnonzero(m[::-1] & True)
    np.argwhere(A)
    np.sort(x)
    np.sort(A)
    np.sort(A.T)
    np.sort(A, axis=0)
    np.sort(x[::-1])
    np.sort(x, axis=7)
    x.sort()
    A.sort(0)
    np.argsort(x, kind="stable")
    x.argsort(kind="stable")
    A.argsort(kind="stable")
    np.unique(x)
    np.unique(i, return_counts=True)
    np.unique(i, return_index=True, return_inverse=True)
    np.searchsorted(np.sort(x), y)
    np.sort(x).searchsorted(x[:1])
    x.searchsorted(3)
    np.digitize(i, [0, 1, 5])
    np.lexsort([x, i])
    np.lexsort([[1, 2], [2, 1]])
    np.bincount(abs(i))
    np.bincount(abs(i), minlength=3)
    np.bincount(abs(i), w)
    np.diff(x)
    np.diff(x[:1])
    np.diff(x[::-2])
    np.diff(A)
    np.diff(A, axis=0)
    np.diff(x, n=2)
    np.diff(x, prepend=1)
    np.trace(A)
    A.trace()
    A.T.trace()
    A[::-1].trace(1)
    np.nansum(x)
    np.nanmax(A, axis=0)
    np.add.reduce(m)
    np.logical_and.reduce([m, m])
    np.isin(i, [1, 2, 3])
    """,
    FEW,
    domain="any",
)
TABLE += rows(
    """
    np.median(x)
    np.median(A, axis=0)
    np.median(A[:1], axis=0, out=np.empty(A.shape[1:]))
    np.percentile(x, 30)
    np.histogram(x, 3)
    np.average(x)
    np.average(x, weights=abs(x))
    np.cov(A)
    np.gradient(x)
    np.gradient(x[::-1])
    np.gradient(x, axis=3)
    np.interp(0.5, x, x)
    np.unwrap(x)
    np.nanmean(x)
    """,
    ["i8", "f4", "f8"],
    domain="positive",
    ulp=4,
)

# lists of Python's and NumPy's numbers instead of arrays
LISTS = [
    "[1, 2, 3]", "(1.5, 2)", "[True, False]", "[]", "[2**70, 1]", "[np.nan, 1.0]", "[1, 2.5, True]",
    "[-0.0, 0.0]",
    "[np.float64(1), 2.5, 3, np.int64(4), True]", "[np.int8(3), np.int8(100)]", "[[1, 2], [3, 4]]",
    "[1j, 2]", "[2**63, 1]", "['a', 'b']", "[None]", "list(range(70))", "[0.1] * 3000",
]  # fmt: skip
for _name in (
    "argmin",
    "argmax",
    "min",
    "max",
    "sum",
    "prod",
    "mean",
    "any",
    "all",
    "sort",
    "cumsum",
    "unique",
):
    for _numbers in LISTS:
        TABLE.append(row(f"np.{_name}({_numbers})"))
        if _name != "unique":
            TABLE.append(row(f"np.{_name}({_numbers}, axis=-1)"))
        if _name not in ("unique", "sort", "cumsum"):
            TABLE.append(row(f"np.{_name}({_numbers}, keepdims=True)"))
TABLE += rows(
    "np.maximum.reduce([])\nnp.sort([np.float64(1), 1.0])\nnp.unique([np.array(2), 1, np.int64(4)])"
)
