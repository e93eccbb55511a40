"""NumPy's `nditer`, `broadcast`, `ndenumerate` and `flatiter` read and write the memory of our arrays."""

import numpy
import pytest

import numelt

from ..support.compare import assert_same

CLASSES = ["nditer", "broadcast", "ndenumerate", "flatiter"]

ARRAYS = {
    "whole": lambda np: np.arange(24.0).reshape(4, 6) + 1,
    "integers": lambda np: np.arange(6, dtype="i2").reshape(2, 3) * 2,
    "0-d": lambda np: np.array(3.5),
    "empty": lambda np: np.zeros((0, 3)),
    "strided": lambda np: (np.arange(24.0) * 2)[1::5],
    "backwards": lambda np: (np.arange(24.0).reshape(4, 6) * 2)[::-1, ::-2],
    "columns": lambda np: (np.arange(24.0).reshape(4, 6) * 2).T,
    "swapped": lambda np: np.arange(5, dtype=">i4"),
    "objects": lambda np: np.array([1, "a", None], dtype=object),
    "read-only": lambda np: np.broadcast_to(np.arange(3.0), (2, 3)),
}


@pytest.fixture(params=ARRAYS)
def make(request):
    return ARRAYS[request.param]


@pytest.mark.parametrize("name", CLASSES)
def test_classes_are_ordinary(name):
    cls = getattr(numelt, name)
    assert type(cls) is type
    assert cls.__module__ == "numpy"
    assert cls is getattr(numpy, name)


def test_instances():
    x, theirs = numelt.arange(3.0), numpy.arange(3.0)
    assert isinstance(x.flat, numelt.flatiter)
    assert isinstance(theirs.flat, numelt.flatiter)
    assert not isinstance(x, numelt.flatiter)
    for array in (x, theirs):
        assert type(numelt.nditer(array)) is numelt.nditer
        assert type(numelt.broadcast(array, array)) is numelt.broadcast
        assert type(numelt.ndenumerate(array)) is numelt.ndenumerate


def test_elements_in_order(make):
    def told(np):
        x = make(np)
        flags = ["multi_index", "refs_ok", "zerosize_ok"]
        with np.nditer(x, flags=flags, order="C") as iterator:
            places = [(iterator.multi_index, element.item()) for element in iterator]
        return places, list(np.ndenumerate(x)), list(x.flat)

    assert repr(told(numelt)) == repr(told(numpy))


@pytest.mark.core
@pytest.mark.parametrize("flags", [[], ["external_loop"], ["buffered"], ["buffered", "external_loop"]])
@pytest.mark.parametrize("name", [name for name in ARRAYS if name not in ("objects", "read-only")])
def test_elements_written(flags, name):
    def run(np):
        x = ARRAYS[name](np)
        whole = x if x.base is None else x.base
        with np.nditer(x, flags=[*flags, "zerosize_ok"], op_flags=["readwrite"]) as iterator:
            for element in iterator:
                element[...] = element + 1
        x += 1
        return x, whole

    for ours, theirs in zip(run(numelt), run(numpy), strict=True):
        assert_same(ours, theirs)


def test_results_allocated(make):
    def run(np):
        x = make(np)
        flags = ["refs_ok", "zerosize_ok"]
        with np.nditer([x, None], flags, [["readonly"], ["writeonly", "allocate"]]) as iterator:
            for source, target in iterator:
                target[...] = source
            return iterator.operands[1] * 2 if x.dtype != object else iterator.operands[1]

    assert_same(run(numelt), run(numpy))


def test_written_while_iterated():
    x = numelt.zeros(4)
    for place, element in enumerate(numelt.nditer(x, op_flags=["readwrite"])):
        x[place] = 5
        assert element == 5
        element[...] = place
        assert x[place] == place
    x *= 2
    assert x.tolist() == [0, 2, 4, 6]


def test_read_only_arrays_are_not_written():
    for np in (numelt, numpy):
        with pytest.raises(ValueError, match="read-only"):
            np.nditer(np.broadcast_to(np.arange(3.0), (2, 3)), op_flags=["readwrite"])


def test_broadcast():
    def told(np):
        b = np.broadcast(np.arange(3.0) + 1, np.ones((2, 1)), np.arange(3).sum(), 4)
        return b.shape, b.nd, b.size, b.numiter, list(b), [list(i) for i in b.iters]

    assert told(numelt) == told(numpy)
    with pytest.raises(ValueError, match="shape mismatch"):
        numelt.broadcast(numelt.arange(3), numelt.arange(4))


def test_derived_classes():
    """An iterator of the program that is derived from NumPy's class."""

    class Places(numelt.ndenumerate):
        def __next__(self):
            return super().__next__()[0]

    assert list(Places(numelt.ones((1, 2)))) == [(0, 0), (0, 1)]
