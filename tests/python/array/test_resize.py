"""``ndarray.resize`` against NumPy's: which arrays it accepts, their contents afterwards, and the errors."""

import weakref

import numpy
import pytest

import numelt

MAKERS = {
    "rows": lambda np: np.arange(12).reshape(3, 4).copy(),
    "columns": lambda np: np.asfortranarray(np.arange(12.0).reshape(3, 4)),
    "transposed": lambda np: np.arange(12).reshape(3, 4).T,
    "with gaps": lambda np: np.arange(12).reshape(3, 4)[:, :1],
    "number": lambda np: np.array(5.0),
    "nothing": lambda np: np.zeros((0, 4)),
    "halves": lambda np: np.ones((3, 4), "f2"),
    "text in columns": lambda np: np.full((3, 4), "ab", order="F"),
    "objects": lambda np: np.full((3, 4), None),
}
SHAPES = [(2, 6), (6, 2), (12,), (2, 3, 2), (3, 5), (2, 2), (13,), (1, 13), (), (0,)]


def outcome(array, *given, **options):
    try:
        array.resize(*given, **options)
    except (TypeError, ValueError) as error:
        return type(error), str(error)
    strides = array.strides if array.size else None
    return array.tolist(), array.shape, strides, str(array.dtype), bool(array.flags.owndata)


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_shapes(make, shape):
    def twice(np):
        array = make(np)
        return [outcome(array, shape, refcheck=False), outcome(array, *shape, refcheck=False)]

    assert twice(numelt) == twice(numpy)


CALLS = [
    ((), {}),
    ((None,), {}),
    ((4,), {"refcheck": False}),
    ((numpy.int64(4),), {"refcheck": 0}),
    ((3,), {"other": 1}),
    ((1.5,), {}),
    ((True,), {}),
    (("a",), {}),
    ((3.0, 1), {}),
    ((-1,), {}),
    ((2, -2), {}),
    (([2, 2],), {"refcheck": False}),
    ((numpy.array([2, 3]),), {"refcheck": False}),
    (((2, 3), 4), {}),
    ((4,), {"refcheck": None}),
]


@pytest.mark.parametrize(("given", "options"), CALLS, ids=str)
def test_arguments(given, options):
    assert outcome(numelt.arange(3), *given, **options) == outcome(numpy.arange(3), *given, **options)


def held_by_a_name(np):
    a = np.arange(3)
    a.resize(5)
    return a.tolist()


def held_by_two_names(np):
    a = b = np.arange(3)
    a.resize(5)
    return b


def held_by_a_list(np):
    a = [np.arange(3)]
    b = a[0]
    b.resize(5)
    return b.tolist()


def held_by_a_view(np):
    a = np.arange(3)
    b = a[:2]
    a.resize(5)
    return b


def held_weakly(np):
    a = np.arange(3)
    kept = weakref.ref(a)
    a.resize(5)
    return kept


def held_weakly_unchecked(np):
    a = np.array(["x", "y"])
    kept = weakref.ref(a)
    a.resize(2)
    a.resize(5, refcheck=False)
    return kept


def held_weakly_before(np):
    a = np.arange(3)
    weakref.ref(a)
    a.resize(5)
    return a.tolist()


def passed_on(np):
    def grow(a, *given, **options):
        a.resize(*given, **options)
        return a.tolist()

    return grow(np.arange(3), 5)


HOLDERS = [
    held_by_a_name,
    held_by_two_names,
    held_by_a_list,
    held_by_a_view,
    held_weakly,
    held_weakly_unchecked,
    held_weakly_before,
    passed_on,
]


@pytest.mark.parametrize("program", HOLDERS, ids=lambda program: program.__name__)
def test_holders(program):
    said = []
    for np in (numpy, numelt):
        try:
            said.append(program(np))
        except ValueError as error:
            said.append(str(error))
    assert said[0] == said[1]


EMPTY = {
    "empty": lambda np, shape: np.empty(shape),
    "empty in columns": lambda np, shape: np.empty(shape, "c16", "F"),
    "zeros": lambda np, shape: np.zeros(shape, "i4"),
    "random": lambda np, shape: np.random.default_rng(0).random(shape),
    "flatten": lambda np, shape: np.zeros(shape).flatten(),
    "transpose": lambda np, shape: np.empty(shape).T,
    "sum": lambda np, shape: np.ones(shape) + 1,
    "ravel": lambda np, shape: np.ones(shape).ravel(),
    "product": lambda np, shape: np.ones(shape[::-1]).T @ np.ones(shape[-1:]),
    "picked": lambda np, shape: np.ones(5)[np.ones(shape, int)],
    "joined": lambda np, shape: np.concatenate([np.ones(shape), np.ones(shape)]),
    "row": lambda np, shape: np.ones(shape)[None],
    "copy": lambda np, shape: np.ones(shape).copy("F"),
}


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (2, 0, 3), (0, 0)], ids=str)
@pytest.mark.parametrize("make", EMPTY.values(), ids=EMPTY)
def test_strides_without_elements(make, shape):
    ours, theirs = make(numelt, shape), make(numpy, shape)
    assert (ours.shape, ours.strides) == (theirs.shape, theirs.strides)
    assert ours.flags.c_contiguous == theirs.flags.c_contiguous
