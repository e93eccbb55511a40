"""Arrays made of lists of arrays: `array` and `asarray` against NumPy, at once and recorded."""

import warnings

import numpy
import pytest

import numelt

from ..support.compare import assert_same, outcome
from ..support.layouts import data

DTYPES = ["bool", "int8", "uint16", "int64", "float16", "float32", "float64", "complex64", "complex128"]
SHAPES = [(), (1,), (5,), (0,), (3, 4), (0, 3), (2, 3, 4), (700,)]
VIEWS = {
    "whole": lambda x: x,
    "reversed": lambda x: x[::-1],
    "every second": lambda x: x[..., ::2],
    "transposed": lambda x: x.T,
}
MAKERS = {
    "array": lambda np, rows: np.array(rows),
    "asarray": lambda np, rows: np.asarray(rows),
    "tuple": lambda np, rows: np.array(tuple(rows)),
    "own dtype": lambda np, rows: np.array(rows, dtype=rows[0].dtype),
    "other dtype": lambda np, rows: np.array(rows, dtype="complex128"),
    "fortran": lambda np, rows: np.array(rows, order="F"),
    "rank": lambda np, rows: np.array(rows, ndmin=3),
}


@pytest.fixture(autouse=True, params=[0, 1 << 16], ids=["recorded", "at once"])
def habit(request):
    """Record all operations, or read small results until they run at once."""
    before = numelt.config.at_once
    numelt.config.at_once = request.param
    for a in [numelt.arange(3.0)] * 8:
        float((a + 1)[0])
    yield
    numelt.config.at_once = before


def assert_alike(make, context=""):
    """Assert that `make(np)` gives or raises the same, with the same strides."""
    kind, want = outcome(make, numpy)
    ours, got = outcome(make, numelt)
    assert ours == kind, f"{context}: {got!r} for {want!r}"
    if kind == "error":
        assert (type(got), str(got)) == (type(want), str(want)), context
    else:
        assert_same(got, want, context=context)
        assert got.strides == want.strides or not want.size, context
        assert got.flags.writeable == want.flags.writeable, context


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_dtypes_shapes_and_counts(dtype, shape):
    for count in (1, 2, 8, 9, 40):
        for name, view in VIEWS.items():
            if name in ("reversed", "every second") and not shape:
                continue
            for how, maker in MAKERS.items():

                def make(np, count=count, view=view, maker=maker):
                    return maker(np, [view(np.array(data(dtype, shape, i % 5))) for i in range(count)])

                assert_alike(make, f"{count} {name} {how}")


def test_rows_that_wait_and_rows_that_change():
    def make(np):
        big = np.arange(12000.0).reshape(30, 400)
        rows = [row * 1.5 for row in big]
        first = np.array(rows)
        for row in rows:
            row += 1.0
        big[:] = np.array(list(big[::-1]))
        second = np.asarray(rows)
        return np.array([first, second, big])

    assert_alike(make)


@pytest.mark.parametrize(
    "rows",
    [
        lambda np: [np.zeros(3), np.zeros(4)],
        lambda np: [np.zeros(3), np.zeros((3, 1))],
        lambda np: [np.zeros(3), [1.0, 2.0, 3.0]],
        lambda np: [np.zeros(3), numpy.ones(3)],
        lambda np: [np.zeros(3), np.zeros(3, "int64")],
        lambda np: [np.zeros(2), 1.0],
        lambda np: [np.zeros(2), None],
        lambda np: [],
        lambda np: [np.zeros(2)] * 9 + [np.zeros(3)],
        lambda np: [np.zeros((1,) * 9)] * 9,
    ],
)
def test_what_does_not_fit(rows):
    assert_alike(lambda np: np.array(rows(np)))
    assert_alike(lambda np: np.asarray(rows(np)))


def test_subok_and_copies_of_our_arrays():
    for subok in (True, False):
        x = numelt.arange(6.0)[::2]
        y = numelt.array(x, subok=subok, copy=True)
        y[0] = 9.0
        assert type(y) is numelt.ndarray
        assert x.tolist() == [0.0, 2.0, 4.0]
        assert y.tolist() == [9.0, 2.0, 4.0]


SEQUENCES = {
    "floats": [0.5, -0.0, float("nan")], "ints": [1, -2, 3], "ints, then floats": [1, 2, 2.5, 3], "one": [7],
    "floats, then ints": [2.5, 1], "largest exact": [2**53, 0.5], "too large": [2**53 + 1, 0.5],
    "too large alone": [2**53 + 1, 1], "rows": [[1, 2], [3, 4]], "rows of both": [[1, 2], [3, 4.5]],
    "rows of tuples": ([1.5, 2], (3, 4)), "empty": [], "empty rows": [[], []],
    "ragged": [[1, 2], [3]],
    "number and row": [1, [2]], "row and number": [[2], 1], "bools": [True, False],
    "bool and int": [True, 2],
    "of NumPy": [numpy.float64(2), 1], "of NumPy's ints": [numpy.int64(2), 1], "short": [numpy.float32(2), 1],
    "complex": [1, 2j], "text": [1.0] * 20 + ["a"], "many": [0.5] * 5000,
    "many ints": list(range(5000)),
    "many rows": [[1, 2.5]] * 3000, "huge": [10**30, 1], "none": [1.0, None], "300": [300, 1],
    "1e300": [1e300, 1],
}  # fmt: skip


@pytest.mark.core
@pytest.mark.parametrize("dtype", [None, "f8", "i8", "f4", "i1", "f2", "c16", "?"])
@pytest.mark.parametrize("name", SEQUENCES)
def test_sequences_of_numbers(name, dtype):
    values = SEQUENCES[name]
    for sequence in (values, tuple(values)):
        found = []
        for np in (numelt, numpy):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    found.append(("value", np.array(sequence, dtype)))
                except Exception as error:
                    found.append((type(error), str(error)))
        assert found[0][0] == found[1][0], name
        if found[1][0] == "value":
            assert_same(found[0][1], found[1][1])
        else:
            assert found[0] == found[1]


CONVERSIONS = {
    "asanyarray": ({}, {"dtype": "f4"}, {"order": "F"}, {"copy": True}, {"dtype": "f8", "copy": False}),
    "ascontiguousarray": ({}, {"dtype": "f4"}, {"dtype": "f8"}),
    "asfortranarray": ({}, {"dtype": "f4"}, {"dtype": "f8"}),
    "copy": ({}, {"order": "F"}, {"order": "C"}, {"order": "A"}, {"subok": True}),
    "array": (
        {},
        {"ndmin": 3},
        {"order": "F"},
        {"copy": None, "order": "C"},
        {"copy": False},
        {"dtype": "f4"},
    ),
    "asarray": ({}, {"order": "A"}, {"copy": True}, {"dtype": "i4"}, {"order": "x"}, {"copy": 1}),
}


@pytest.mark.core
@pytest.mark.parametrize(
    "source", ["matrix", "turned", "strided", "vector", "0-d", "empty", "number", "rows", "row"]
)
@pytest.mark.parametrize("name", CONVERSIONS)
def test_conversions_keep_or_change_the_layout_as_numpys(name, source):
    for options in CONVERSIONS[name]:
        found = []
        for np in (numelt, numpy):
            matrix = np.array(numpy.arange(12.0).reshape(3, 4))
            value = {
                "matrix": matrix, "turned": matrix.T, "strided": matrix[::2, ::-1], "vector": matrix[0],
                "rows": [[1, 2]],
                "0-d": matrix[0, 0, ...], "empty": matrix[:0], "number": 3, "row": [1.5, 2],
            }[source]  # fmt: skip
            try:
                made = getattr(np, name)(value, **options)
                found.append(("value", made, made.strides, made is value, np.shares_memory(made, matrix)))
            except Exception as error:
                found.append((type(error), str(error)))
        if found[1][0] == "value":
            assert_same(found[0][1], found[1][1], context=str(options))
            assert found[0][2:] == found[1][2:], options
        else:
            assert found[0] == found[1], options


@pytest.mark.core
@pytest.mark.parametrize(
    "pieces",
    [
        lambda m, row: [m, row],
        lambda m, row: [row],
        lambda m, row: (m, row),
        lambda m, row: [m.T, row],
        lambda m, row: [m, 2],
        lambda m, row: [m, row[0, ...]],
        lambda m, row: [m[:0], row],
        lambda m, row: [m, [1.5]],
        lambda m, row: [m.astype("f4"), row.astype("i2")],
        lambda m, row: [m.astype("U4"), row],
        lambda m, row: [],
    ],
)
def test_joins_of_flattened_arrays(pieces):
    def make(np):
        m = np.array(numpy.arange(12.0).reshape(3, 4))
        return np.concatenate(pieces(m, np.array(numpy.arange(3))), axis=None)

    assert_alike(make)


@pytest.mark.core
@pytest.mark.parametrize("n", [100, 2047, 16_384, 40_000])
def test_joins_of_every_length(n):
    for dtype in ("f8", "i1", "c16"):
        assert_alike(lambda np, dtype=dtype: np.concatenate([np.ones(n, dtype), np.zeros(n, dtype)]))
        assert_alike(lambda np, dtype=dtype: np.hstack([np.ones((2, n), dtype), np.zeros((2, 3), dtype)]))
