"""Libraries of the array API standard get the same answers from arrays and namespaces as from NumPy's."""

import importlib
from typing import Any

import numpy
import pytest

import numelt


@pytest.mark.parametrize("place", ["", "scipy._lib.", "sklearn.externals."])
def test_libraries_take_ours_for_numpys(place: str) -> None:
    compat = pytest.importorskip(f"{place}array_api_compat")
    helpers: Any = importlib.import_module(f"{place}array_api_compat.common._helpers")
    x = numelt.arange(3.0)
    namespace = compat.array_namespace(numpy.ones(2))
    assert compat.array_namespace(x) is namespace
    assert compat.array_namespace(x, x.sum(), numpy.ones(2)) is namespace
    assert compat.array_namespace(numpy.float64(1)) is namespace
    for value in (x, x.sum(), x.astype(int).max()):
        assert compat.is_numpy_array(value)
        assert compat.is_array_api_obj(value)
    assert helpers.is_numpy_namespace(numelt)
    assert not compat.is_torch_array(x)
    assert compat.is_writeable_array(x)
    x.flags.writeable = False
    assert not compat.is_writeable_array(x)
    assert type(namespace.exp(x)) is numelt.ndarray


@pytest.mark.parametrize("name", ["argmin", "argmax"])
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (0,), (2, 0, 3), (0, 0, 2)])
def test_places_of_extremes_of_nothing(name: str, keepdims: bool, shape: tuple[int, ...]) -> None:
    for axis in (*range(len(shape)), None):
        found = []
        for np in (numpy, numelt):
            try:
                found.append(getattr(np, name)(np.zeros(shape), axis=axis, keepdims=keepdims).shape)
            except ValueError as error:
                found.append(str(error))
        assert found[0] == found[1]


@pytest.mark.parametrize("name", ["max", "min", "ptp", "sum", "any", "fmax", "fmin"])
@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (0,), (2, 0, 3), (2, 0, 0)])
def test_extremes_of_nothing(name: str, shape: tuple[int, ...]) -> None:
    for axis in (*range(-len(shape) - 1, len(shape)), None, (0, len(shape) - 1), (0, -1)):
        found = []
        for np in (numpy, numelt):
            function = getattr(np, name)
            function = getattr(function, "reduce", function)
            try:
                result = function(np.zeros(shape, "f4"), axis=axis, keepdims=True)
                found.append((result.shape, result.dtype))
            except ValueError as error:
                found.append((repr(error), None))
        assert found[0] == found[1]


@pytest.mark.parametrize("axis", [0, -1, 1, (), (0,), (0, 0), None])
@pytest.mark.parametrize("shape", [(), (1,), (1, 2)])
def test_squeeze(shape: tuple[int, ...], axis: Any) -> None:
    found = []
    for np in (numpy, numelt):
        x = np.ones(shape)
        for function in (np.squeeze, np.ndarray.squeeze):
            try:
                found.append(function(x, axis).shape)
            except ValueError as error:
                found.append(repr(error))
    assert found[:2] == found[2:]
