"""Memory shared with plain NumPy: exports, adoption, and back; protocols."""

import copy
import gc
import pickle
import subprocess
import sys
import weakref

import numpy as np
import pytest

from numelt import _core

from .helpers import ours, real, same


def test_exports_follow_writes_both_ways(recorded):
    x = ours(np.arange(5.0))
    shared = np.asarray(x)
    x += 1
    assert shared.tolist() == [1, 2, 3, 4, 5]
    shared[0] = 50
    assert (x * 2).tolist()[0] == 100
    tail = shared[2:]
    del shared
    x[:] = 7
    assert tail.tolist() == [7, 7, 7]
    del tail
    x += 1
    assert _core.pending() > 0


def test_adopted_memory_is_shared():
    a = np.arange(5.0)
    x = _core.from_numpy(a, False)
    x *= 2
    assert a.tolist() == [0, 2, 4, 6, 8]
    a[0] = 9
    assert x[0] == 9
    part = _core.from_numpy(a[1:], False)
    part[:] = 0
    assert x.tolist() == [9, 0, 0, 0, 0]


def test_two_adoptions_of_overlapping_memory():
    want = np.arange(5000.0)
    a = want.copy()
    x, y = _core.from_numpy(a[1:], False), _core.from_numpy(a[:-1], False)
    x[...] = y
    want[1:] = want[:-1]
    np.testing.assert_array_equal(a, want)
    x += y * 2
    want[1:] += want[:-1] * 2
    np.testing.assert_array_equal(a, want)


def test_small_real_operands_do_not_force_work(recorded):
    x = ours(np.ones(4))
    _core.flush()
    y = x + np.arange(4.0)
    assert _core.pending() > 0
    same(real(y), np.arange(4.0) + 1)


def test_arrays_come_back_as_views():
    x = ours(np.arange(6.0))
    shared = _core.to_numpy(x)
    assert _core.from_numpy(shared, False) is x
    back = _core.from_numpy(shared[::2], False)
    assert back.base is x
    back[:] = -1
    assert x.tolist() == [-1, 1, -1, 3, -1, 5]
    through_memoryview = _core.from_numpy(np.frombuffer(memoryview(x)), False)
    through_memoryview[0] = 8
    assert x[0] == 8


def test_fresh_adoption_is_lazy_and_released(recorded):
    a = np.arange(4.0)
    watch = weakref.ref(a)
    x = _core.from_numpy(a, True)
    del a
    y = x + 1
    assert _core.pending() > 0
    del x
    _core.flush()
    gc.collect()
    assert watch() is None
    assert y.tolist() == [1, 2, 3, 4]


def test_exported_memory_outlives_the_array():
    x = ours(np.arange(1000.0))
    shared = np.asarray(x)
    del x
    others = [ours(np.zeros(1000)) + 1 for _ in range(20)]
    _core.flush()
    assert shared[999] == 999
    assert len(others) == 20


def test_foreign_dtypes():
    x = _core.from_numpy(np.array([1, "a", None], object), True)
    assert x.dtype == object
    assert x.shape == (3,)
    assert x[1] == "a"
    h = _core.from_numpy(np.arange(3).astype("g"), True)
    assert (h + 1).dtype == np.longdouble
    h += 1
    assert h.tolist() == [1, 2, 3]
    swapped = _core.from_numpy(np.arange(3).astype(">f8"), True)
    assert real(swapped + ours(np.ones(3))).tolist() == [1, 2, 3]
    when = _core.from_numpy(np.array(["2020-01-01"], "M8[D]"), True)
    assert str((when + np.timedelta64(1, "D"))[0]) == "2020-01-02"


def test_protocols():
    a = np.arange(6.0).reshape(2, 3)
    x = ours(a)
    assert memoryview(x).shape == (2, 3)
    assert x.__array_interface__["shape"] == (2, 3)
    np.testing.assert_array_equal(np.from_dlpack(x), a)
    assert np.asarray(x, dtype=int).dtype == int
    assert np.array(x, copy=True).flags.owndata
    with pytest.raises(ValueError, match="Unable to avoid copy"):
        np.asarray(x, dtype=int, copy=False)
    assert bytes(x.data) == a.tobytes()
    assert x.tobytes() == a.tobytes()
    assert repr(x) == repr(a)
    assert str(x) == str(a)
    with pytest.raises(TypeError, match="unhashable"):
        hash(x)
    with pytest.raises(
        ValueError, match="The truth value of an array with more than one element is ambiguous"
    ):
        bool(x)
    assert bool(ours(np.array([3.0])))
    assert int(ours(np.array(3.7))) == 3
    assert float(ours(np.array(3.5))) == 3.5
    assert type(np.sin(x)) is type(x)
    assert np.sin(x).__class__ is x.__class__


def test_copies_and_pickles():
    x = ours(np.arange(6.0).reshape(2, 3))[:, ::2]
    for other in (copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x)), x.copy()):
        same(real(other), real(x))
        other[0] = 99
        assert x[0, 0] == 0


class Absent:
    __array_ufunc__ = None

    def __radd__(self, other):
        return "mine"


class Important:
    __array_priority__ = 10

    def __rmul__(self, other):
        return "mine"


class Overrides:
    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return ufunc.__name__


def test_other_classes_take_over():
    x = ours(np.ones(3))
    assert x + Absent() == "mine"
    assert x * Important() == "mine"
    assert np.add(x, Overrides()) == "add"


def test_a_subclass_of_numpy_keeps_its_type():
    matrix = np.matrix([[1.0, 2], [3, 4]])
    x = ours(np.ones((2, 2)))
    assert type(x * matrix) is np.matrix
    masked = np.ma.array([1.0, 2], mask=[0, 1])
    assert isinstance(ours(np.ones(2)) + masked, np.ma.MaskedArray)


def test_flags():
    a = np.arange(12.0).reshape(3, 4)
    for view in (lambda v: v, lambda v: v.T, lambda v: v[::2], lambda v: v[:, :1]):
        got, want = view(ours(a)).flags, view(a).flags
        for name in ("C_CONTIGUOUS", "F_CONTIGUOUS", "WRITEABLE", "ALIGNED", "CARRAY", "FARRAY", "FORC"):
            assert got[name] == want[name], name
        assert got.c_contiguous == want.c_contiguous
    x = ours(a)
    assert x.flags.owndata
    assert not x[1:].flags.owndata
    x.flags.writeable = False
    assert not x[1:].flags.writeable


def test_interpreter_exit_with_pending_work():
    code = """
import numpy as np
from numelt import _core as c
x = c.full((1000,), 1.0); y = x + x; z = np.asarray(x); y += 1
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""


def test_fork_goes_on_in_the_child():
    code = """
import os
from numelt import _core as c
x = c.full((500000,), 1.0); y = x + x; c.flush(); y = y * 3
pid = os.fork()
if pid == 0:
    os._exit(0 if float((y + 1).sum()) == 3500000 else 1)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
assert float(y.sum()) == 3000000
"""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
