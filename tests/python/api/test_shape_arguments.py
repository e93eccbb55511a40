"""Which arguments are accepted as shapes, and how many dimensions an array may have, is as in NumPy."""

import itertools

import numpy
import pytest

import numelt

FULL = (1,) * 64
MORE = (1,) * 65


class Extents:
    """A sequence without any other properties."""

    def __init__(self, *extents):
        self.extents = extents

    def __len__(self):
        return len(self.extents)

    def __getitem__(self, at):
        return self.extents[at]


def outcome(act, np):
    try:
        result = act(np)
    except Exception as error:
        return type(error), str(error)
    return getattr(result, "shape", result)


# functions that take a shape
TAKERS = {
    "zeros": lambda np, shape: np.zeros(shape),
    "ones": lambda np, shape: np.ones(shape),
    "empty": lambda np, shape: np.empty(shape),
    "full": lambda np, shape: np.full(shape, 2.5),
    "ndarray": lambda np, shape: np.ndarray(shape),
    "zeros_like": lambda np, shape: np.zeros_like(np.zeros(6), shape=shape),
    "ones_like": lambda np, shape: np.ones_like(np.zeros(6), shape=shape),
    "empty_like": lambda np, shape: np.empty_like(np.zeros(6), shape=shape),
    "full_like": lambda np, shape: np.full_like(np.zeros(6), 1, shape=shape),
    "reshape": lambda np, shape: np.reshape(np.arange(6), shape),
    "ndarray.reshape": lambda np, shape: np.arange(6).reshape(shape),
    "shape of an array": lambda np, shape: setattr(np.arange(6), "shape", shape),
    "ndarray.resize": lambda np, shape: np.arange(6).resize(shape),
    "random": lambda np, shape: np.random.default_rng(0).random(shape),
}
SHAPES = {
    "a generator": lambda: (n for n in (2, 3)),
    "an endless iterator": itertools.count,
    "an iterator": lambda: iter([2, 3]),
    "a map": lambda: map(int, "23"),
    "a set": lambda: {2, 3},
    "a dictionary": lambda: {6: 1},
    "a list": lambda: [2, 3],
    "a range": lambda: range(2, 4),
    "an array": lambda: numpy.array([2, 3]),
    "a sequence": lambda: Extents(2, 3),
    "a number": lambda: 6,
    "a number of NumPy's": lambda: numpy.int8(6),
    "a float": lambda: 6.0,
    "floats": lambda: (2.0, 3),
    "a text": lambda: "23",
    "65 of them": lambda: MORE,
    "a list of 65": lambda: list(MORE),
    "a sequence of 65": lambda: Extents(*MORE),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("taker", TAKERS)
def test_what_is_a_shape(taker, shape):
    # both libraries get the same object, because its address is in the message; NumPy does not consume it
    given = SHAPES[shape]()
    theirs = outcome(lambda np: TAKERS[taker](np, given), numpy)
    assert outcome(lambda np: TAKERS[taker](np, given), numelt) == theirs


def test_an_array_of_ours_is_a_shape():
    assert numelt.zeros(numelt.array([2, 3])).shape == (2, 3)
    assert numelt.arange(6).reshape(numelt.array([2, 3])).shape == (2, 3)


@pytest.mark.parametrize("axes", [itertools.count, lambda: iter([1, 0]), lambda: {0, 1}, lambda: [1, 0]])
def test_axes_of_transpose(axes):
    given = axes()
    for act in (lambda np: np.ones((2, 3)).transpose(given), lambda np: np.transpose(np.ones((2, 3)), given)):
        assert outcome(act, numelt) == outcome(act, numpy)


LIMIT = {
    "stack": lambda np: np.stack([np.zeros(FULL)] * 2),
    "stack at the end": lambda np: np.stack([np.zeros(FULL)] * 2, axis=-1),
    "expand_dims": lambda np: np.expand_dims(np.zeros(FULL), 0),
    "expand_dims by many": lambda np: np.expand_dims(np.zeros(3), tuple(range(64))),
    "newaxis": lambda np: np.zeros(FULL)[None],
    "newaxis at the end": lambda np: np.zeros(FULL)[..., None],
    "a truth value": lambda np: np.zeros(FULL)[True],
    "some positions": lambda np: np.zeros(FULL[:60])[np.zeros(FULL[:5], int)],
    "an array of positions": lambda np: np.zeros(FULL[:60])[np.zeros(FULL[:6], int)],
    "many positions": lambda np: np.zeros(FULL[:60])[np.zeros(FULL[:7], int)],
    "broadcast_to": lambda np: np.broadcast_to(np.zeros(1), MORE),
    "sliding_window_view": lambda np: np.lib.stride_tricks.sliding_window_view(np.zeros(FULL), 1, axis=0),
    "as_strided": lambda np: np.lib.stride_tricks.as_strided(np.zeros(1), MORE, (0,) * 65),
    "outer": lambda np: np.add.outer(np.zeros(FULL[:40]), np.zeros(FULL[:40])),
    "outer of 65": lambda np: np.subtract.outer(np.zeros(FULL[:32]), np.zeros(FULL[:33])),
    "tensordot": lambda np: np.tensordot(np.zeros(FULL[:40]), np.zeros(FULL[:40]), 0),
    "dot": lambda np: np.dot(np.zeros(FULL[:40]), np.zeros(FULL[:40])),
    "inner": lambda np: np.inner(np.zeros(FULL[:40]), np.zeros(FULL[:40])),
    "kron": lambda np: np.kron(np.zeros(FULL[:33]), np.zeros(FULL[:2])),
    "tile": lambda np: np.tile(np.zeros(1), MORE),
    "meshgrid": lambda np: np.meshgrid(*[np.zeros(1)] * 65),
    "indices": lambda np: np.indices(FULL),
    "indices of 65": lambda np: np.indices(MORE),
    "indices, sparse": lambda np: len(np.indices(FULL, sparse=True)),
    "mgrid": lambda np: np.mgrid[(slice(0, 1),) * 65],
    "fromfunction": lambda np: np.fromfunction(lambda *at: at, MORE),
    "ndmin": lambda np: np.array(0.0, ndmin=65),
    "resize": lambda np: np.resize(np.zeros(1), MORE),
    "unravel_index": lambda np: np.unravel_index(0, MORE),
    "unravel_index of an array": lambda np: np.unravel_index(np.zeros(2000, int), MORE),
    "linspace": lambda np: np.linspace(np.zeros(FULL), 1, 3),
    "64": lambda np: np.stack([np.zeros(FULL[:63])] * 2)[..., :0],
    "as many as there may be": lambda np: np.zeros(FULL).reshape(FULL).T[0][None],
}


@pytest.mark.parametrize("name", LIMIT)
def test_no_array_has_more_than_64_dimensions(name):
    assert outcome(LIMIT[name], numelt) == outcome(LIMIT[name], numpy)


def test_taking_makes_no_more_than_64_dimensions():
    # NumPy's own function ends the process here, so there is nothing to compare with
    x, index = numelt.zeros((2000, *FULL[:40])), numelt.zeros((2000, *FULL[:40]), int)
    with pytest.raises(ValueError, match=r"number of dimensions must be within \[0, 64\], got 81"):
        numelt.take(x, index, axis=0)
