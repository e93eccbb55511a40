"""Functions of the compiled module."""

import threading

import numpy as np
import pytest

from numelt import _core

from .helpers import DTYPES, ours, real, same, sample


def test_creation():
    assert _core.empty((2, 3)).shape == (2, 3)
    assert _core.empty(3, "i4").dtype == np.int32
    assert _core.empty((2, 3), "f8", "F").strides == (8, 16)
    assert _core.empty(2, object) is NotImplemented
    for dtype in DTYPES:
        same(real(_core.full((2, 3), 1, dtype)), np.full((2, 3), 1, dtype))
    same(real(_core.full(3, 2.5)), np.full(3, 2.5))
    same(real(_core.arange(1, 3, 4)), np.arange(1, 13, 3))
    same(real(_core.arange(0.0, 0.25, 8)), np.arange(0, 2, 0.25))
    with pytest.raises(ValueError, match="negative dimensions are not allowed"):
        _core.empty(-1)
    with pytest.raises(ValueError, match="array is too big"):
        _core.empty((2**40, 2**40))
    with pytest.raises(TypeError):
        _core.empty("x")


def test_asarray():
    x = ours(np.arange(3.0))
    assert _core.asarray(x) is x
    assert _core.asarray(x, copy=True) is not x
    same(real(_core.asarray(x, "i4")), np.arange(3, dtype="i4"))
    same(real(_core.asarray([[1, 2], [3, 4.5]])), np.array([[1, 2], [3, 4.5]]))
    same(real(_core.asarray([x, x])), np.array([[0.0, 1, 2]] * 2))
    same(real(_core.asarray(5)), np.asarray(5))
    assert _core.asarray(x, order="F") is x
    same(real(_core.asarray(x, ndmin=2)), np.array(np.arange(3.0), ndmin=2))
    with pytest.raises(ValueError, match="inhomogeneous"):
        _core.asarray([[1], [2, 3]])
    total = x.sum()
    array = _core.asarray(total)
    array += 1
    assert total == 3


def test_strided_and_broadcast():
    x = ours(np.arange(6.0))
    same(
        real(_core.as_strided(x, (4, 3), (8, 8))), np.lib.stride_tricks.sliding_window_view(np.arange(6.0), 3)
    )
    assert _core.as_strided(x, (7,), (8,)) is NotImplemented
    y = _core.broadcast_to(x, (2, 6))
    same(real(y), np.broadcast_to(np.arange(6.0), (2, 6)))
    with pytest.raises(ValueError, match="read-only"):
        y[0] = 1
    assert _core.broadcast_to(x, (6, 2)) is NotImplemented


def test_copy_into():
    x = ours(np.zeros((2, 3)))
    assert _core.copy_into(x, ours(np.arange(3))) is None
    same(real(x), np.array([[0.0, 1, 2]] * 2))
    assert _core.copy_into(ours(np.zeros(3, int)), ours(np.ones(3))) is NotImplemented
    assert _core.copy_into(ours(np.zeros(3, int)), ours(np.ones(3)), "unsafe") is None


def test_where():
    for dtype in DTYPES:
        a, b = sample(dtype, (3, 4), 1), sample(dtype, (4,), 2)
        got = _core.elementwise("where", (ours(a > 2), ours(a), ours(b)))
        same(real(got), np.where(a > 2, a, b))
    c = ours(np.array([0.0, 2.0, np.nan]))
    same(real(_core.elementwise("where", (c, 1, 2.5))), np.where([0.0, 2.0, np.nan], 1, 2.5))
    same(real(_core.elementwise("where", (c, 1, 2))), np.where([0.0, 2.0, np.nan], 1, 2))


def test_ufunc_objects():
    add = _core.ufunc(np.add, "add")
    assert add.nin == 2
    assert add.__name__ == "add"
    assert add.numpy is np.add
    assert add.op == "add"
    assert isinstance(add, np.ufunc)
    assert hash(add) == hash(np.add)
    x, out = ours(np.arange(3.0)), ours(np.zeros(3))
    assert add(x, 1, out=out) is out
    assert add(x, 1, out) is out
    assert out.tolist() == [1, 2, 3]
    assert type(add(1, 2)) is np.int64
    same(real(add([1, 2], [3, 4])), np.array([4, 6]))
    same(real(add(x, x, dtype="f4")), np.add(np.arange(3.0), np.arange(3.0), dtype="f4", casting="same_kind"))
    same(real(add(x, x, where=np.array([True, False, True]), out=out)), np.array([0.0, 2, 4]))
    assert add.reduce(x) == 3
    same(real(add.outer(x, x)), np.add.outer(np.arange(3.0), np.arange(3.0)))
    with pytest.raises(TypeError):
        add(x)
    with pytest.raises(ValueError, match=r"non-broadcastable output operand with shape \(3,\)"):
        add(ours(np.zeros((2, 3))), 1, out=out)
    with pytest.raises(ValueError, match="no operation is called"):
        _core.ufunc(np.add, "nonsense")


def test_inspection(recorded):
    x = ours(np.arange(100.0))
    _core.inspect_start()
    y = x * 2 + 1
    _core.flush()
    reports = _core.inspect_stop()
    assert y[1] == 3
    assert len(reports) == 1
    assert reports[0]["kernel_count"] == (2 if _core.config_get()["fuse"] == "singleton" else 1)
    assert reports[0]["reason"] == "explicit"
    z = y + 1
    assert "add" in _core.explain(z)
    assert "digraph" in _core.explain(z, True)
    assert _core.stats()["native"]["add"] > 0


def test_on_flush():
    heard = []
    _core.set_hooks(on_flush=heard.append)
    try:
        x = ours(np.arange(3.0)) + 1
        x.tolist()
    finally:
        _core.set_hooks(on_flush=None)
    assert heard[0]["kernel_count"] == 1
    with pytest.raises(TypeError, match="no hook is called"):
        _core.set_hooks(nonsense=None)


def test_configuration():
    before = _core.config_get()
    _core.config_set("threads", 1)
    assert _core.config_get()["threads"] == "1"
    _core.config_set("threads", before["threads"])
    with pytest.raises(ValueError, match="unknown setting"):
        _core.config_set("nonsense", 1)
    with pytest.raises(ValueError, match="off, on or sync"):
        _core.config_set("jit", "maybe")


def test_threads_record_side_by_side():
    results = {}

    def work(seed):
        x = ours(np.full(200_000, float(seed)))
        for _ in range(20):
            x = x + 1
            if float(x[0]) < 0:
                return
        results[seed] = float(x.sum())

    threads = [threading.Thread(target=work, args=(s,)) for s in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {s: 200_000.0 * (s + 20) for s in range(4)}


def test_many_temporaries_do_not_leak():
    x = ours(np.ones(10_000))
    for _ in range(2000):
        x = (x + 1) * 0.5
    assert abs(float(x[0]) - 1) < 1e-12
