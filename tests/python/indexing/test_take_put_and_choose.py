"""Functions that read and write by position or condition: NumPy's values, dtypes, errors and layouts."""

import numpy
import pytest

import numelt
from numelt._dispatch import fallback

from ..support.compare import as_numpy, assert_same, outcome
from ..support.layouts import data

DTYPES = ["bool", "int8", "uint16", "int64", "float32", "float64", "complex128"]
SHAPES = [(6,), (3, 4), (2, 3, 4), (0, 3), (4, 0), (1, 5)]
VIEWS = {
    "C": lambda x: x,
    "F": lambda x: x.T,
    "reversed": lambda x: x[::-1],
    "every second": lambda x: x[..., ::2],
}


def arrays(np, dtype, shape, view):
    return VIEWS[view](np.array(data(dtype, shape, 3)))


def both(function, *cases):
    """Run `function(np, *arguments)` in NumPy and here: the same result, or the same exception."""
    for case in cases:
        kind, want = outcome(function, numpy, *case)
        ours, got = outcome(function, numelt, *case)
        assert ours == kind, f"{case}: {got!r} for {want!r}"
        if kind == "error":
            assert type(got) is type(want), f"{case}: {got!r} for {want!r}"
            assert str(got) == str(want), case
        else:
            assert_same(got, want, context=str(case))


@pytest.fixture(autouse=True)
def natively():
    """Nothing here may be a fallback, except to raise an error."""
    before = fallback.policy()
    fallback.set_policy("error")
    yield
    fallback.set_policy(before)


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_take(dtype, view):
    indices = [
        0,
        -1,
        [0, 1],
        [[0, -1], [1, 0]],
        [],
        [7],
        [-9, 8],
        numpy.array([True, False]),
        numpy.uint8([1, 0]),
    ]

    def take(np, shape, index, axis, mode):
        if mode == "raise" and isinstance(index, numpy.ndarray):
            index = np.array(index)
        return np.take(arrays(np, dtype, shape, view), index, axis=axis, mode=mode)

    cases = [
        (shape, index, axis, mode)
        for shape in SHAPES
        for index in indices
        for axis in (None, 0, -1, 1)
        for mode in ("raise", "wrap", "clip")
    ]
    both(take, *cases)


@pytest.mark.parametrize("view", VIEWS)
def test_where_things_are(view):
    def search(np, dtype, shape):
        x = arrays(np, dtype, shape, view)
        return (
            np.nonzero(x),
            np.argwhere(x),
            np.flatnonzero(x),
            np.where(x > 0),
            x.nonzero(),
            np.count_nonzero(x),
        )

    both(search, *[(dtype, shape) for dtype in DTYPES for shape in SHAPES])
    for np in (numpy, numelt):
        with pytest.raises(ValueError, match="Calling nonzero on 0d arrays is not allowed"):
            np.nonzero(np.array(3))


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("dtype", ["int64", "float32", "complex128"])
def test_conditions(dtype, view):
    def compress(np, shape, condition, axis):
        x = arrays(np, dtype, shape, view)
        return np.compress(condition, x, axis=axis), x.compress(np.array(condition), axis)

    conditions = [[True, False, True], [False], [], [1, 1], [0, 1, 1, 1, 1, 1, 1, 1, 1]]
    both(compress, *[(s, c, axis) for s in SHAPES for c in conditions for axis in (None, 0, 1, 7)])

    def extract(np, shape):
        x = arrays(np, dtype, shape, view)
        return np.extract(x.real > 0, x)

    both(extract, *[(shape,) for shape in SHAPES])


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_writing(dtype, view):
    def put(np, shape, index, values, mode):
        x = arrays(np, dtype, shape, view)
        np.put(x, index, values, mode)
        y = arrays(np, dtype, shape, view)
        y.put(np.array(index, dtype=int), values, mode=mode)
        return x, y

    some = [[0], [0, 1, -1, 0], [], [9, 50, -70]]
    written = [1, [1, 0], []]
    if dtype[0] in "fc":
        written.append([1.5, 2.5, 0.5, 1.0, 3.0])
    # NumPy writes up to the first index that is out of bounds; numelt writes nothing
    both(
        put,
        *[
            (s, i, v, mode)
            for s in SHAPES
            for i in some
            for v in written
            for mode in ("wrap", "clip", "raise")
        ],
    )

    def conditional(np, shape, values):
        first = arrays(np, dtype, shape, view)
        second, third, fourth = first.copy(), first.copy(), first.copy()
        mask = np.array(first != first[:1])
        np.place(first, mask, values)
        np.putmask(second, mask, values)
        third[mask] = 1
        np.copyto(fourth, True, where=mask)
        return first, second, third, fourth

    both(conditional, *[(s, v) for s in SHAPES for v in ([True], [1, 0], [1, 0, 1, 1], numpy.arange(30))])


def test_out():
    def take(np, dtype, length):
        out = np.zeros(length, dtype)
        result = np.take(np.array([1.0, 2.0, 3.0]), [0, 2], out=out)
        assert result is out
        return out

    both(take, ("float64", 2))


@pytest.mark.parametrize("dtype", ["int32", "float64"])
def test_along_an_axis(dtype):
    def along(np, shape, axis):
        x = arrays(np, dtype, shape, "C")
        order = np.argsort(x, axis=axis)
        taken = np.take_along_axis(x, order, axis)
        best = np.argmax(x, axis=axis, keepdims=True)
        np.put_along_axis(x, best, 99, axis)
        return taken, np.take_along_axis(x, best, axis), x

    both(along, *[(s, axis) for s in [(6,), (3, 4), (2, 3, 4), (1, 5)] for axis in range(-1, len(s))])


def test_choosing():
    def choose(np, index, choices, mode):
        made = [np.array(c) if isinstance(c, list) else c for c in choices]
        return np.choose(np.array(index), made, mode=mode), np.array(index).choose(made, mode=mode)

    choices = [[[1, 2, 3], [10, 20, 30]], [[1, 2, 3], 4.5], [1, [[1], [2]]], [[1, 2], [3, 4, 5]]]
    both(
        choose,
        *[
            (i, c, m)
            for i in ([0, 1, 1], [[0], [1]], 1, [2, -1, 0])
            for c in choices
            for m in ("raise", "wrap", "clip")
        ],
    )

    def select(np, shape):
        x = arrays(np, "float64", shape, "C")
        return np.select([x < 0, x > 1], [x, x**2], 42), np.select([x > 0], [-x])

    both(select, *[(shape,) for shape in SHAPES])


def test_arrays_of_indices():
    def triangles(np, n, k, m):
        x = np.array(data("float64", (n, m), 1))
        below = np.tril_indices(n, k, m)
        x[below] = 0
        return below, np.triu_indices(n, k, m), np.tril_indices_from(x, k), np.triu_indices_from(x, k), x

    both(triangles, *[(n, k, m) for n in (1, 3) for k in (-1, 0, 2) for m in (2, 4)])

    def diagonals(np, n, value):
        x = np.zeros((n, n))
        np.fill_diagonal(x, value)
        return np.diag_indices(n), np.diag_indices_from(x), x

    both(diagonals, *[(n, value) for n in (1, 4) for value in (3, [1, 2], numpy.arange(4.0))])

    def mesh(np, rows, columns):
        x = np.arange(20).reshape(4, 5)
        return np.ix_(rows, columns), x[np.ix_(rows, columns)]

    both(mesh, ([0, 2], [1, 3, 4]), ([True, False, True, True], [0]), ([0], [9]))


@pytest.mark.parametrize("order", ["C", "F"])
def test_flat_positions(order):
    def unravel(np, index, shape):
        return np.unravel_index(np.array(index), shape, order=order)

    both(
        unravel,
        ([2, 5], (2, 3)),
        ([[0], [23]], (2, 3, 4)),
        ([24], (2, 3, 4)),
        (3, (7,)),
        ([-1], (2, 3)),
        (2, 3),
    )

    def ravel(np, indices, shape, mode):
        return np.ravel_multi_index(tuple(np.array(i) for i in indices), shape, mode=mode, order=order)

    cases = [(([0, 1], [2, 2]), (2, 3)), ((1, 2), (2, 3)), (([0, 5], [[2], [-7]]), (2, 3)), (([3],), (3,))]
    both(ravel, *[(i, s, mode) for i, s in cases for mode in ("raise", "wrap", "clip")])


def test_indexing_is_native():
    """None of these statements may be a fallback to NumPy."""

    def statements(np):
        x = np.arange(24.0).reshape(4, 6)
        labels = np.array([0, 1, 0, 2])
        means = [x[labels == k].mean(axis=0) for k in range(3)]
        x[x > 20] *= 2
        x[[0, 2], 1:3] += 1
        x[:, [True, False, True, False, True, False]] = -1
        x[..., np.array([5])] = x[..., :1]
        return means, x, x[np.newaxis, labels], x[labels[:2], labels[2:]], [x[i] for i in labels]

    assert_same(statements(numelt), statements(numpy))
    # the remaining fallbacks are reported
    with pytest.raises(fallback.FallbackError):
        numelt.array([None, 1])[[0]]
    assert as_numpy(numelt.arange(3)[[True, False, True]]).tolist() == [0, 2]


def test_choices_given_as_numbers_and_one_by_one():
    """Python's numbers adapt to the dtype of the other choices."""
    for code in "bBeifd":
        index, array = numpy.array([0, 1, 1]), numpy.array([1, 2, 3], code)
        for number in (5, 2.5, 1j):
            expected = numpy.choose(index, [array, number])
            found = numelt.choose(numelt.array(index), [numelt.array(array), number])
            assert found.dtype == expected.dtype
            assert numpy.array_equal(numpy.asarray(found), expected)
        ours = numelt.array(index).choose(numelt.array(array), [7, 8, 9])
        assert numpy.array_equal(numpy.asarray(ours), index.choose(array, [7, 8, 9]))


@pytest.mark.parametrize("indices", [[0, 9], [9, 0], [0, -9], [1, 2, 99, 3]])
@pytest.mark.parametrize("shape", [(6,), (2, 3)])
def test_put_writes_what_stands_before_a_position_outside(indices, shape):
    for layout in (lambda a: a, lambda a: a.T):
        ours, theirs = (np.arange(6.0).reshape(shape) for np in (numelt, numpy))
        messages = []
        for np, a in ((numelt, ours), (numpy, theirs)):
            with pytest.raises(IndexError) as caught:
                np.put(layout(a), indices, [5.0, 7.0])
            messages.append(str(caught.value))
        assert messages[0] == messages[1]
        assert ours.tolist() == theirs.tolist()
