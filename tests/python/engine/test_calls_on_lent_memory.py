"""Calls that NumPy's functions carry out on lent memory: what stays pending, and what results are views."""

import copy
import gc
import pickle
import traceback
import warnings

import numpy
import pytest

import numelt

from ..support.compare import assert_same


def test_pending_operands_are_computed_first():
    x = numelt.arange(6.0)
    y = x * 2 + 1
    assert_same(numelt.gradient(y), numpy.full(6, 2.0))
    assert_same(numelt.sort(y[::-1]), numpy.arange(6.0) * 2 + 1)


def test_views_that_are_results_are_views_of_ours():
    a = numelt.arange(9.0).reshape(3, 3) + 0
    d = numelt.linalg.diagonal(a)
    assert type(d) is numelt.ndarray
    assert numelt.shares_memory(d, a)
    a += 1
    assert_same(d, numpy.array([1.0, 5.0, 9.0]))
    assert not d.flags.writeable


def test_memory_is_lazy_again_after_a_call():
    x = numelt.arange(2000.0)
    numelt.flush()
    numelt.sort(x)
    numelt.linalg.norm(x)
    with numelt.inspect() as seen:
        y = x + 1
        assert len(seen.flushes) == 0
        del y


def test_an_array_kept_by_a_traceback_stays_valid():
    x = numelt.arange(5.0)
    try:
        numelt.median(x, axis=9)
    except numpy.exceptions.AxisError as error:
        frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
        kept = [v for f in frames for v in f.f_locals.values() if type(v) is numpy.ndarray]
    del x
    gc.collect()
    fill = [numelt.full(5, -1.0) + 0 for _ in range(50)]
    numelt.flush()
    assert any(numpy.array_equal(v, numpy.arange(5.0)) for v in kept)
    del fill


def test_output_and_in_place():
    x, out = numelt.array([3.0, 1.0, 2.0]), numelt.empty(3)
    assert numelt.median(x.reshape(1, 3), axis=0, out=out) is out
    assert_same(out, numpy.array([3.0, 1.0, 2.0]))
    numelt.fill_diagonal(a := numelt.zeros((3, 3)), 2)
    assert_same(a, numpy.eye(3) * 2)
    numelt.random.shuffle(x)
    assert sorted(x.tolist()) == [1.0, 2.0, 3.0]


def test_fallbacks_are_counted_at_the_users_line():
    numelt.coverage(reset=True)
    words = numelt.array(["a", "b"])
    for _ in range(3):
        numelt.char.upper(words)
    entries = [e for e in numelt.coverage().fallbacks if e.function == "char.upper"]
    assert [(e.filename, e.calls) for e in entries] == [(__file__, 3)]
    numelt.config.fallback = "error"
    try:
        with pytest.raises(numelt.FallbackError, match=r"char\.upper"):
            numelt.char.upper(words)
    finally:
        numelt.config.fallback = "silent"


def test_warnings_are_the_users_lines():
    x = numelt.array([numpy.nan, numpy.nan])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        numelt.nanmean(x)
        numelt.char.upper(numelt.array(["a"]))
    assert [w.filename for w in caught] == [__file__]


def test_functions_look_like_functions():
    for f in (numelt.gradient, numelt.sort, numelt.char.upper, numelt.result_type, numelt.linalg.norm):
        assert pickle.loads(pickle.dumps(f)) is f
        assert copy.deepcopy(f) is f
        assert f.__name__ in repr(f)
        assert f.__doc__

    class Holder:
        bound = numelt.gradient

    assert_same(numelt.ndarray.argpartition(numelt.arange(3), 1), numpy.arange(3))
    with pytest.raises(TypeError, match="number of arguments"):  # a method gets the instance, like NumPy's
        Holder().bound(numelt.arange(3.0))


def test_what_is_asked_for_may_be_large():
    numelt.flush()
    x = numelt.linspace(0.0, 1.0, 3_000_000)
    assert "linspace" in str(numelt.explain()) or numelt._core.pending()
    assert float(x[-1]) == 1.0


def test_storing_waits_for_readers():
    x = numelt.arange(2000.0)
    place = numelt.array([0, 1])
    numelt.flush()
    y = x * 2  # not run yet
    x[place] = -1.0
    assert y[:2].tolist() == [0.0, 2.0]
    assert x[:3].tolist() == [-1.0, -1.0, 2.0]


def test_in_place_methods_of_ufuncs():
    for np in (numpy, numelt):
        x = np.zeros(4)
        np.add.at(x, [0, 0, 2], [1.0, 2.0, 3.0])
        np.subtract.at(x, np.array([1]), 1.0)
        assert_same(x, numpy.array([3.0, -1.0, 3.0, 0.0]))
        with pytest.raises(IndexError, match="out of bounds"):
            np.add.at(x, [4], 1.0)


def test_users_ufuncs_stay_counted():
    numelt.coverage(reset=True)
    double = numelt.frompyfunc(lambda v: v * 2, 1, 1)
    assert double(numelt.arange(3)).tolist() == [0, 2, 4]
    assert numelt.coverage().fallback_calls == 1
