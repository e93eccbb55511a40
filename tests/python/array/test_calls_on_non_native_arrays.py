"""Calls on arrays of records, text, dates and objects, which NumPy carries out."""

import numpy
import pytest

import numelt

from ..support.compare import as_numpy, assert_same
from ..support.outcomes import outcome

pytestmark = pytest.mark.quick


FOREIGN = {
    "records": lambda np: np.array([(1, 2.5, "a"), (3, -1.0, "b")], [("n", "i4"), ("x", "f8"), ("s", "U2")]),
    "packed": lambda np: np.array([(1, 2.5, True), (3, -1.0, False)], [("n", "i1"), ("x", "f8"), ("b", "?")])[
        "x"
    ],
    "text": lambda np: np.array(["b", "a", "cc"]),
    "dates": lambda np: np.array(["2024-01-01", "2024-03-05"], "M8[D]"),
    "durations": lambda np: np.array([3, -5], "m8[h]"),
    "swapped": lambda np: np.arange(6).astype(">u4"),
    "objects": lambda np: np.array([1, 2.5, None], object),
}


CALLS = {
    "view": lambda np, a: a.view(),
    "view of bytes": lambda np, a: a.view(np.uint8),
    "view by name": lambda np, a: a.view("i1"),
    "view by keyword": lambda np, a: a.view(dtype=np.int8),
    "view of a class": lambda np, a: a.view(np.ndarray),
    "astype": lambda np, a: a.astype(int),
    "astype text": lambda np, a: a.astype("U8"),
    "astype keywords": lambda np, a: a.astype(a.dtype, copy=False),
    "astype wrong": lambda np, a: a.astype(foo=1),
    "reshape": lambda np, a: a.reshape(1, -1),
    "reshape F": lambda np, a: a.reshape((-1, 1), order="F"),
    "ravel": lambda np, a: a.ravel(),
    "transpose": lambda np, a: a.transpose(),
    "transpose wrong": lambda np, a: a.transpose(1, 0),
    "squeeze": lambda np, a: a.reshape(1, -1).squeeze(0),
    "sum": lambda np, a: a.sum(),
    "max": lambda np, a: a.max(),
    "argsort": lambda np, a: a.argsort(kind="stable"),
    "searchsorted": lambda np, a: a.searchsorted(a[0]),
    "cumsum": lambda np, a: a.cumsum(),
    "where": lambda np, a: np.where(np.arange(a.size) > 0, a, a[0]),
    "reduce": lambda np, a: np.add.reduce(a),
    "reduceat": lambda np, a: np.maximum.reduceat(a, [0, 1]),
    "item": lambda np, a: a[0],
    "items": lambda np, a: list(a),
    "mask": lambda np, a: a[np.arange(a.size) > 0],
    "list": lambda np, a: np.array([item for item in a if True], object),
    "unique": lambda np, a: np.unique(a, return_counts=True),
}


@pytest.mark.parametrize("kind", FOREIGN)
@pytest.mark.parametrize("call", CALLS)
def test_arrays_that_are_not_native(kind, call):
    (ours, _), (theirs, _) = (
        outcome(lambda np: CALLS[call](np, FOREIGN[kind](np)), np) for np in (numelt, numpy)
    )
    if isinstance(theirs, tuple) and isinstance(theirs[0], type):
        assert ours[0] is theirs[0]
    elif isinstance(theirs, (list, tuple)):
        assert [str(as_numpy(a)) for a in ours] == [str(a) for a in theirs]
    else:
        assert_same(ours, theirs)
