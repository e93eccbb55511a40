"""Identical bits for every operation that IEEE 754 or integer arithmetic determines, in all layouts.

The operands are made from NumPy's own bytes, with special values, in every layout; so are the outputs, which
may overlap the inputs.
"""

import operator
import warnings

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import numelt

from ..support.compare import as_numpy

INTEGERS = "bBhHiIqQ"
FLOATS = "efd"
ALL = "?" + INTEGERS + FLOATS + "FD"

# operations whose bits are determined, and their loops
EXACT = {
    "add subtract multiply maximum minimum fmax fmin": INTEGERS + FLOATS + "FD",
    "divide": FLOATS + "FD",
    "floor_divide remainder fmod": INTEGERS + FLOATS,
    "equal not_equal less less_equal greater greater_equal logical_and logical_or logical_xor": ALL,
    "bitwise_and bitwise_or bitwise_xor": "?" + INTEGERS,
    "left_shift right_shift gcd lcm": INTEGERS,
    "copysign nextafter heaviside": FLOATS,
    "negative square reciprocal sign conjugate absolute positive": INTEGERS + FLOATS + "FD",
    "sqrt floor ceil trunc rint fabs signbit spacing deg2rad rad2deg modf frexp": FLOATS,
    "isnan isinf isfinite logical_not": ALL,
    "invert": "?" + INTEGERS,
    "bitwise_count": INTEGERS,
}
CASES = [(name, codes) for names, codes in EXACT.items() for name in names.split()]

LAYOUTS = {
    "contiguous": lambda x: x,
    "strided": lambda x: x[::2],
    "negative": lambda x: x[::-1],
    "offset": lambda x: x[1:],
    "zero_d": lambda x: x[0],
    "empty": lambda x: x[:0],
    "broadcast": lambda x: x[:1],
    "column": lambda x: x[:, None],
    "matrix": lambda x: x[: x.size // 2 * 2].reshape(2, -1).T,
}


def same_bits(ours, theirs, context, signs=True):
    ours, theirs = numpy.asarray(as_numpy(ours)), numpy.asarray(theirs)
    assert ours.dtype == theirs.dtype, context
    assert ours.shape == theirs.shape, context
    if theirs.dtype.kind == "c":
        same_bits(ours.real, theirs.real, context, signs)
        same_bits(ours.imag, theirs.imag, context, signs)
        return
    equal = ours == theirs
    if theirs.dtype.kind == "f" and not signs:
        equal = equal | numpy.isnan(ours) & numpy.isnan(theirs)
    elif theirs.dtype.kind == "f":
        # all NaNs are equal, whatever their payload is; zeros have signs
        equal = equal & (numpy.signbit(ours) == numpy.signbit(theirs)) | numpy.isnan(ours) & numpy.isnan(
            theirs
        )
    assert equal.all(), f"{context}:\n{ours}\nNumPy:\n{theirs}"


@st.composite
def operands(draw, codes, count):
    """Arrays of one dtype that broadcast together, as NumPy's and as ours."""
    code = draw(st.sampled_from(codes))
    size = draw(st.sampled_from([2, 3, 8, 17, 34]))
    raw = draw(st.binary(min_size=0, max_size=64))
    rng = numpy.random.default_rng(list(raw))
    special = numpy.array([0.0, -0.0, 1.0, -1.0, numpy.inf, -numpy.inf, numpy.nan, 0.5, -2.5, 3.0, 1e-5, 6e4])
    pairs = []
    for _ in range(count):
        base = numpy.frombuffer(rng.bytes(16 * size), code)[:size].copy()
        if code == "?":
            base = rng.random(size) < 0.5
        elif code in FLOATS + "FD":
            tame = rng.standard_normal(size) * 4
            base = numpy.where(rng.random(size) < 0.3, base, tame.astype(code))
            parts = base.view(base.real.dtype)
            picks = rng.random(parts.size) < 0.3
            parts[picks] = rng.choice(special, picks.sum()).astype(parts.dtype)
        else:
            base = numpy.where(rng.random(size) < 0.5, base, (rng.integers(-9, 9, size)).astype(code))
        layout = draw(st.sampled_from(sorted(LAYOUTS)))
        pairs.append((LAYOUTS[layout](base), LAYOUTS[layout](numelt.array(base))))
    return pairs


def broadcasts(arrays):
    try:
        numpy.broadcast_shapes(*[a.shape for a in arrays])
    except ValueError:
        return False
    return True


@pytest.mark.core
@pytest.mark.parametrize(("name", "codes"), CASES, ids=[name for name, _ in CASES])
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_same_bits(name, codes, data):
    function = getattr(numpy, name)
    pairs = data.draw(operands(codes, function.nin))
    theirs = [x for x, _ in pairs]
    if not broadcasts(theirs):
        return
    with warnings.catch_warnings(), numpy.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        expected = function(*theirs)
        got = getattr(numelt, name)(*[y for _, y in pairs])
    context = f"{name} of {[(x.dtype.char, x.shape, x.strides) for x in theirs]}"
    results = zip(got, expected, strict=True) if function.nout > 1 else [(got, expected)]
    for ours, want in results:
        # which of two zeros NumPy's fmax and fmin return depends on the position in its vectors
        signs = name not in ("fmax", "fmin") or want.dtype.char not in "fd"
        same_bits(ours, want, f"{context} on {theirs}", signs)


@pytest.mark.parametrize("code", ["e", "f", "d", "F", "D"])
@pytest.mark.parametrize("name", ["maximum", "minimum", "fmax", "fmin"])
@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_signs_of_zeros_and_first_nan(name, code, data):
    """Of equal values with different bits, float16 and complex numbers keep the first, other floats the
    last."""
    by_place = code in "fd" and name in ("fmax", "fmin")  # depends on the position in NumPy's vectors
    values = [0.0, -0.0, *data.draw(st.sampled_from([[], [-1.0], [1.0], [-1.0, numpy.nan]]))]
    rng = numpy.random.default_rng(data.draw(st.integers(0, 10**6)))
    size = data.draw(st.integers(1, 90))
    layout = LAYOUTS[data.draw(st.sampled_from(["contiguous", "strided", "negative", "offset"]))]

    def values_of(shape):
        x = rng.choice(values, shape).astype(code)
        if code in "FD":
            x.imag = rng.choice([0.0, -0.0, 1.0], shape)
        return x

    x, y, table = values_of(2 * size), values_of(2 * size), values_of((size, 6))
    function, ours = getattr(numpy, name), getattr(numelt, name)
    a, b = layout(numelt.array(x)), layout(numelt.array(y))
    with numpy.errstate(all="ignore"):
        want = function(layout(x), layout(y))
        if by_place:  # numelt returns the last of equal values everywhere, as NumPy does in whole vectors
            want = numpy.where(layout(x) == layout(y), layout(y), want)
        same_bits(ours(a, b), want, f"{name} {code}")
        same_bits(
            ours.accumulate(a), function.accumulate(layout(x)), f"{name}.accumulate {code}", not by_place
        )
        # in vectors of several lanes, it depends on the processor which of several zeros is the last
        signs = code not in "fd"
        same_bits(ours.reduce(a), function.reduce(layout(x)), f"{name}.reduce {code}", signs)
        for axis in (0, 1):
            got = ours.reduce(numelt.array(table), axis=axis)
            same_bits(got, function.reduce(table, axis=axis), f"{name}.reduce {code} {axis}", signs)


@pytest.mark.core
@pytest.mark.parametrize("name", ["add", "multiply", "maximum", "subtract"])
@pytest.mark.parametrize("code", ["e", "f", "d", "F", "D", "b", "Q"])
@pytest.mark.parametrize("shift", [-3, -1, 0, 1, 2])
def test_overlapping_output(name, code, shift):
    """The output overlaps an input, with an offset: every input element is read before it is overwritten."""
    base = (numpy.arange(40) % 7 + 1).astype(code)

    def run(np, x):
        low, high = max(0, -shift), max(0, shift)
        getattr(np, name)(x[high : 30 + high], x[5:35], out=x[low : 30 + low])
        return x

    same_bits(run(numelt, numelt.array(base)), run(numpy, base.copy()), f"{name} {code} {shift}")


HALF_ONE = "negative absolute sqrt square reciprocal sign floor rint spacing isfinite signbit"
HALF_TWO = "add subtract multiply divide floor_divide remainder nextafter maximum less"


def test_every_half():
    """All 65,536 values of float16, alone and in pairs, and conversions in both directions."""
    every = numpy.arange(2**16, dtype="u2").view("e")
    other = numpy.roll(every, 12345)
    with warnings.catch_warnings(), numpy.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for name in HALF_ONE.split():
            same_bits(getattr(numelt, name)(numelt.array(every)), getattr(numpy, name)(every), name)
        for name in HALF_TWO.split():
            got = getattr(numelt, name)(numelt.array(every), numelt.array(other))
            same_bits(got, getattr(numpy, name)(every, other), name)
        wide = numpy.concatenate([numpy.nextafter(every.astype("d"), s) for s in (-numpy.inf, numpy.inf)])
        same_bits(numelt.array(wide).astype("e"), wide.astype("e"), "f64 to f16")
        same_bits(numelt.array(every).astype("d"), every.astype("d"), "f16 to f64")


@pytest.mark.parametrize("shape", [(1,), (7,), (300,), (20, 30), (3, 40, 5)])
@pytest.mark.parametrize("code", ["e", "F", "D"])
@pytest.mark.parametrize("name", ["sum", "prod", "cumsum", "cumprod"])
def test_folds_in_numpys_order(name, code, shape):
    """Sums of float16 use float32 within a run; complex products of float16 are rounded to it."""
    rng = numpy.random.default_rng(5)
    x = (1 + rng.standard_normal(shape) / 50).astype(code)
    if code in "FD":
        x = x + (1j * rng.standard_normal(shape) / 50).astype(code)
    for axis in (None, *range(len(shape))):
        got = getattr(numelt, name)(numelt.array(x), axis=axis)
        same_bits(got, getattr(numpy, name)(x, axis=axis), f"{name} over {axis} of {shape} {code}")


SPECIAL = [0.0, -0.0, 1.0, -1.0, numpy.inf, -numpy.inf, numpy.nan, 0.5, 2.5, -3.0, 1e-3]
COMPLEX = "exp exp2 expm1 log log2 log10 log1p sqrt sin cos tan arcsin arccos arctan sinh cosh tanh"


@pytest.mark.parametrize("name", [*COMPLEX.split(), "arcsinh", "arccosh", "arctanh", "absolute", "sign"])
@pytest.mark.parametrize("code", ["F", "D"])
def test_complex_functions_at_special_values(name, code):
    """The special cases of C99's Annex G, as NumPy has them."""
    z = numpy.array([complex(x, y) for x in SPECIAL for y in SPECIAL], code)
    with warnings.catch_warnings(), numpy.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        same_bits(getattr(numelt, name)(numelt.array(z)), getattr(numpy, name)(z), name)


@pytest.mark.core
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("layout", ["contiguous", "strided", "negative", "fortran"])
@pytest.mark.parametrize("size", [1, 3, 4, 7, 8, 33, 1000, 5003])
def test_numbers_that_do_not_fit_uint32(dtype, layout, size):
    """NumPy's vector code converts them through int32, its scalar code through int64."""
    values = [
        -1.0,
        1e10,
        -1e10,
        3e9,
        1e20,
        -1e20,
        numpy.nan,
        numpy.inf,
        -numpy.inf,
        2.0**31,
        2.0**32,
        1.5,
        7e4,
    ]
    x = numpy.resize(numpy.array(values), 2 * size).astype(dtype)
    views = {
        "contiguous": lambda a: a[:size],
        "strided": lambda a: a[::2],
        "negative": lambda a: a[:size][::-1],
        "fortran": lambda a: a.reshape(2, size).T,
    }
    outcomes = []
    for np, a in ((numpy, x), (numelt, numelt.array(x))):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = views[layout](a).astype(np.uint32)
            outcomes.append(
                (numpy.asarray(result).tobytes("A"), result.strides, [str(w.message) for w in caught])
            )
    assert outcomes[0] == outcomes[1]


FUNCTIONS = (  # noqa: SIM905
    "sin cos tan arcsin arccos arctan sinh cosh tanh exp exp2 expm1 log log2 log10 log1p cbrt arcsinh"
).split()


@pytest.mark.core
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_scalars_are_numpys(name):
    """The last bit does not depend on whether the scalar has been computed before the call."""
    rng = numpy.random.default_rng(5)
    for x in rng.uniform(0.05, 0.95, 200):
        ours, theirs = (np.array([x, x]).mean() for np in (numelt, numpy))
        made = float(getattr(numelt, name)(ours)), float(getattr(numpy, name)(theirs))
        assert made[0].hex() == made[1].hex()
        assert float(ours**0.3).hex() == float(theirs**0.3).hex()


STEPS = [1, 2, 3, -1, -2, -3]
ONE_BY_ONE = {
    "in place **= 2": lambda np, z, w: operator.ipow(z, 2),
    "square to itself": lambda np, z, w: np.square(z, out=z),
    "square": lambda np, z, w: np.square(z),
    "square to others": lambda np, z, w: np.square(w, out=z),
    "in place *=": lambda np, z, w: operator.imul(z, w),
    "product": lambda np, z, w: z * w,
    "product with a conjugate": lambda np, z, w: [c := w.conj(), z * c][1],
    "abs": lambda np, z, w: np.abs(z),
    "abs of the reverse": lambda np, z, w: abs(z[::-1]),
}


@pytest.mark.core
@pytest.mark.parametrize("name", ONE_BY_ONE)
@pytest.mark.parametrize("code", ["F", "D"])
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_complex_numbers_in_all_layouts(name, code, data):
    """NumPy's loops round differently if they cannot use whole vectors."""
    rank = data.draw(st.integers(1, 2))
    shape = tuple(data.draw(st.sampled_from([2, 3, 7, 8, 17, 40, 70])) for _ in range(rank))
    steps = [data.draw(st.sampled_from(STEPS)) for _ in shape]
    rng = numpy.random.default_rng(data.draw(st.integers(0, 10**6)))

    def numbers(*extents):
        return (rng.standard_normal(extents) + 1j * rng.standard_normal(extents)).astype(code)

    memory = numbers(*(n * abs(step) for n, step in zip(shape, steps, strict=True)))
    if data.draw(st.booleans()):
        memory = numpy.asfortranarray(memory)
    other = numbers(*shape)[..., :: data.draw(st.sampled_from([1, -1]))]
    window = tuple(slice(None, None, step) for step in steps)
    mine, theirs = numelt.array(memory), memory.copy(order="K")
    got = ONE_BY_ONE[name](numelt, mine[window], numelt.asarray(other.copy(order="K")))
    want = ONE_BY_ONE[name](numpy, theirs[window], other.copy(order="K"))
    if name.startswith("abs") and code == "D":
        # NumPy's formula for reversed operands depends on the processor
        numpy.testing.assert_array_max_ulp(numpy.asarray(got), want, 2)
        return
    same_bits(got, want, f"{name} {shape} {steps}")
    same_bits(mine, theirs, f"{name} {shape} {steps}")


@pytest.mark.parametrize("code", ["F", "D"])
def test_a_name_for_an_operand_changes_no_bits(code):
    rng = numpy.random.default_rng(0)
    x, y = ((rng.standard_normal(50_000) + 1j * rng.standard_normal(50_000)).astype(code) for _ in range(2))
    a, b, conjugate = numelt.array(x), numelt.array(y), y.conj()
    same_bits(a * b.conj(), x * conjugate, code)


@pytest.mark.core
@pytest.mark.parametrize("code", FLOATS)
@pytest.mark.parametrize("name", ["logaddexp", "logaddexp2"])
def test_logarithms_of_sums_are_near_numpys_where_they_cancel(name, code):
    """Where an operand and the logarithm added to it cancel, the error is that of the larger operand."""
    rng = numpy.random.default_rng(4)
    x, y = (rng.uniform(-5, 5, 30_000).astype(code) for _ in range(2))
    y[::2] = x[::2]
    for a, b in ((x, y), (x[::-3], y[::-3]), (x[:7], y[:7]), (x[:0], y[:0]), (x[0], y[0])):
        want = getattr(numpy, name)(a, b)
        got = as_numpy(getattr(numelt, name)(numelt.asarray(a), numelt.asarray(b)))
        assert got.dtype == want.dtype
        largest = numpy.maximum(numpy.maximum(abs(a), abs(b)), abs(want))
        assert (abs(got - want) <= 4 * numpy.spacing(largest)).all()


def test_signs_of_all_halves():
    """Absolute values and opposites change one bit of a float16, also of NaN, and also inside of a chain."""
    every = numpy.arange(1 << 16, dtype=numpy.uint16).view(numpy.float16)
    ours = numelt.array(every)
    for result, expected in (
        (numelt.absolute(ours), numpy.absolute(every)),
        (-ours, -every),
        (-abs(-ours), -abs(-every)),
    ):
        assert (as_numpy(result).view(numpy.uint16) == expected.view(numpy.uint16)).all()
