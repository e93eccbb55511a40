"""Reading and writing elements: positions, slices, lists, arrays of positions, masks, and pairs of them."""

import itertools

from .driver import row, rows
from .operands import ALL, FEW, NATIVE

# the keys with which a vector is read and written
KEYS = [
    "0", "-1", "99", "1:3", "::-1", "5:1:-2", "10:99", "...", "None", "()", "1.0", "'a'", "True", "[]",
    "[0, 2]",
    "[-1, 0, -2]", "[1, 2, 1]", "[0, 99]", "[np.int64(1), 2, np.int64(-1)]", "[np.int8(1), 2]", "[1.0, 2.0]",
    "[True, False, True]", "[True] * len(x)", "[np.arange(3).sum(), 0]", "[0, 1] * 40", "range(2, 4)", "i",
    "i[::-2]", "i[:0]", "i[:4].reshape(2, 2)", "i.astype('i4')", "abs(i).astype('u8')", "i.astype('i1')",
    "i.astype('u2')", "np.array([1, -2, 3, 3])", "np.array([1, 99])", "np.array([-99, 0])", "np.array(2)",
    "np.array([[0, 1, -1], [2, 2, 3]]).T", "np.array([2**63], 'u8')", "m", "m[::-1]", "~m", "m & False",
    "m | True", "m[:2]", "np.zeros(len(x), bool)", "x > 0", "np.int64(1)", "np.uint8(3)", "np.int64(-99)",
    "np.uint64(2**40)", "1 << 40", "-(1 << 62)", "np.bool_(True)", "np.float64(1)", "(..., 0)", "(0, ...)",
    "(i, None)", "np.arange(8)[::3]",
]  # fmt: skip
# the keys for a matrix
PAIRS = [
    "0", "-1", "9", "0, 1", "-1, -1", "0, 9", "1:, 0", ":, 1", "..., 0", "0, ...", "None, ..., 1",
    "::-1, ::2",
    "[0, 1]", "[0, 1], [1, 0]", "[0, 1], 0", ":, [0, 1]", "[0, 9], [0, 0]", "[0, 0], [0, -9]", "..., None",
    "np.array([0, 1]), :", "np.array([0, 1, -1]), np.array([1, 1, 0])", "np.array([0, 1]), np.array([1])",
    "np.array([0, 1])[::-1], np.array([1, 9, 0])[::2]", "np.array([[0, 1]]), np.array([[1], [0]])",
    "np.array([], int), np.array([], int)", "i % 2", "M", "M[:, ::-1]", "M.T", "M[:1]", "M, None", "M[:, 0]",
    "M[:, 0], 0", ":, M[0]", "M[0]", "M & False", "M | True", "A > 0", "None, M[:, 0]", "slice(0), [0]",
    "np.int64(1), np.int64(0)", "(0, np.int64(-1))", "[True, False], 1", "[[0, 1], [1, 0]]", "0, 0, 0",
    "..., ...",
    "0, True", "False", "np.array([1, 0], 'u8'), 1:", "[np.int64(1), 0], [0, 1]",
]  # fmt: skip
# the values that are assigned
NUMBERS = [
    "7", "-1", "2.5", "True", "300", "1 << 62", "1 << 63", "1 << 70", "-0.0", "np.nan", "np.inf", "1e300",
    "2 + 3j", "np.int64(-7)", "np.int64(2**63 - 1)", "np.float64(1.5)", "np.float64('nan')",
    "np.float32(2.5)",
    "np.bool_(True)", "np.uint64(2**64 - 1)", "np.complex128(1j)", "None", "'x'", "[1.0]", "(2,)", "s", "z",
]  # fmt: skip
PARTS = ["y[:1]", "y", "y[::-1]", "w", "i", "[1, 2, 3]", "y[:2]", "x[::-1]", "x", "np.arange(3.0)"]
WRITABLE = ("dense", "Fortran", "strided", "reversed", "negative steps", "read-only", "derived", "lent",
    "waiting",
            "0-d", "empty")  # fmt: skip


def store(code, dtypes, **rest):
    """Return the row of a call that writes; if elements share memory, NumPy's result is accidental."""
    return row(code, dtypes, WRITABLE, **rest)


def rows_of_elements(key):
    """Limit the calls that select a row of a matrix for each of its elements."""
    return {"most": 4097} if key == "i % 2" else {}


TABLE = [row(f"x[{key}]", NATIVE) for key in KEYS]
TABLE += [row(f"A[{key}]", NATIVE, **rows_of_elements(key)) for key in PAIRS]
TABLE += [row(f"A.T[{key}]", FEW, **rows_of_elements(key)) for key in PAIRS]
TABLE += [store(f"x[{key}] = {value}", FEW) for key in KEYS for value in ("7", "y[:1]", "x[::-1]")]
TABLE += [store(f"x[{key}] = x[{key}] + 1", FEW) for key in KEYS]
TABLE += [
    store(f"A[{key}] = {value}", FEW, **rows_of_elements(key)) for key in PAIRS for value in ("2.5", "B[0]")
]
TABLE += [store(f"A[{key}] += 1", FEW, **rows_of_elements(key)) for key in PAIRS]
TABLE += [store(f"A[{key}] = A[{key}] * 2", FEW, norm=4, **rows_of_elements(key)) for key in PAIRS]
TABLE += [
    store(f"{place} = {value}", NATIVE) for place in ("x[1]", "A[1, -1]", "x[1:3]") for value in NUMBERS
]
TABLE += [store(f"A[np.int64(1), np.int64(0)] = {value}", FEW) for value in NUMBERS]
TABLE += [
    store(f"x[{key}] = {value}", FEW)
    for key in (
        "i",
        "m",
        "[0, 2]",
        "2:7",
        "::-3",
        "...",
        "i.astype('i4')",
        "np.array([0, 1, 2])",
        "[-1, 1, 1]",
        "5:5",
    )
    for value in (*PARTS, *NUMBERS[:6])
]
TABLE += [
    store(f"A[{key}] = {value}", FEW)
    for key in ("[0, 2]", "[-1, 1]", "M", "i[:2] % 2", ":, 1", "1:", "...")
    for value in (
        "B[:2]",
        "B[1::-1]",
        "A[[1, 0]]",
        "A[[1, 0]] * B[:2]",
        "A[1:2]",
        "B",
        "B.T",
        "1",
        "B[M]",
        "B[0]",
    )
]
TABLE += rows(
    """
    x[2:9] = y[3:10]
    x[::-3] = y[::-3]
    x[5:5] = y[7:7]
    x[1::2] = y[::-2]
    x[1:] = x[:-1]
    x[:-1] = x[1:]
    x[:] = x[::-1]
    A[:, 1] = B[:, 0]
    A[::-1] = A
    A[1:] = A[:-1]
    later = x + x; x[:3] = y[:3]; later
    later = x + x; x[m] = y[0]; later
    later = A * 2; A[[0, 1], [1, 1]] = 1; later
    row = A[1]; A[1, np.int64(1)] = True; row[np.int64(0)] = False; row
    A[[0, 1], [1, 0]] = A[[1, 0], [0, 1]]
    x[i] = x
    x[::-1][np.arange(len(x))] = x
    x[np.sort(i)] = y
    del x[0]
    del x.T
    x[0], x[-1] = x[-1], x[0]
    x.take(i)
    np.take(x, i)
    x.take(i, mode="wrap")
    x.take(i, mode="clip")
    np.take(A, [0, 2], axis=1)
    np.take(A, [5, 0])
    A.take(np.array([5, 0]))
    x.take(i.astype("i2"))
    x.take(m)
    x.take(i[0])
    x.take([99])
    x.take(np.array([-99]))
    np.take(x, [0, 99])
    x.compress(m)
    np.compress(M[:, 0], A, axis=0)
    np.put(x, [0, 1], [1, 2])
    np.put(x, i, y)
    np.put(x, 99, 1)
    x.put([1, 2], 5)
    np.place(x, m, [1, 2])
    np.place(x, m, [])
    np.putmask(x, m, y)
    np.extract(m, x)
    np.choose(i % 2, [x, y])
    np.choose(abs(i) % 5, np.arange(5) * 2)
    np.choose(abs(i) % 5, np.arange(5) * 2, None)
    np.choose(abs(i) % 5, np.arange(5) * 2, None, "raise")
    np.choose(i, np.arange(5) * 2, None, "wrap")
    np.choose(i, np.arange(5) * 2, None, "clip")
    np.select([m, ~m], [x, y])
    np.select([m], [x], 1)
    np.take_along_axis(A, np.argsort(A, axis=0, kind="stable"), axis=0)
    np.fill_diagonal(A, 5)
    np.fill_diagonal(A, "a")
    np.fill_diagonal(x, 1)
    np.unravel_index(5, (2, 3))
    np.unravel_index(np.argmax(w), w.shape)
    np.ravel_multi_index((1, 2), (2, 3))
    np.diag_indices(3)
    np.ix_([0, 1], [1, 0])
    """,
    FEW,
    layouts=WRITABLE,
)
# keys with an item for each axis, of every kind
PARTS_OF_KEYS = [
    "1", "-1", "np.int64(0)", "9", "[0, 2]", "[np.int64(1), 1]", "[0, 1] * 40", "[True, False, True]",
    "True", "[]",
    "np.array([2, 0])", "np.array([0, 1, 2, 1])[::-2]", "np.array([1, -1], 'i1')", "np.array([1, 0], 'u8')",
    "np.array([0, 1, 2])", "1:",
]  # fmt: skip
for _key in itertools.product(PARTS_OF_KEYS, repeat=2):
    _text = ", ".join(_key)
    TABLE += [
        row(f"np.arange(9.0).reshape(3, 3)[{_text}]"),
        row(f"np.arange(9.0).reshape(3, 3).T[{_text}]"),
        row(f"a = np.zeros((3, 3), 'f4'); a[{_text}] = 2.5; a[{_text}] += 1; a"),
    ]
for _key in itertools.product(PARTS_OF_KEYS[:8:2], repeat=3):
    _text = ", ".join(_key)
    TABLE += [
        row(f"np.arange(27.0).reshape(3, 3, 3)[{_text}]"),
        row(f"a = np.zeros((3, 3, 3), 'f4'); a[{_text}] = 2.5; a[{_text}] += 1; a"),
    ]
TABLE += [
    row(f"np.unravel_index({at}, {shape})")
    for shape in (
        "(6, 6)",
        "(4,)",
        "(2, 3, 4)",
        "()",
        "(0, 3)",
        "(2**31, 2**31, 2)",
        "[2, 3]",
        "7",
        "(2.0, 3)",
        "(-1, 4)",
    )
    for at in (
        "0",
        "5",
        "23",
        "24",
        "-1",
        "2**40",
        "2**62",
        "1.5",
        "True",
        "None",
        "np.int64(3)",
        "np.uint8(3)",
    )
]
TABLE += rows(
    "x[0]\nx[1:]\nx[m]\nx[i]\nA[0]\nA[[0, 1], [1, 0]]\nx[0] = x[1]\nx[m] = x[0]\nx[i] = y\nx[::2]", ALL
)
