"""Operators: other classes are asked, errors are propagated, and nothing is kept longer than needed."""

import gc
import operator
import sys
import weakref

import numpy
import pytest

import numelt
from numelt import _core

from ..support.compare import as_numpy, in_threads

pytestmark = pytest.mark.quick


BINARY = [operator.add, operator.sub, operator.mul, operator.truediv]


class Deferring:
    """An operand that must be asked."""

    __array_ufunc__ = None

    def __radd__(self, other):
        return "radd", other

    __rsub__ = __rmul__ = __rtruediv__ = __radd__


def test_what_cannot_be_written_stays():
    a = numelt.arange(3.0)
    a.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        a += 1
    assert a.tolist() == [0, 1, 2]


@pytest.mark.parametrize("op", BINARY, ids=lambda op: op.__name__)
def test_other_classes_are_asked(op):
    a, other = numelt.arange(3.0), Deferring()
    word, given = op(a, other)
    assert word == "radd"
    assert given is a
    with pytest.raises(TypeError):
        op(a, None)
    with pytest.raises(TypeError):
        op(a, "x")


def test_objects_and_subclasses():
    objects = numelt.array([1, None, "a"], dtype=object)
    with pytest.raises(TypeError):
        objects + 1
    assert (numelt.array([1, 2], dtype=object) + 1).tolist() == [2, 3]

    class Own(numelt.ndarray):
        pass

    own = numelt.arange(3.0).view(Own)
    assert isinstance(own + 1, Own)
    assert isinstance(1 + own, Own)
    assert isinstance(numelt.arange(3.0) + own, Own)


def test_derived_from_the_core_class():
    class Derived(_core.ndarray):
        pass

    made = Derived((3,))
    made[...] = 2.0
    assert as_numpy(made + 1.0).tolist() == [3, 3, 3]
    assert as_numpy(1.0 + made).tolist() == [3, 3, 3]
    made += 1.0
    assert type(made) is Derived
    assert as_numpy(made).tolist() == [3, 3, 3]
    gone = weakref.ref(made)
    before = sys.getrefcount(Derived)
    del made
    gc.collect()
    assert gone() is None
    assert sys.getrefcount(Derived) == before - 1


def test_objects_end_when_nobody_holds_them():
    ended = []
    a = numelt.arange(10.0)
    weakref.finalize(a, ended.append, "a")
    view = a[2:]
    weakref.finalize(view, ended.append, "view")
    gone = weakref.ref(view)
    del a
    assert ended == []
    total = view + 1
    del view
    assert sorted(ended) == ["a", "view"]
    assert gone() is None
    assert total.tolist() == [3, 4, 5, 6, 7, 8, 9, 10]


def test_memory_of_others_is_let_go_with_its_last_view():
    class Owner(numpy.ndarray):
        pass

    theirs = numpy.arange(6.0).view(Owner)
    gone = weakref.ref(theirs)
    a = numelt.asarray(theirs)
    b = a[1:]
    result = (b + 1).tolist()
    del theirs, a, b
    numelt.flush()
    gc.collect()
    assert gone() is None
    assert result == [2, 3, 4, 5, 6]


def test_the_class_is_counted():
    x = numelt.arange(4.0)
    # use up the memory that is kept of freed objects, which also holds the class
    drained = [x + i for i in range(200)]
    before = sys.getrefcount(_core.ndarray)
    counts = []
    for _ in range(3):
        held = [x + i for i in range(200)]
        counts.append(sys.getrefcount(_core.ndarray))
        assert held.pop().tolist()[0] == 199.0
        held.clear()
        counts.append(sys.getrefcount(_core.ndarray))
    full, empty = counts[2::2], counts[3::2]
    assert full[0] == full[1]
    assert empty[0] == empty[1]
    assert 195 <= full[0] - before <= 205
    assert 0 <= empty[0] - before <= 70
    del drained
    again = [x[1:] * 2 for _ in range(300)]
    assert all(part.tolist() == [2, 4, 6] for part in again)


def test_errors_pass_through():
    a, b = numelt.arange(3.0), numelt.arange(4.0)
    with pytest.raises(ValueError, match="could not be broadcast"):
        a + b
    with pytest.raises(ValueError, match="could not be broadcast"):
        a += b
    with numelt.errstate(divide="raise"), pytest.raises(FloatingPointError):
        a / 0.0


def test_threads_record_while_others_flush():
    """Recording takes no lock, unless a thread computes without the interpreter's lock."""

    def work(seed):
        for turn in range(30):
            n = 60_000 if turn % 3 == seed % 3 else 50
            x = numpy.arange(n) % 7 + seed
            a = numelt.array(x, dtype="float64")
            for _ in range(5):
                a = a * 2.0 + 1.0
            a += x
            expected = (x * 32.0 + 31.0) + x
            assert numpy.array_equal(as_numpy(a), expected), turn

    in_threads(work, range(6))
