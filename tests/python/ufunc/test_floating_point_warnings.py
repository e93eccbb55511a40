"""Floating-point warnings: NumPy's texts, for the operations for which NumPy warns, at the user's line."""

import concurrent.futures
import io
import os
import subprocess
import sys
import threading
import warnings

import numpy
import pytest

import numelt

SPECIAL = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -2.0,
    3.0,
    numpy.inf,
    -numpy.inf,
    numpy.nan,
    1e300,
    -1e300,
    1e-300,
    710.0,
    -750.0,
]

UNARY = (  # noqa: SIM905
    "negative positive absolute sign square reciprocal sqrt cbrt exp exp2 expm1 log log2 log10 log1p sin cos "
    "tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh floor ceil trunc rint isnan isinf "
    "isfinite signbit conjugate logical_not degrees radians deg2rad rad2deg fabs"
).split()
BINARY = (  # noqa: SIM905
    "add subtract multiply divide floor_divide remainder fmod power arctan2 hypot maximum minimum fmax fmin "
    "copysign equal not_equal less less_equal greater greater_equal logical_and logical_or logical_xor "
    "heaviside nextafter logaddexp logaddexp2 true_divide mod pow float_power"
).split()


def said(call, np=numelt):
    """Return category and text of the warnings from computing and reading `call(np)`."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = call(np)
        for part in result if isinstance(result, tuple) else (result,):
            numpy.asarray(part)
    return [(w.category, str(w.message)) for w in caught]


def same(call):
    ours, theirs = said(call), said(call, numpy)
    assert sorted(map(str, ours)) == sorted(map(str, theirs))
    return theirs


def array(np, values, dtype):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.asarray(numpy.array(values).astype(dtype))


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("name", UNARY)
def test_unary(name, dtype):
    for value in SPECIAL:
        for n in (1, 19):
            same(lambda np: getattr(np, name)(array(np, [value] * n, dtype)))  # noqa: B023


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("name", BINARY)
def test_binary(name, dtype):
    for a in SPECIAL:
        if name.startswith("logaddexp") and numpy.isnan(a):
            continue
        b = [x for x in SPECIAL if not (name.startswith("logaddexp") and not numpy.isfinite(x))]
        for x in b:
            # NumPy's logaddexp warns of NaN arguments, for which the function itself has no reason
            def call(np, a=a, x=x):
                return getattr(np, name)(array(np, [a] * 3, dtype), array(np, [x] * 3, dtype))

            if name in ("power", "pow"):
                assert said(call) == true_power_warnings(a, x, dtype), (a, x)
            else:
                same(call)


def true_power_warnings(a, b, dtype):
    """Return the warnings of one power as the C library computes it, for arrays.

    On processors with AVX-512, NumPy's loops of powers give additional warnings: of a division by zero in
    `0.0 ** -inf`, which is exact by IEEE 754, and of an overflow in `1e300 ** inf`. NumPy's scalars call the
    C library.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        array(numpy, a, dtype)[()] ** array(numpy, b, dtype)[()]
    return [(w.category, str(w.message).replace("scalar power", "power")) for w in caught]


@pytest.mark.parametrize("dtype", "bBhHiIlL")
@pytest.mark.parametrize(
    "name", ["floor_divide", "remainder", "fmod", "add", "multiply", "left_shift", "divide", "divmod"]
)
def test_integers(name, dtype):
    least = numpy.iinfo(dtype).min
    for a in (0, 1, 7, least):
        for b in (0, 1, least, numpy.iinfo(dtype).max, -1 if least else 1):
            same(lambda np: getattr(np, name)(array(np, [a] * 20, dtype), array(np, [b] * 20, dtype)))  # noqa: B023


@pytest.mark.parametrize("dtype", "bBhHiIlL")
def test_integer_reciprocal(dtype):
    same(lambda np: np.reciprocal(array(np, [0, 1, 2], dtype)))
    same(lambda np: np.reciprocal(array(np, [1, 2, 3], dtype)))


@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "divide"])
def test_complex(name):
    # except for NaN operands, for which NumPy's complex products and quotients compute 0 * inf
    for a in (0.0, 1.0, 1e300, 1j, 1e300j):
        for b in (0.0, 1.0, 1e300, 1j):
            same(lambda np: getattr(np, name)(array(np, [a] * 3, "c16"), array(np, [b] * 3, "c16")))  # noqa: B023


@pytest.mark.parametrize("to", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8", "?"])
@pytest.mark.parametrize("source", ["f4", "f8"])
def test_casts(source, to):
    for value in (numpy.nan, numpy.inf, -1.0, -1e3, 300.0, 3e9, 1e19, 1e30, 1e300, 0.5):
        same(lambda np: array(np, [value] * 3, source).astype(to))  # noqa: B023


CASES = {
    "sum": lambda np: np.full(3, 1e308).sum(),
    "sum of infinities": lambda np: np.array([np.inf, -np.inf]).sum(),
    "sum of infinities and nan": lambda np: np.array([np.inf, -np.inf, np.nan]).sum(),
    "sum of nan and infinities": lambda np: np.array([np.nan, np.inf, -np.inf]).sum(),
    "mean of infinities and nan": lambda np: np.tile([np.inf, 1, -np.inf, np.nan, 2, 3, 4], 50).mean(),
    "std of infinities and nan": lambda np: np.tile([np.inf, 1, -np.inf, np.nan, 2, 3, 4], 50).std(),
    "sums of infinities and nan": lambda np: np.tile([[np.inf], [-np.inf], [np.nan]], 9).sum(axis=0),
    "sum of complex infinities": lambda np: np.array([np.inf, -np.inf, np.nan, 1j]).sum(),
    "sum of nan": lambda np: np.array([np.nan, 1.0]).sum(),
    "sum along an axis": lambda np: np.full((40, 3), 1e308).sum(axis=0),
    "sum of products": lambda np: (np.full(3, 1e300) * np.full(3, 1e300)).sum(),
    "sum of quotients": lambda np: (np.zeros(3) / np.zeros(3)).sum(),
    "prod": lambda np: np.full(3, 1e300).prod(),
    "mean": lambda np: np.full(3, 1e308).mean(),
    "mean of a complex infinity": lambda np: np.array([1, np.inf, 2j]).mean(),
    "mean of a complex infinity, single": lambda np: np.array([1, complex(0, np.inf)], "c8").mean(),
    "means of complex infinities": lambda np: np.array([[1, np.inf], [2j, np.nan]]).mean(axis=0),
    "mean of a complex nan": lambda np: np.array([1, np.nan, 2j], "c8").mean(),
    "max of nan": lambda np: np.array([np.nan, 1.0]).max(),
    "cumsum": lambda np: np.cumsum(np.full(3, 1e308)),
    "cumprod": lambda np: np.cumprod(np.full(3, 1e300)),
    "matmul": lambda np: np.full((2, 2), 1e300) @ np.full((2, 2), 1e300),
    "two operations": lambda np: np.sqrt(np.full(3, -1.0)) + np.log(np.zeros(3)),
    "the second of two": lambda np: np.sqrt(np.full(3, 4.0)) - np.log(np.zeros(3)),
    "chain": lambda np: np.exp(np.full(3, 1000.0)) - np.exp(np.full(3, 1000.0)) * 1.0,
    "nothing": lambda np: np.sqrt(np.arange(20.0)) / (np.arange(20.0) + 1),
    "comparisons": lambda np: (np.array([np.nan, 1.0]) < 0) | (np.array([np.nan, 1.0]) >= 2),
    "where": lambda np: np.where(np.array([np.nan, 1.0]) > 0, np.array([np.nan, 1.0]), 0.0),
    "maximum": lambda np: np.maximum(np.array([np.nan, 1.0]), 0.0),
    "int cast in a sum": lambda np: np.array([1e30, 1.0]).astype(int).sum(),
    "in place": lambda np: np.ones(3).__itruediv__(0.0),
    "in place narrow": lambda np: np.full(3, 1.0, "f4").__imul__(np.full(3, 1e300)),
    "divmod": lambda np: divmod(np.array([1.0, 0.0, 5.0, np.inf]), np.array([0.0, 0.0, 2.0, 1.0])),
    "divmod of integers": lambda np: divmod(np.arange(3), np.zeros(3, int)),
    "complex power": lambda np: np.power(np.zeros(3, complex), -1 + 1j),
    "complex log": lambda np: np.log(np.zeros(3, complex)),
    "literal too large": lambda np: np.zeros(3, "f4") + 1e300,
    "literal of where": lambda np: np.where(np.ones(3, bool), np.ones(3, "f4"), 1e300),
    "sum of huge angles": lambda np: np.tan(np.full(30, -9.05685737699686e158)).sum(),
    "sum along an axis with nan": lambda np: np.exp(np.full((40, 3), np.nan)).sum(axis=0),
    "broadcast": lambda np: np.ones((3, 1)) / np.zeros(4),
    "strided": lambda np: np.ones(40)[::3] / np.zeros(40)[::3],
    "zero-dimensional": lambda np: np.divide(np.array(1.0), np.array(0.0)),
    "one lane of many": lambda np: 1.0 / np.arange(1000.0),
    "power": lambda np: np.zeros(3) ** -1.0,
    "square": lambda np: np.full(3, 1e300) ** 2,
    "float32": lambda np: np.full(3, 3e38, "f4") * np.float32(10),
    "large": lambda np: 1.0 / (np.arange(300_000.0) - 150_000.0),
    "large sum": lambda np: (1.0 / (np.arange(300_000.0) - 150_000.0)).sum(),
    "large log": lambda np: np.log(np.arange(300_000.0) - 10.0),
}


@pytest.mark.parametrize("name", CASES)
def test_cases(name):
    same(CASES[name])


SCALARS = {
    "divide": lambda np: np.ones(3).sum() / np.zeros(3).sum(),
    "invalid": lambda np: np.zeros(3).sum() / np.zeros(3).sum(),
    "multiply": lambda np: np.full(1, 1e300).sum() * np.full(1, 1e300).sum(),
    "add": lambda np: np.full(1, 1.7e308).sum() + np.full(1, 1.7e308).sum(),
    "subtract": lambda np: np.full(1, np.inf).sum() - np.full(1, np.inf).sum(),
    "floor divide": lambda np: np.ones(3).sum() // np.zeros(3).sum(),
    "remainder": lambda np: np.ones(3).sum() % np.zeros(3).sum(),
    "power": lambda np: np.full(1, 1e300).sum() ** np.full(1, 2.0).sum(),
    "square": lambda np: np.full(1, 1e300).sum() ** 2,
    "by a number": lambda np: np.ones(3).sum() / 0,
    "of a number": lambda np: 1 / np.zeros(3).sum(),
    "ufunc": lambda np: np.divide(np.ones(3).sum(), np.zeros(3).sum()),
    "log": lambda np: np.log(np.zeros(3).sum()),
    "sqrt": lambda np: np.sqrt(np.full(1, -1.0).sum()),
    "array by scalar": lambda np: np.ones(3) / np.zeros(3).sum(),
    "element": lambda np: np.ones(3)[0] / np.zeros(3)[0],
}


@pytest.mark.parametrize("name", SCALARS)
def test_scalars(name):
    assert same(SCALARS[name])


def test_state_counts_when_recorded():
    with numelt.errstate(divide="ignore"):
        quiet = numelt.ones(3) / numelt.zeros(3)
    assert said(lambda np: quiet) == []
    loud = numelt.ones(3) / numelt.zeros(3)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with numelt.errstate(divide="ignore"):
            numpy.asarray(loud)
    assert caught == []  # the warnings were given when the block was entered


def test_state_of_a_library_counts():
    with numpy.errstate(invalid="ignore"):
        quiet = numelt.sqrt(numelt.full(3, -1.0))
    assert said(lambda np: quiet) == []
    assert len(said(lambda np: np.sqrt(np.full(3, -1.0)))) == 1


def test_state_is_of_a_thread():
    entered, done = threading.Event(), threading.Event()

    def quietly():
        with numelt.errstate(all="ignore"):
            entered.set()
            done.wait(10)
            return said(lambda np: np.ones(3) / np.zeros(3))

    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        there = pool.submit(quietly)
        entered.wait(10)
        assert len(said(lambda np: np.ones(3) / np.zeros(3))) == 1
        done.set()
        assert there.result() == []


def test_mixed_states_in_one_kernel():
    def program(np):
        with np.errstate(divide="ignore"):
            a = np.ones(3) / np.zeros(3)
        return np.log(np.zeros(3)) + a

    assert said(program) == said(program, numpy)


def test_warning_appears_where_the_value_is_read():
    x = numelt.ones(3) / numelt.zeros(3)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert caught == []  # pending work ran when the block was entered
        y = numelt.ones(3) / numelt.zeros(3)
        print(y, file=io.StringIO())
    assert [w.filename for w in caught] == [__file__]
    assert x.tolist() == y.tolist()


def test_catch_warnings_settles_on_leaving():
    with pytest.warns(RuntimeWarning, match="divide by zero encountered in divide"):
        x = numelt.ones(3) / numelt.zeros(3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert numpy.isinf(numpy.asarray(x)).all()


def test_filter_error_raises_at_the_statement():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for call in CASES.values():
            said_by = []
            for np in (numelt, numpy):
                try:
                    call(np)
                    said_by.append(None)
                except RuntimeWarning as warning:
                    said_by.append(str(warning))
            assert said_by[0] == said_by[1], said_by


def test_in_place_names_a_likely_operation():
    x = numelt.full(1000, -1.0)
    with pytest.warns(RuntimeWarning, match="invalid value encountered in sqrt"):
        x[:] = numelt.sqrt(x) + 1


def raising(np, call, **state):
    try:
        with np.errstate(**(state or {"all": "raise"})):
            call(np)
    except FloatingPointError as error:
        return str(error)
    return None


RAISES = {
    **CASES,
    **{f"scalar {k}": v for k, v in SCALARS.items()},
    "assignment": lambda np: np.zeros(3, int).__setitem__(slice(None), np.full(3, np.nan)),
    "underflow": lambda np: np.full(3, 1e-300) * 1e-300,
    "copyto": lambda np: np.copyto(np.zeros(3, "f4"), np.full(3, 1e300), casting="unsafe"),
}


@pytest.mark.parametrize("name", RAISES)
def test_raise(name):
    assert raising(numelt, RAISES[name]) == raising(numpy, RAISES[name])


def test_raise_by_seterr():
    old = numelt.seterr(all="raise")
    try:
        assert numelt.geterr()["divide"] == "raise"
        with pytest.raises(FloatingPointError, match="divide by zero encountered in divide"):
            numelt.ones(3) / numelt.zeros(3)  # at this very line
        with pytest.raises(FloatingPointError, match="overflow encountered in reduce"):
            numelt.full(3, 1e308).sum()
    finally:
        numelt.seterr(**old)


@pytest.mark.parametrize("name", ["sum", "two operations", "cumsum", "int cast in a sum"])
def test_call_and_log(name):
    def called(np):
        seen = []
        with np.errstate(all="call", call=lambda kind, flag: seen.append((kind, flag))):
            CASES[name](np)
        return seen

    class Log:
        def __init__(self):
            self.text = ""

        def write(self, text):
            self.text += text

    def logged(np):
        log = Log()
        with np.errstate(all="log", call=log):
            CASES[name](np)
        return log.text

    assert called(numelt) == called(numpy)
    assert logged(numelt) == logged(numpy)


def test_print(capfd):
    with numelt.errstate(all="print"):
        numelt.full(3, 1e308).sum()
    ours = capfd.readouterr().err
    with numpy.errstate(all="print"):
        numpy.full(3, 1e308).sum()
    assert ours == capfd.readouterr().err


def test_compiled_kernels_warn_alike():
    code = """if True:
        import warnings, numpy, numelt
        def said(np, call):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                numpy.asarray(call(np))
            return sorted(str(w.message) for w in caught)
        x, i = numpy.linspace(-3, 3, 31), numpy.arange(-15, 16)
        nan = numpy.where(x > 1, numpy.nan, x)
        calls = [
            lambda np: np.sqrt(np.asarray(x)), lambda np: np.log(np.asarray(x) - x[7]),
            lambda np: np.exp(np.asarray(x) * 1000), lambda np: 1 / np.asarray(x * 0),
            lambda np: np.asarray(i) // np.asarray(i), lambda np: np.asarray(i) % 0,
            lambda np: (np.asarray(x) * 1e30).astype('i4'), lambda np: (np.asarray(x) * 1e30).astype('i8'),
            lambda np: (np.asarray(x) * 1e300).astype(np.float32), lambda np: np.asarray(nan) < 0,
            lambda np: np.where(np.asarray(nan) > 0, np.asarray(nan), 1.0),
            lambda np: np.exp(np.asarray(nan)) + 1,
            lambda np: np.exp(np.asarray(nan)).sum(), lambda np: (np.asarray(x) * 1e308 * 10).sum(),
            lambda np: np.maximum(np.asarray(nan), 0.5) * 2,
            lambda np: np.asarray(x) ** 0.5 + np.asarray(x) ** -1,
            lambda np: np.reciprocal(np.asarray(i)), lambda np: np.sqrt(np.abs(np.asarray(x))) / 3,
            lambda np: np.asarray(i.astype("i1")) // np.asarray(i.astype("i1")),
            lambda np: np.asarray(x) // 0.0,
            lambda np: np.asarray(x) % np.asarray(x),
        ]
        for number, call in enumerate(calls):
            for _ in range(2):
                ours, theirs = said(numelt, call), said(numpy, call)
                assert ours == theirs, (number, ours, theirs)
    """
    env = {**os.environ, "NUMELT_JIT": "sync"}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("piecemeal", ["0", "16384"])
@pytest.mark.parametrize(
    ("program", "text"),
    [
        (lambda np: np.array([1.0, 0.0]) / np.zeros(2), "invalid value encountered in divide"),
        (lambda np: np.array([1e300, 2.0]).astype("f4"), "overflow encountered in cast"),
        (lambda np: np.full((5, 5, 5), np.nan)[:, ::2, :].astype("i4"), "invalid value encountered in cast"),
        (lambda np: np.isnan(np.log(np.array([-1.0, 2.0]))), "invalid value encountered in log"),
        (lambda np: (np.sqrt(np.array([-1.0, 2.0])) + 1).sum(), "invalid value encountered in sqrt"),
        (
            lambda np: np.copyto(np.empty(3, "f2"), np.array([7e4] * 3), casting="unsafe"),
            "overflow encountered in cast",
        ),
    ],
)
def test_small_results_that_nobody_reads_warn(program, text, piecemeal):
    before = numelt.config.piecemeal
    numelt.config.piecemeal = piecemeal
    try:
        for np in (numpy, numelt):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                program(np)
            assert text in [str(w.message) for w in caught], np.__name__
    finally:
        numelt.config.piecemeal = before


COMPLEX_UNARY = [
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "sinh", "cosh",
    "tanh", "arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh", "sqrt", "square",
    "reciprocal", "negative", "conjugate", "sign", "isnan", "isfinite", "rint", "absolute",
]  # fmt: skip
COMPLEX_BINARY = [
    "add", "subtract", "multiply", "divide", "power", "float_power", "less", "less_equal", "greater",
    "greater_equal", "equal", "maximum", "fmin",
]  # fmt: skip
PARTS = [0.0, -0.0, 1.0, -2.0, numpy.inf, -numpy.inf, numpy.nan, 710.0, 1e300, 1e-300]


def complex_numbers(dtype, parts):
    with numpy.errstate(all="ignore"):
        return numpy.array([complex(x, y) for x in parts for y in parts]).astype(dtype)


@pytest.mark.core
@pytest.mark.parametrize("dtype", ["c8", "c16"])
@pytest.mark.parametrize("name", COMPLEX_UNARY)
def test_each_complex_number(name, dtype):
    for z in complex_numbers(dtype, PARTS):
        same(lambda np, z=z: getattr(np, name)(np.array([z])))


@pytest.mark.core
@pytest.mark.parametrize("dtype", ["c8", "c16"])
@pytest.mark.parametrize("name", COMPLEX_BINARY)
def test_each_pair_of_complex_numbers(name, dtype):
    few = complex_numbers(dtype, [0.0, 1.0, -2.0, numpy.inf, numpy.nan])
    for a in few:
        for b in few:
            same(lambda np, a=a, b=b: getattr(np, name)(np.array([a]), np.array([b])))


@pytest.mark.core
@pytest.mark.parametrize("name", ["divide", "less", "multiply", "subtract", "power"])
def test_complex_nan_in_compiled_kernels(name):
    """One special number among many, with and without a condition to report."""
    for special in (1 + 1j, complex(numpy.nan, 1), complex(numpy.inf, numpy.nan), 1e300 + 1e300j):

        def program(np, special=special):
            b = np.full(5000, 2 - 1j)
            b[4321] = special
            return getattr(np, name)(np.full(5000, 1 + 3j), b)

        for _ in range(3):
            same(program)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
@pytest.mark.parametrize("name", ["logaddexp", "logaddexp2"])
def test_each_pair_of_exponents(name, dtype):
    values = array(numpy, [0.0, 1.0, -2.0, numpy.inf, -numpy.inf, numpy.nan, 6e4], dtype)
    for a in values:
        for b in values:
            same(lambda np, a=a, b=b: getattr(np, name)(np.array([a]), np.array([b])))
            same(lambda np, a=a, b=b: getattr(np, name)(np.full(3000, a), np.full(3000, b)))


def test_halves_say_it_once():
    same(lambda np: np.array([500, 6e4], "e") ** np.array([3, 50], "e"))
    same(lambda np: np.exp(np.array([12, 6e4], "e")))
    for x in (0.0, 1.0, numpy.inf, -numpy.inf, numpy.nan, 65504.0):
        same(lambda np, x=x: np.spacing(np.array([x], "e")))


@pytest.mark.core
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c8"])
@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "divide"])
@pytest.mark.parametrize("special", [numpy.inf, numpy.nan, 1.0, 0.0])
def test_running_results_that_overflow_beside_other_specials(name, special, dtype):
    """An infinity that was there before neither hides an overflow in another row, nor is reported itself."""
    most = float(numpy.finfo(dtype).max)
    rows = [[special, 1.0, 2.0], [most, 0.25 if name == "divide" else most, 1.0], [1.0, 2.0, 3.0]]
    if name == "subtract":
        rows[1][0] = -most
    for axis, order in ((1, "C"), (1, "F"), (0, "C")):

        def call(np, axis=axis, order=order):
            values = rows if axis == 1 else [list(row) for row in zip(*rows, strict=True)]
            return getattr(np, name).accumulate(np.array(values, dtype, order=order), axis=axis)

        assert "overflow" in str(same(call))


def test_variance_squares():
    same(lambda np: np.full(5000, 1e200).var())
    same(lambda np: (np.arange(5000) * 1e200 + 1j).std())


def test_combining_at_positions():
    for name in ("add", "subtract", "multiply", "maximum"):
        for dtype, large in {"f2": 6e4, "f4": 3e38, "f8": 1.5e308, "c16": 1.5e308, "i8": 2**62}.items():

            def program(np, name=name, dtype=dtype, large=large):
                a = np.full(5000, large, dtype)
                getattr(np, name).at(
                    a, np.array([0, 1, 1]), np.array([-large if name == "subtract" else large], dtype)
                )
                return a

            same(program)
    with (
        numelt.errstate(over="raise"),
        pytest.raises(FloatingPointError, match="overflow encountered in subtract"),
    ):
        numelt.subtract.at(numelt.full(5000, -1.5e308), numelt.array([7]), 1.5e308)


def test_what_is_ignored_explains_a_flag_whose_operands_are_gone():
    def program(np):
        x = np.array([0.0, 1.0, 2.0] * 20_000)
        for _ in range(4):
            with np.errstate(invalid="ignore"):
                q = x / x
            x *= np.where(x > 0, q, 1.0)
        return x

    same(program)

    def heard(np):
        x = np.array([0.0, 1.0, numpy.inf] * 20_000)
        with np.errstate(invalid="ignore"):
            y = x * 0.0
        x /= x
        return x, np.where(y > 0, 1, 0)

    same(heard)


def test_conditions_beside_random_numbers():
    """A kernel that draws random numbers reports which of its operations met a condition, and where."""
    for m in (numpy, numelt):
        rng, a = m.random.default_rng(1), m.full(100_000, -1.0)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            b = m.sqrt(a) + rng.random(100_000) * 2
            total = float((b / 0.0).sum())
        assert total != total
        assert {str(w.message) for w in caught} >= {"invalid value encountered in sqrt"}
