"""Whether results own their memory (`flags.owndata`) and have a `.base` is as in NumPy."""

import numpy
import pytest

import numelt

from ..support import surface
from ..support.surface_records import RECORDS, calls

CALLS = sorted({call for module in RECORDS for examples in calls(module).values() for call in examples})
# NumPy makes these through an intermediate array that does not exist here
APART = {"np.mask_indices(3, np.triu)"}


def arrays(value):
    """Return the properties that describe the memory of each array in a result."""
    if isinstance(value, (tuple, list)):
        return [entry for item in value for entry in arrays(item)]
    if isinstance(value, (numpy.ndarray, numelt.ndarray)):
        flags = value.flags
        entry = (
            bool(flags.owndata),
            value.base is None,
            bool(flags.writeable),
            bool(flags.c_contiguous),
            bool(flags.f_contiguous),
            value.strides,
        )
        return [entry]
    return []


def same(call):
    kind, theirs = surface.run(numpy, call)
    _, ours = surface.run(numelt, call)
    if kind != "error":
        assert arrays(ours) == arrays(theirs), call


@pytest.mark.parametrize("call", CALLS)
def test_results(call):
    same(call)


@pytest.mark.parametrize("call", [call for call in CALLS if call not in APART])
def test_recorded_results(call, recorded):
    """The same with small calls that are not passed to NumPy."""
    numelt._core.inspect_start()
    try:
        same(call)
    finally:
        numelt._core.inspect_stop()


PROGRAMS = [
    "np.ones((5, 3))[:, [0]]",
    "np.ones((5, 3))[[0]]",
    "np.ones((5, 3))[[0], :1]",
    "np.ones((3, 4, 2))[:, [0, 1]]",
    "np.ones((3, 4, 2))[:, 1, [0, 1]]",
    "np.ones((3, 4, 2))[..., [0, 1]]",
    "np.ones((3, 4, 2))[[0, 1], :, [0, 1]]",
    "np.ones((3, 4, 2))[[0, 2], 1:3]",
    "np.ones((3, 4, 2)).T[:, [0, 1]]",
    "np.ones((3, 4))[:, np.ones(4) > 0]",
    "np.ones((3, 4))[np.ones((3, 4)) > 0]",
    "np.ones((3, 4)).T.reshape(-1)",
    "np.ones((3, 4)).reshape(2, 6, order='F')",
    "np.ones((3, 4)).T.ravel()",
    "np.ones((3, 4)).T.flatten()",
    "np.zeros_like(np.broadcast_to(np.ones(3), (2, 3)))",
    "np.empty_like(np.ones((2, 3, 4)).transpose(1, 0, 2))",
    "np.full_like(np.ones((2, 3, 4)).transpose(1, 0, 2), 3)",
    "np.nonzero(np.ones((40, 50)))",
    "np.where(np.ones(3000) > 0)",
    "np.argwhere(np.ones((40, 50)))",
    "np.linspace(0, 1, 3000)",
    "np.linspace(0, 1, 1)",
    "np.tile(np.ones(3000), 2)",
    "np.isclose(np.ones(3000), 1.0)",
    "np.unravel_index(np.arange(3000), (60, 50))",
    "np.asarray(numpy.ones((3, 4))[1:])",
    "np.asarray(numpy.ones((3, 4)).T)",
    "np.asarray(numpy.frombuffer(bytes(8)))",
]


@pytest.mark.core
@pytest.mark.parametrize("program", PROGRAMS)
def test_programs(program):
    names = {"numpy": numpy}
    assert arrays(eval(program, {**names, "np": numelt})) == arrays(eval(program, {**names, "np": numpy}))


@pytest.mark.core
@pytest.mark.parametrize("np", [numpy, numelt])
def test_resize_asks_who_owns(np):
    owned = np.zeros_like(np.broadcast_to(np.ones(3), (2, 3)))
    owned.resize((3, 3), refcheck=False)
    assert owned.shape == (3, 3)
    for window in (np.ones((3, 4)).T.reshape(-1), np.ones((5, 3))[:, [0, 1]], np.nonzero(np.ones(5))[0]):
        with pytest.raises(ValueError, match="cannot resize this array: it does not own its data"):
            window.resize(2, refcheck=False)


@pytest.mark.core
def test_base_is_one_object():
    a = numelt.ones((5, 3))[:, [0, 1]]
    assert a.base is a.base
    a.base[0, 0] = 7
    assert float(a[0, 0]) == 7
    rows, columns = numelt.nonzero(numelt.ones((2, 3)))
    assert rows.base is columns.base
    assert rows.base.shape == (6, 2)


FOREIGN = ["O", "U3", "M8[s]", "q", "g", ">f8", [("a", "i4"), ("b", "f8")]]
VIEWS = {
    "slice": lambda np, a: a[1:],
    "slice of a slice": lambda np, a: a[1:][1:],
    "transposed": lambda np, a: a.T,
    "diagonal": lambda np, a: a.diagonal(),
    "ravel": lambda np, a: a.ravel(),
    "reshape": lambda np, a: a.reshape(-1),
    "new axis": lambda np, a: a[..., None],
    "expand_dims": lambda np, a: np.expand_dims(a, 0),
    "swapaxes": lambda np, a: a.swapaxes(0, 1),
    "view": lambda np, a: a.view(),
    "split": lambda np, a: np.split(a, 3)[1],
    "atleast": lambda np, a: np.atleast_3d(a),
    "itself": lambda np, a: np.asarray(a),
    "broadcast": lambda np, a: np.broadcast_to(a, (2, 3, 4)),
    "copy": lambda np, a: a.copy(),
    "same dtype": lambda np, a: a.astype(a.dtype, copy=False),
    "bytes": lambda np, a: a.view("V1") if a.dtype != object else a,
    "ravelled twice": lambda np, a: np.ravel(a).reshape(4, 3)[1:, ::2],
}


@pytest.mark.parametrize("dtype", [*FOREIGN, "f8"], ids=str)
@pytest.mark.parametrize("way", VIEWS)
def test_views_of_arrays_that_are_not_native(way, dtype):
    told = []
    for np in (numelt, numpy):
        a = np.zeros((3, 4), dtype)
        v = VIEWS[way](np, a)
        told.append((v is a, v.base is a, v.base is v.base, v[:1].base is a, str(v.flags), a.base is None))
    assert told[0] == told[1]


def test_fields_have_their_records_as_base():
    told = []
    for np in (numelt, numpy):
        a = np.zeros(3, [("a", "i4"), ("b", "f8"), ("c", "U2")])
        views = [a["a"], a["b"][1:], a[["a", "b"]], a["c"], a["c"][::2]]
        told.append([(v.base is a, v.flags.owndata) for v in views])
        del a
        told[-1] += [v.base.shape for v in views]
    assert told[0] == told[1]


def test_a_base_lives_as_long_as_its_views():
    import gc
    import weakref

    a = numelt.zeros((3, 4), "U3")
    gone = weakref.ref(a)
    v = a[1:]
    del a
    assert v.base is gone()
    assert v.base.shape == (3, 4)
    del v
    gc.collect()
    assert gone() is None
