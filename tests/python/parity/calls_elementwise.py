"""Calls that work element by element: every ufunc, operators, operands of other kinds, keyword arguments."""

import numpy

from .driver import row, rows
from .operands import ALL, FEW, NATIVE

# Functions for which two good libraries differ by this many units in the last place. If NumPy computes
# float16 as float32, so does numelt.
ULPS = {
    "hypot": 2, "arctan2": 4, "power": 4, "float_power": 4, "exp": 4, "exp2": 4, "expm1": 4, "log": 4,
    "log2": 4,
    "log10": 4, "log1p": 4, "sin": 4, "cos": 4, "tan": 4, "sinh": 4, "cosh": 4, "tanh": 4, "arcsin": 4,
    "arccos": 4, "arctan": 4, "arcsinh": 4, "arccosh": 4, "arctanh": 4, "cbrt": 4, "logaddexp": 4,
    "logaddexp2": 4, "pow": 4, "acos": 4, "acosh": 4, "asin": 4, "asinh": 4, "atan": 4, "atan2": 4,
    "atanh": 4,
}  # fmt: skip
# NumPy fuses the two products of a complex product if the data are contiguous
NORMS = dict.fromkeys(["multiply", "square", "absolute", "abs", "power", "pow", "divide", "true_divide"], 4)
# it is not specified which of two zeros is the result, and NumPy's own loops differ
ZEROS = {"maximum", "minimum", "fmax", "fmin"}
# functions that need operands of other kinds than `x` and `y`, in rows of their own
APART = {"matmul", "matvec", "vecmat", "vecdot", "bitwise_count", "ldexp", "left_shift", "right_shift"}

UFUNCS = {
    name: ufunc
    for name in sorted(dir(numpy))
    if isinstance(ufunc := getattr(numpy, name), numpy.ufunc) and name not in APART and not ufunc.signature
}


def of_ufunc(name):
    """Return the rows of a ufunc: the plain call, and calls with numbers, an output, a mask or a dtype."""
    binary = UFUNCS[name].nin == 2
    domain = "small" if name in {*ULPS, "gcd", "lcm"} else "any"
    exact = {"ulp": ULPS.get(name, 0), "norm": NORMS.get(name, 4 if name in ULPS else 0), "domain": domain}
    # a negative number and the logarithm that is added to it may cancel, which leaves NumPy few right digits;
    # `ufunc/test_bits.py` and the tests of the vector math crate compare such results
    if name in ZEROS or name.startswith("logaddexp"):
        exact["domain"] = "positive"
    if binary:
        yield from rows(f"np.{name}(x, y)", ALL, **exact)
        yield from rows(
            f"""
            np.{name}(A, B)
            np.{name}(A, A[:1])
            np.{name}(x, 3)
            np.{name}(2.5, x)
            np.{name}(x, s)
            np.{name}(z, y)
            np.{name}(x, x[::-1])
            """,
            NATIVE,
            **exact,
        )
    else:
        yield from rows(f"np.{name}(x)", ALL, **exact)
        yield from rows(f"np.{name}(A)\nnp.{name}(z)\nnp.{name}(s)", NATIVE, **exact)
    if UFUNCS[name].nout == 1:
        given = "x, y" if binary else "x"
        yield from rows(
            f"""
            np.{name}({given}, where=m, out=np.ones_like(x))
            np.{name}({given}, out=x)
            np.{name}({given}, dtype="f4")
            np.{name}({given}, casting="no", order="F")
            """,
            FEW,
            **exact,
        )


UFUNC_CALLS = [row for name in UFUNCS for row in of_ufunc(name)]

UFUNC_CALLS += rows(
    """
    np.left_shift(x, y)
    np.right_shift(x, y)
    np.left_shift(x, 2)
    np.bitwise_count(x)
    np.ldexp(x, i % 5)
    """,
    domain="small",
)

# `reduceat` and `at` need positions; the other methods are tried on functions that have them
FOLDS = ["add", "multiply", "maximum", "minimum", "fmax", "logical_and", "logical_or", "logical_xor",
         "bitwise_and", "bitwise_xor", "subtract", "hypot", "gcd", "less"]  # fmt: skip
for _name in FOLDS:
    _exact = {
        "ulp": ULPS.get(_name, 0),
        "norm": NORMS.get(_name, 0),
        "domain": "small" if _name != "fmax" else "positive",
    }
    UFUNC_CALLS += rows(
        f"""
        np.{_name}.reduce(x)
        np.{_name}.reduce(A, axis=0)
        np.{_name}.reduce(A, axis=-1, keepdims=True)
        np.{_name}.reduce(A, axis=(0, 1))
        np.{_name}.reduce(A, axis=None)
        np.{_name}.reduce(A, axis=2)
        np.{_name}.reduce(x, initial=3)
        np.{_name}.reduce(A, axis=0, where=M)
        np.{_name}.reduce([x, y, x[::-1]])
        np.{_name}.reduce([x, y], axis=0, keepdims=True)
        np.{_name}.reduce([x])
        np.{_name}.reduce([x, y[:2]])
        np.{_name}.reduce([A, B], 1)
        np.{_name}.reduce([x, [1] * len(y)])
        np.{_name}.accumulate(x)
        np.{_name}.accumulate(x[::-1])
        np.{_name}.accumulate(A, 1)
        np.{_name}.reduceat(x, [0, 3, 2])
        np.{_name}.reduceat(x, np.sort(abs(i)))
        np.{_name}.reduceat(A, [0, 1], axis=0)
        np.{_name}.reduceat(x, [99])
        np.{_name}.at(x, i, y)
        np.{_name}.at(x, i, 2)
        np.{_name}.at(x, i, 1.5)
        np.{_name}.at(x[::-1], i, y)
        np.{_name}.at(x, i + len(x), y)
        np.{_name}.at(x, i, x[:1])
        np.{_name}.at(x, m, y[m])
        np.{_name}.at(A, (0, [0, 0]), y[:2])
        """,
        FEW,
        **_exact,
    )  # fmt: skip
    UFUNC_CALLS += rows(
        f"""
        np.{_name}.outer(x, y)
        np.{_name}.outer(A, x)
        np.{_name}.outer(x, 2.0)
        """,
        FEW,
        most=65,
        **_exact,
    )
UFUNC_CALLS += rows(
    "np.negative.at(x, i)\nnp.sqrt.at(x, [0, 1])\nnp.add.at(x, [0, 0, 2], [1.0, 2.0, 3.0])", FEW
)
UFUNC_CALLS += rows(
    "np.power.outer(x, 2.0)\nnp.arctan2.outer(x, y)", FEW, most=65, ulp=4, norm=8, domain="small"
)

OPERATORS = []
for _symbol in ("+", "-", "*", "/", "//", "%", "<", "==", "!=", ">=", "&", "|", "^"):
    _exact = {"norm": 4 if _symbol in "*/" else 0}
    OPERATORS += rows(
        f"""
        x {_symbol} y
        A {_symbol} B.T.T
        A {_symbol} A[0]
        A[:, :1] {_symbol} A[:1]
        x {_symbol} s
        s {_symbol} x
        x {_symbol} z
        x.sum() {_symbol} y
        x[0, ...] {_symbol} 2
        """,
        [*NATIVE, "O", "M8[D]", "m8[h]", "U2", ">i4"],
        **_exact,
    )
    OPERATORS += rows(
        f"""
        x {_symbol} w
        x {_symbol} i
        m {_symbol} x
        x {_symbol} 2
        2 {_symbol} x
        x {_symbol} 2.5
        2.5 {_symbol} x
        x {_symbol} True
        x {_symbol} (1 + 2j)
        x {_symbol} -1
        x {_symbol} 300
        x {_symbol} 10**20
        -(10**20) {_symbol} x
        x {_symbol} 0
        x {_symbol} np.float64(1.5)
        np.float64(-0.0) {_symbol} x
        np.float32(0.1) {_symbol} x
        np.int64(3) {_symbol} x
        x {_symbol} np.int64(2**62 + 1)
        x {_symbol} np.int8(3)
        x {_symbol} np.float64("inf")
        x {_symbol} np.bool_(True)
        x {_symbol} [1.0] * len(x)
        (2,) * len(x) {_symbol} x
        x {_symbol} None
        x {_symbol} "a"
        x {_symbol} x[:2]
        x[::-1] {_symbol} x
        """,
        FEW,
        **_exact,
    )
    if _symbol not in ("<", "==", "!=", ">="):
        OPERATORS += rows(
            f"""
            x {_symbol}= y
            x {_symbol}= 2
            x {_symbol}= 2.5
            x {_symbol}= s
            x {_symbol}= np.int64(3)
            x {_symbol}= True
            A {_symbol}= A[:1].copy()
            x {_symbol}= w
            x {_symbol}= [1.0] * len(x)
            x {_symbol}= 1 << 70
            """,
            FEW,
            layouts=("dense", "strided", "reversed", "read-only", "derived", "waiting", "0-d", "empty"),
            **_exact,
        )
OPERATORS += rows(
    "divmod(x, y)\ndivmod(x, 2)\n-x\n+x\nabs(x)\n~x\nx << 1\nx >> y\n1 << x", ALL, norm=4, domain="small"
)
OPERATORS += rows("x ** 2\nx ** y\nx ** 0.5\n2 ** x\nx ** -1\nx **= 2", FEW, ulp=4, norm=8, domain="small")

ARGUMENTS = rows(
    """
    np.sqrt()
    np.sqrt(4.0)
    np.sqrt(np.float64(2))
    np.sqrt(2)
    np.sqrt(np.int8(2))
    np.sqrt([1.0, 4.0])
    np.sqrt(-1.0)
    np.add(1, 2.5)
    np.add(True, False)
    np.add("a", "b")
    np.maximum(1.5, 2)
    np.divmod(7, 2)
    np.frexp(2.5)
    list(map(np.sqrt, [1.0, 4.0]))
    np.sqrt.__call__(2.0)
    """
)
ARGUMENTS += rows(
    """
    np.sqrt(x, None)
    np.sqrt(x, np.empty_like(w))
    np.sqrt(x, out=np.empty_like(w))
    np.sqrt(x, x, x)
    np.sqrt(x, nothing=1)
    np.sqrt(*(x,))
    np.sqrt.__call__(x)
    np.add(x)
    np.add(x, y, dtype="i8")
    np.add(x, 1, where=m, out=np.zeros(len(x)))
    np.add(*(x, y), **{"casting": "no"})
    np.add(x, y, out=np.zeros(len(x), "c16"))
    np.maximum(x, np.nan)
    np.add(x[1:-1], x[2:], out=x[1:-1])
    np.multiply(x[:-2], x[2:], out=x[2:])
    np.subtract(x, 1, out=x)
    np.divide(x[::-1], 3, out=x)
    np.negative(x[::2], out=x[::-2])
    np.copyto(x[::-1], x)
    np.copyto(x, y, where=m)
    np.copyto(x, 0, where=m)
    np.copyto(A, A[:1])
    np.where(m, x, y)
    np.where(m, x, 1)
    np.where(m, 2.5, x)
    np.where(m, x, [1.0] * len(x))
    np.where(x > 0, x, -x)
    np.where(M, A, A[:1])
    np.where(m, x, s)
    x[1:] == x[:-1]
    x + y[:1]
    x.astype("c8")
    np.isclose(x, y)
    np.isclose(x, x, equal_nan=True)
    np.isclose(x, 1)
    np.allclose(x, x)
    np.allclose(x, y, rtol=[0.1] * len(x))
    np.array_equal(x, y)
    np.array_equal(x, x[1:])
    np.array_equal(x, x, equal_nan=True)
    np.array_equal(i, [0, 1, 2])
    np.array_equiv(A, A[:1])
    x.conj()
    x.conjugate()
    np.real(x)
    np.imag(x)
    np.angle(x)
    np.angle(x, deg=True)
    np.round(x, 1)
    x.round(1)
    x.round()
    np.round(A, -1)
    np.fix(x)
    np.nan_to_num(x)
    np.nan_to_num(x, nan=2.0, posinf=3)
    np.isreal(x)
    np.iscomplex(x)
    np.sinc(x)
    np.i0(x)
    np.clip(x, -5, 9)
    np.clip(x, 0, 1)
    np.clip(x, 0.0, 0.5)
    np.clip(x, -0.0, 3)
    np.clip(x, 3, -3)
    np.clip(x, -1000, 1000)
    np.clip(x, 2.5, np.nan)
    np.clip(x, None, 4)
    np.clip(x, np.float64(1), 7)
    np.clip(x, 2**24, 2**40)
    np.clip(x, True, 5)
    x.clip(-5, 9)
    x.clip(0, 1)
    x.clip(-0.0, 1.0)
    x.clip(None, 4)
    x[::-2].clip(-5, 9)
    x.clip(min=y)
    np.clip(x, y, w)
    np.clip(x, 1, 2, out=x)
    np.clip(A, A[:1], 5)
    """,
    FEW,
    ulp=4,
    norm=4,
)
NUMBERS = ["0.3", "1", "2.5", "np.nan", "np.inf", "True", "1j", "np.float64(0.3)", "np.float32(0.3)"]
CLOSE = [
    row(f"np.{call}")
    for a in NUMBERS
    for b in ("0.3", "1", "np.nan", "np.inf", "np.int64(1)")
    for call in (
        f"isclose({a}, {b})", f"isclose({a}, {b}, equal_nan=True)", f"isclose({a}, {b}, 0.5, 0.5)",
        f"allclose({a}, {b})", f"allclose({a}, {b}, rtol=[0.1, 2.0])",
    )
]  # fmt: skip
# NumPy scalars without an array: their class is NumPy's, but numelt's ufuncs accept them
KINDS = ["np.float64", "np.float32", "np.int32", "np.uint8", "np.bool_", "np.complex64", "int", "float"]
SCALARS = [
    row(f"np.{name}({one}(3), {other}(2))", ulp=4, norm=8)
    for name in ("maximum", "power", "hypot", "floor_divide", "equal", "bitwise_and")
    for one in KINDS
    for other in KINDS
]

TABLE = [*UFUNC_CALLS, *OPERATORS, *ARGUMENTS, *CLOSE, *SCALARS]
