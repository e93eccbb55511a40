"""Short ways for a few elements, against NumPy: positions, pairs of them, lists joined and reduced."""

import itertools
import warnings

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

import numelt

from ..support.compare import assert_same

DTYPES = ["?", "i1", "u2", "i8", "u8", "f2", "f4", "f8", "c8", "c16"]

KEYS = {
    "table": lambda np: np.array([[0, 1, -1], [2, 2, 3]]),
    "transposed": lambda np: np.array([[0, 1, -1], [2, 2, 3]]).T,
    "strided": lambda np: np.arange(12).reshape(3, 4)[:, ::2] % 4,
    "deep": lambda np: np.arange(24).reshape(2, 3, 4) % 4,
    "one": lambda np: np.array([[3]]),
    "0-d": lambda np: np.array(2),
    "empty": lambda np: np.zeros((0, 3), int),
    "outside": lambda np: np.array([[0, 4]]),
    "far below": lambda np: np.array([[-5, 0]]),
    "computed": lambda np: np.arange(6).reshape(2, 3) & 3,
    "short": lambda np: np.array([[0, 1]], "i4"),
    "pair": lambda np: (np.array([0, 1, -1]), np.array([1, 1, 2])),
    "pair reversed": lambda np: (np.array([0, 1, 2])[::-1], np.array([2, 9, 1])[::2]),
    "pair of lists": lambda np: ([0, 1], [1, 1]),
    "pair and slice": lambda np: (np.array([0, 1]), slice(None)),
    "pair outside": lambda np: (np.array([0, 9]), np.array([0, 0])),
    "pair below": lambda np: (np.array([0, 0]), np.array([0, -9])),
    "pair broadcast": lambda np: (np.array([0, 1]), np.array([2])),
    "pair of tables": lambda np: (np.array([[0, 1]]), np.array([[1], [2]])),
    "pair of masks": lambda np: (np.array([True, False, True, True]), np.array([True, True, True])),
    "pair of nothing": lambda np: (np.array([], int), np.array([], int)),
    "repeated": lambda np: (np.array([1, 1, 1]), np.array([2, 2, 2])),
    "list": lambda np: [0, 2],
    "list below": lambda np: [-1, 0, -2],
    "list repeated": lambda np: [1, 2, 1],
    "list outside": lambda np: [0, 9],
    "list of NumPy's": lambda np: [numpy.int64(1), 2, numpy.int64(-1)],
    "list of short ones": lambda np: [numpy.int8(1), 2],
    "list of computed": lambda np: [np.arange(3).sum(), 0, np.arange(2).max() - 1],
    "list of truths": lambda np: [True, False, True, True],
    "list of floats": lambda np: [1.0, 2.0],
    "list of nothing": lambda np: [],
    "bytes": lambda np: np.array([[0, 1], [3, 2]], "u1"),
    "wide": lambda np: (np.arange(40) % 4).astype("i2").reshape(4, 10),
}
ARRAYS = {
    "vector": lambda np, dtype: np.array(numpy.arange(4).astype(dtype)),
    "backwards": lambda np, dtype: np.array(numpy.arange(8).astype(dtype))[::-2],
    "matrix": lambda np, dtype: np.array(numpy.arange(12).astype(dtype).reshape(4, 3)),
    "F": lambda np, dtype: np.array(numpy.arange(12).astype(dtype).reshape(3, 4)).T,
    "part": lambda np, dtype: np.array(numpy.arange(48).astype(dtype).reshape(6, 8))[1:5, 6:0:-2],
    "repeated rows": lambda np, dtype: np.broadcast_to(np.array(numpy.arange(3).astype(dtype)), (4, 3)),
    "deep": lambda np, dtype: np.array(numpy.arange(24).astype(dtype).reshape(4, 3, 2)),
    "no rows": lambda np, dtype: np.zeros((0, 3), dtype),
}


def outcome(function, np):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            made = function(np)
        except (IndexError, ValueError, TypeError, OverflowError) as error:
            return type(error), str(error)
    return made, sorted(str(w.message) for w in caught)


def both(function, context=None):
    ours, theirs = outcome(function, numelt), outcome(function, numpy)
    for got, want in zip(ours, theirs, strict=True):
        if isinstance(want, (numpy.ndarray, numpy.generic)):
            assert_same(got, want, context=str(context))
        else:
            assert got == want, context


@pytest.mark.core
@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_picking(key, dtype):
    for array in ARRAYS:
        both(lambda np, array=array: ARRAYS[array](np, dtype)[KEYS[key](np)], array)


@pytest.mark.core
@pytest.mark.parametrize("key", sorted(KEYS.keys() - {"0-d"}))
@pytest.mark.parametrize("dtype", DTYPES)
def test_storing(key, dtype):
    values = [7, 2.5, True, [1, 2, 3], numpy.float32(3), numpy.arange(3.0), numpy.arange(3), -1, float("nan")]

    def stored(np, array, value):
        x = ARRAYS[array](np, dtype)
        value = np.array(value) if isinstance(value, numpy.ndarray) else value
        x[KEYS[key](np)] = value
        return x

    for array, value in itertools.product(ARRAYS, values):
        both(lambda np, a=array, v=value: stored(np, a, v), (array, value))


ROWS = {
    "fresh": lambda np, x, keys: (
        np.array(numpy.arange(len(keys) * x[0].size)).reshape(-1, *x.shape[1:]).astype(x.dtype)
    ),
    "backwards": lambda np, x, keys: ROWS["fresh"](np, x, keys)[::-1],
    "swapped": lambda np, x, keys: x[keys[::-1]],
    "own": lambda np, x, keys: x[: len(keys)],
    "waiting": lambda np, x, keys: x[keys[::-1]] * x[keys],
    "one": lambda np, x, keys: x[1:2],
    "flat": lambda np, x, keys: x[1].copy(),
}


@pytest.mark.core
@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_storing_rows_at_a_list(rows, dtype):
    def stored(np, array, keys, frozen):
        x = ARRAYS[array](np, dtype)
        waiting = x + x
        value = ROWS[rows](np, x, keys)
        x.flags.writeable = not frozen
        x[keys] = value
        return x, waiting

    for array, keys in itertools.product(
        ["vector", "backwards", "matrix", "F", "part", "deep"], ([0, 2], [-1, 1, 1])
    ):
        for frozen in (False, True):
            for at in (0, 1):
                both(
                    lambda np, a=array, k=keys, f=frozen, at=at: stored(np, a, k, f)[at],
                    (array, keys, frozen),
                )


def test_storing_at_pairs_waits_for_readers():
    for np in (numelt, numpy):
        x = np.arange(9.0).reshape(3, 3)
        waiting = x * 2
        x[np.array([0, 1]), np.array([1, 1])] = -1.0
        assert waiting.tolist() == [[0, 2, 4], [6, 8, 10], [12, 14, 16]]
        assert x.tolist() == [[0, -1, 2], [3, -1, 5], [6, 7, 8]]


def test_storing_at_pairs_what_is_read_there():
    both(_exchanged)


def _exchanged(np):
    x = np.arange(9).reshape(3, 3)
    rows, columns = np.array([0, 1, 2]), np.array([2, 1, 0])
    x[rows, columns] = x[columns, rows]
    x[rows, x[0] % 3] = rows
    return x


SPECIAL = [0.0, -0.0, float("nan"), float("inf"), -float("inf"), 1.5, -1.5]


@pytest.mark.core
@pytest.mark.parametrize("name", ["maximum", "minimum", "fmax", "multiply", "logical_or"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_reducing_a_list_of_arrays(name, dtype):
    rng = numpy.random.default_rng(3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        values = [1.0, 2.0] if name == "multiply" else SPECIAL
        rows = [rng.choice(values, 12).astype(dtype) for _ in range(4)]
    shapes = {
        "vectors": lambda np: [np.array(r) for r in rows],
        "one": lambda np: [np.array(rows[0])],
        "matrices": lambda np: [np.array(r).reshape(3, 4)[:, ::-1] for r in rows],
        "mixed order": lambda np: [np.array(rows[0]).reshape(3, 4), np.array(rows[1]).reshape(4, 3).T],
        "windows": lambda np: [np.array(rows[0])[k : k + 5] for k in range(4)],
        "0-d": lambda np: [np.array(r)[0, ...] for r in rows],
        "empty": lambda np: [np.array(r)[:0] for r in rows],
        "unequal": lambda np: [np.array(rows[0]), np.array(rows[1])[:3]],
        "two dtypes": lambda np: [np.array(rows[0]), np.array(rows[1]).astype("f8")],
        "with a number": lambda np: [np.array(rows[0])[0], 1],
        "nothing": lambda np: [],
    }
    for shape in shapes:
        both(lambda np, shape=shape: getattr(np, name).reduce(shapes[shape](np)), shape)
        both(lambda np, shape=shape: getattr(np, name).reduce(shapes[shape](np), axis=0), shape)


PIECES = {
    "ints": lambda np: [1, 2],
    "floats": lambda np: [1.5],
    "tuple": lambda np: (3,),
    "bools": lambda np: [True],
    "i1": lambda np: np.array([1, 2], "i1"),
    "u8": lambda np: np.array([1, 2**63], "u8"),
    "i8": lambda np: np.arange(5),
    "f2": lambda np: np.ones(2, "f2"),
    "f8": lambda np: np.arange(4.0)[::-1],
    "c8": lambda np: np.ones(2, "c8"),
    "?": lambda np: np.array([True, False]),
    "number": lambda np: 4,
    "float": lambda np: 0.1,
    "scalar": lambda np: np.float32(0.5),
    "sum": lambda np: np.arange(3.0).sum(),
    "complex": lambda np: 1j,
    "matrix": lambda np: np.arange(6).reshape(2, 3).T,
    "empty": lambda np: np.zeros(0),
    "large": lambda np: [2**60],
    "none": lambda np: [],
    "text": lambda np: ["a"],
    "0-d": lambda np: np.array(7),
}


@pytest.mark.core
@pytest.mark.parametrize("first", PIECES)
@pytest.mark.parametrize("second", PIECES)
def test_joining(first, second):
    def pair(np):
        return PIECES[first](np), PIECES[second](np)

    both(lambda np: np.append(*pair(np)))
    both(lambda np: np.append(*pair(np), axis=0))
    both(lambda np: np.concatenate(pair(np)))
    both(lambda np: np.concatenate([*pair(np), PIECES["i8"](np)]))
    both(lambda np: np.stack(pair(np)))
    both(lambda np: np.stack(pair(np), axis=-1))
    both(lambda np: np.r_[pair(np)])
    both(lambda np: np.r_[(*pair(np), PIECES[first](np))])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "number", [True, 1, -1, 300, 2**40, 2**70, 0.5, -0.0, 1e300, float("nan"), 1j, None, "r"]
)
def test_a_number_in_a_row(dtype, number):
    both(lambda np: np.r_[number, np.array([0, 1, 1]).astype(dtype)])
    both(lambda np: np.r_[np.array([0, 1, 1]).astype(dtype)[::-2], number, number])
    both(lambda np: np.r_[np.array([1]).astype(dtype), 0:3, number])


NUMBERS = st.lists(
    st.one_of(
        st.integers(-(2**70), 2**70),
        st.floats(),
        st.booleans(),
        st.sampled_from([numpy.float64(2), numpy.int8(3)]),
    ),
    max_size=6,
)


@pytest.mark.parametrize("name", ["argmin", "argmax", "min", "max", "sum", "prod", "mean", "any", "all"])
@given(numbers=NUMBERS)
def test_reducing_a_list_of_numbers(name, numbers):
    for sequence in (numbers, tuple(numbers), [numbers, numbers]):
        both(lambda np, s=sequence: getattr(np, name)(s), sequence)
        both(lambda np, s=sequence: getattr(np, name)(s, axis=-1), sequence)
        both(lambda np, s=sequence: getattr(np, name)(s, keepdims=True), sequence)
