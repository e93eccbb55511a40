"""Dtypes with metadata: arrays pass the metadata on where NumPy's do, also to NumPy."""

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import numelt

MARKED = numpy.dtype("f8", metadata={"unit": "m"})
DTYPES = {
    "float": MARKED,
    "bool": numpy.dtype("?", metadata={"unit": 1}),
    "int": numpy.dtype("i4", metadata={"unit": 1}),
    "complex": numpy.dtype("F", metadata={"unit": 1}),
    "object": numpy.dtype("O", metadata={"unit": 1}),
    "text": numpy.dtype("U3", metadata={"unit": 1}),
    "record": numpy.dtype([("a", MARKED), ("b", "i4")]),
    "nested": numpy.dtype([("c", [("a", MARKED), ("b", "i4")]), ("d", MARKED, (2,))]),
    "big-endian": numpy.dtype(">f8", metadata={"unit": 1}),
}


def _metadata(dtype: Any) -> Any:
    fields = {name: _metadata(field[0]) for name, field in (dtype.fields or {}).items()}
    return (
        dtype.str,
        dtype.metadata and dict(dtype.metadata),
        fields,
        dtype.subdtype and _metadata(dtype.base),
    )


WAYS: dict[str, Callable[[Any, Any], Any]] = {
    "zeros": lambda np, d: np.zeros(3, d),
    "ones": lambda np, d: np.ones(3, d),
    "empty": lambda np, d: np.empty((2, 3), dtype=d),
    "full": lambda np, d: np.full(3, np.zeros(1, d)[0], dtype=d),
    "of a list": lambda np, d: np.array([], dtype=d),
    "of an array": lambda np, d: np.array(np.zeros(3, d)),
    "asked of an array": lambda np, d: np.asarray(np.zeros(3, d), dtype=d),
    "astype": lambda np, d: np.zeros(3, numpy.dtype(d.descr) if d.fields else d.str).astype(d),
    "copy": lambda np, d: np.zeros(3, d).copy(),
    "slice": lambda np, d: np.zeros((4, 2), d)[::2],
    "pick": lambda np, d: np.zeros(4, d)[np.array([0, 2])],
    "mask": lambda np, d: np.zeros(4, d)[np.arange(4) > 1],
    "like": lambda np, d: np.zeros_like(np.zeros(3, d)),
    "reshape": lambda np, d: np.zeros((2, 2), d).reshape(4).T,
    "concatenate": lambda np, d: np.concatenate([np.zeros(2, d), np.zeros(2, d)]),
    "view": lambda np, d: np.zeros(2, d).view(),
    "flat": lambda np, d: np.zeros((2, 2), d).ravel(),
    "where": lambda np, d: np.where(np.arange(3) > 1, np.zeros(3, d), np.ones(3, d)),
}
ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda np, d: np.ones(3, d) + np.ones(3, d),
    "add a number": lambda np, d: np.ones(3, d) + 1,
    "multiply": lambda np, d: 2 * np.ones(3, d),
    "in place": lambda np, d: np.add(np.ones(3, d), 1, out=np.zeros(3, d)),
    "sum": lambda np, d: np.ones((3, 2), d).sum(axis=0),
    "compare": lambda np, d: np.ones(3, d) == 1,
}


def _result(function: Any, np: Any, dtype: Any) -> Any:
    try:
        found = function(np, dtype)
    except (TypeError, ValueError) as error:
        return type(error)
    return _metadata(found.dtype), found.shape, repr(found.tolist())


@pytest.mark.parametrize("name", WAYS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_metadata_stays(dtype: str, name: str) -> None:
    if name == "empty":
        results = [_metadata(np.empty((2, 3), DTYPES[dtype]).dtype) for np in (numpy, numelt)]
    else:
        results = [_result(WAYS[name], np, DTYPES[dtype]) for np in (numpy, numelt)]
    assert results[1] == results[0]


@pytest.mark.parametrize("name", ARITHMETIC)
@pytest.mark.parametrize("dtype", ["float", "int", "complex", "bool", "object"])
def test_metadata_of_results(dtype: str, name: str) -> None:
    results = [_result(ARITHMETIC[name], np, DTYPES[dtype]) for np in (numpy, numelt)]
    assert results[1] == results[0]


@pytest.mark.parametrize("dtype", DTYPES)
def test_numpy_gets_metadata(dtype: str) -> None:
    ours = numelt.zeros(3, DTYPES[dtype])
    for real in (numpy.asarray(ours), numpy.array(ours, order="C"), numpy.asanyarray(ours[::2])):
        assert _metadata(real.dtype) == _metadata(numpy.zeros(3, DTYPES[dtype]).dtype)
    assert numpy.shares_memory(numpy.asarray(ours), ours)
    theirs = numelt.asarray(numpy.zeros(3, DTYPES[dtype]))
    assert _metadata(theirs.dtype) == _metadata(ours.dtype)


def test_kinds_of_h5py_are_stored() -> None:
    h5py = pytest.importorskip("h5py")
    pairs = numelt.dtype([("a", h5py.vlen_dtype(numelt.int32)), ("b", h5py.string_dtype())])
    kinds = h5py.enum_dtype({"RED": 1, "BLUE": 2}, basetype="i1")
    with h5py.File("some", "w", driver="core", backing_store=False) as file:
        file["pairs"] = numelt.array([(numelt.arange(2, dtype="i4"), "x")], dtype=pairs)
        file["kinds"] = numelt.zeros(3, dtype=kinds)
        file.attrs["kinds"] = numelt.ones(2, dtype=kinds)
        assert file["pairs"][0][0].tolist() == [0, 1]
        assert h5py.check_enum_dtype(file["kinds"].dtype) == {"RED": 1, "BLUE": 2}
        assert h5py.check_enum_dtype(file.attrs["kinds"].dtype) == {"RED": 1, "BLUE": 2}


PARTS = [
    numpy.dtype(("i4", [("low", "i2"), ("high", "i2")])),
    numpy.dtype(("i4", {"low": ("i2", 0), "high": ("i2", 2)})),
    numpy.dtype(("u8", [("low", "u4"), ("high", "u4")])),
    numpy.dtype(("f8", [("low", "u4"), ("high", "u4")])),
]
MAKERS: dict[str, Callable[[Any, Any], Any]] = {
    "zeros": lambda np, dtype: np.zeros(3, dtype),
    "empty_like": lambda np, dtype: np.empty_like(np.zeros(3, dtype)) * 0,
    "full": lambda np, dtype: np.full(3, 70000, dtype),
    "array": lambda np, dtype: np.array([1, 2, 70000], dtype),
    "asarray": lambda np, dtype: np.asarray([1, 2, 70000], dtype),
    "astype": lambda np, dtype: np.arange(70000, 70004).astype(dtype),
    "view": lambda np, dtype: (np.arange(70000, 70004).astype(dtype.str)).view(dtype),
    "copy": lambda np, dtype: np.ones(3, dtype).copy(),
    "window": lambda np, dtype: np.ones(6, dtype)[::2],
    "reshaped": lambda np, dtype: np.ones(6, dtype).reshape(2, 3),
}


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("dtype", PARTS, ids=str)
def test_parts_of_numbers_keep_their_names(dtype: Any, maker: str) -> None:
    theirs, ours = MAKERS[maker](numpy, dtype), MAKERS[maker](numelt, dtype)
    assert (ours.dtype, ours.dtype.fields) == (theirs.dtype, theirs.dtype.fields)
    for name in ("low", "high"):
        if theirs.dtype.names:
            assert numpy.array_equal(numpy.asarray(ours[name]), theirs[name])
            ours[name] = theirs[name] = 3
    assert ours.tolist() == theirs.tolist()
    assert (ours + 1).dtype == (theirs + 1).dtype
    assert ours.sum() == theirs.sum()
