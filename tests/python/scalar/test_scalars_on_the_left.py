"""NumPy's scalars to the left of our arrays: results, warnings and errors as with NumPy's arrays."""

import operator
import warnings

import numpy
import pytest

import numelt as np

DTYPES = [numpy.dtype(kind) for kind in "?bBhHiIlLqQefdFD"]
OPERATORS = [
    operator.add,
    operator.sub,
    operator.mul,
    operator.truediv,
    operator.floordiv,
    operator.mod,
    operator.pow,
    operator.and_,
    operator.or_,
    operator.xor,
    operator.lshift,
    operator.lt,
    operator.le,
    operator.eq,
    operator.ne,
    operator.gt,
    operator.ge,
]


def values(dtype):
    """Return elements of a dtype, including its extremes and special values."""
    if dtype.kind == "b":
        return numpy.array([True, False, True])
    if dtype.kind in "iu":
        info = numpy.iinfo(dtype)
        return numpy.array([0, 1, 3, 7, info.max, info.min], dtype)
    info = numpy.finfo(dtype)
    real = numpy.array([0.0, -0.0, 1.5, -2.0, info.max, info.tiny, numpy.inf, -numpy.inf, numpy.nan], dtype)
    if dtype.kind == "c":
        real.imag = numpy.array([1.0, -0.0, 0.5, 2.0, 0.0, 1.0, 1.0, numpy.nan, 0.0])
    return real


def outcome(act, left, right):
    """Return the result of an operation (its array or its error) and its warnings."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            got = numpy.asarray(act(left, right))
        except (TypeError, ValueError) as error:
            got = (type(error), str(error))
    return got, sorted({(w.category, str(w.message)) for w in seen}, key=str)


def agree(act, left, real, made):
    want, expected = outcome(act, left, real)
    got, seen = outcome(act, left, made)
    assert seen == expected, (act, left, real)
    if isinstance(want, tuple):
        assert got == want, (act, left, real)
        return
    assert (got.dtype, got.shape) == (want.dtype, want.shape), (act, left, real)
    assert got.strides == want.strides or not want.size, (act, left, real)
    if act is operator.pow:
        numpy.testing.assert_allclose(got, want, rtol=2e-3 if want.dtype.char in "eF" else 1e-6)
    else:
        assert numpy.array_equal(got, want, equal_nan=want.dtype.kind in "fc"), (act, left, real, got, want)


@pytest.mark.parametrize("act", OPERATORS, ids=lambda act: act.__name__)
@pytest.mark.parametrize("left", DTYPES, ids=str)
def test_operators_of_all_dtypes(act, left):
    for right in DTYPES:
        real = values(right)
        if act is operator.pow and real.dtype.kind in "fc":
            real = real[2:4].copy()
        if act is operator.lshift and real.dtype.kind in "iu":
            real = real[:4].copy()
        for number in values(left)[::2]:
            agree(act, number, real, np.array(real))


@pytest.mark.parametrize("act", OPERATORS[:6] + OPERATORS[11:], ids=lambda act: act.__name__)
def test_layouts(act):
    real = numpy.arange(1.0, 25.0).reshape(2, 3, 4)
    made = np.array(real)
    for view in (
        lambda x: x[0, 0, 0:0],
        lambda x: x[:, ::-1],
        lambda x: x.T,
        lambda x: x[..., ::2],
        lambda x: x[:, :1],
        lambda x: x[0, 0, ...],
        lambda x: x.reshape(24)[3:4].reshape(()),
    ):
        for number in (numpy.float64(2.5), numpy.float32(2.5), numpy.int64(2), numpy.complex128(1 + 2j)):
            agree(act, number, view(real), view(made))


@pytest.fixture
def recorded():
    """Record all operations, so that sums are deferred."""
    before = np.config.at_once
    np.config.at_once = 0
    yield
    np.config.at_once = before


@pytest.mark.parametrize("act", OPERATORS, ids=lambda act: act.__name__)
@pytest.mark.parametrize("left", DTYPES, ids=str)
def test_deferred_scalars_on_the_right(recorded, act, left):
    for right in DTYPES:
        for element in values(right)[:5]:
            if act in (operator.pow, operator.lshift) and not 0 <= abs(element) < 8:
                continue
            real = numpy.full(3, element, right).max()
            for number in values(left)[::2]:
                made = np.full(3, element, right).max()
                agree(act, number, real, made)


def test_the_class_of_the_result():
    result = numpy.float64(2) * np.arange(3.0)
    assert type(result) is np.ndarray
    assert type(numpy.float64(2) < np.arange(3.0)) is np.ndarray


def test_other_operands_are_as_before():
    for number in (numpy.float64(2), numpy.int64(2), numpy.complex64(2)):
        assert type(number * number) is type(number)
        assert type(number * numpy.arange(3.0)) is numpy.ndarray
        assert number == 2
        assert number != "a"
        assert (number - [1, 2] == numpy.array([1, 0])).all()
    with pytest.raises(TypeError):
        numpy.float64(2) * {}


def test_classes_derived_from_scalars():
    class Length(numpy.float64):
        def __mul__(self, other):
            return "mine"

    class Plain(numpy.float64):
        pass

    assert Length(2) * np.arange(3.0) == "mine"
    assert (Plain(2) * np.arange(3.0)).tolist() == [0.0, 2.0, 4.0]
    assert Plain(2) * numpy.float64(3) == 6


def test_arrays_of_objects():
    made = np.array([1, None, 2.5], dtype=object)
    assert (numpy.float64(1) == made).tolist() == [True, False, False]
    assert (numpy.int64(2) * made[::2]).tolist() == [2, 5.0]


def test_modes_of_errors():
    made = np.array([1.0, 0.0])
    with (
        np.errstate(divide="raise"),
        pytest.raises(FloatingPointError, match="divide by zero encountered in divide"),
    ):
        numpy.float64(1) / made
    with np.errstate(divide="ignore"), warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (numpy.float64(1) / made).tolist() == [1.0, numpy.inf]


def outcome_of_index(array, key):
    """Return the result of an index, or the text of its error."""
    try:
        return array[key], None
    except IndexError as error:
        return None, str(error)


@pytest.mark.parametrize("kind", "lqiBd")
def test_numpys_integers_index(kind):
    real = numpy.arange(24.0).reshape(4, 6)
    made = np.array(real)
    for at in (0, 2, -1, 3, 4, -5, 2**40):
        index = numpy.dtype("q").type(at) if kind in "lq" else numpy.array(at).astype(kind)[()]
        for key in (
            index,
            (index, 1),
            (index, index),
            (slice(None), index),
            (None, index),
            (index, slice(1, 3)),
        ):
            want, error = outcome_of_index(real, key)
            if error is not None:
                assert outcome_of_index(made, key)[1] == error
                continue
            assert numpy.array_equal(made[key], want)
            assert type(made[key]) is (np.ndarray if isinstance(want, numpy.ndarray) else type(want))
            changed, ours = real.copy(), np.array(real)
            changed[key] = ours[key] = 7
            assert numpy.array_equal(ours, changed)


ARITHMETIC = [
    operator.add,
    operator.sub,
    operator.mul,
    operator.truediv,
    operator.floordiv,
    operator.mod,
    operator.pow,
    divmod,
]


def made_of(act, left, right):
    """Return the class and value of a result, or the error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = act(left, right)
        except Exception as error:
            return type(error), str(error)
    parts = result if type(result) is tuple else (result,)
    return [
        (part.dtype if isinstance(part, numpy.generic) or hasattr(part, "dtype") else type(part), str(part))
        for part in parts
    ]


@pytest.mark.core
@pytest.mark.parametrize("number", [True, 3, 2.5, 1j, 1 + 0j, 0j])
@pytest.mark.parametrize("kind", "?bBiqQefdFD")
@pytest.mark.parametrize("name", ["sum", "mean", "max", "prod"])
def test_pythons_numbers_and_results_of_reductions(number, kind, name):
    real = numpy.array([1, 2, 3]).astype(kind)
    made = np.array(real)
    for act in ARITHMETIC:
        theirs, ours = getattr(real, name)(), getattr(made, name)()
        assert made_of(act, number, ours) == made_of(act, number, theirs), act
        assert made_of(act, ours, number) == made_of(act, theirs, number), act


def test_division_of_pythons_complex_number_by_zero_raises():
    with pytest.raises(ZeroDivisionError):
        1j / np.zeros(3).sum()
