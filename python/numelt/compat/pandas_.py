"""What numelt changes in pandas: it stores NumPy's arrays, and passes them to its compiled code.

pandas' Python code works with our arrays. The functions below are those through which arrays get into frames,
indexes and operators: they return, or keep, the array that they are given.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import numpy

from numelt._dispatch import fallback
from numelt.compat.wrapping import HOLDING, Name, converting

TESTED = ">=3.1,<3.2"
# these are called with arrays that the functions below have converted
COMPILED: tuple[str, ...] = ()


def _mapping(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function whose result holds NumPy's arrays for ours, and scalars for 0-d ones."""
    inner = converting(function)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        made = inner(*args, **kwargs)
        objects = made.tolist() if type(made) is numpy.ndarray and made.dtype == object else []
        if HOLDING.isdisjoint(map(type, objects)):
            return made
        for at, value in enumerate(objects):
            held = fallback.unwrap(value)
            made[at] = held.item() if type(held) is numpy.ndarray and not held.ndim else held
        return sys.modules["pandas._libs.lib"].maybe_convert_objects(made)

    return call


_KEPT = "what is made of an array keeps it, and hands it to compiled code that wants NumPy's class"
_ARRAYS = "pandas.core.arrays"
WRAPPED = (
    Name("pandas._libs.lib", "item_from_zerodim", converting, "every operator asks it for the right operand"),
    Name("pandas.core.algorithms", "map_array", _mapping, "it infers a dtype from what the program returns"),
    Name("pandas.core.construction", "array", converting, _KEPT),
    Name("pandas.core.construction", "ensure_wrapped_if_datetimelike", converting, _KEPT),
    Name("pandas.core.construction", "extract_array", converting, _KEPT),
    Name("pandas.core.construction", "sanitize_array", converting, _KEPT),
    Name("pandas.core.indexes.base", "Index.__new__", converting, _KEPT),
    Name("pandas.core.dtypes.missing", "isna", converting, "of objects, a compiled function tells"),
    Name("pandas.core.indexes.base", "Index._simple_new", converting, "functions of NumPy's may return ours"),
    Name("pandas.core.indexes.base", "ensure_index", converting, "a list of arrays makes an index of levels"),
    Name(f"{_ARRAYS}.datetimes", "DatetimeArray._from_sequence_not_strict", converting, _KEPT),
    Name(f"{_ARRAYS}.interval", "IntervalArray.__new__", converting, _KEPT),
    Name(f"{_ARRAYS}.masked", "BaseMaskedArray.__init__", converting, _KEPT),
    Name(f"{_ARRAYS}.numpy_", "NumpyExtensionArray.__init__", converting, _KEPT),
    Name(f"{_ARRAYS}.period", "PeriodArray._from_datetime64", converting, _KEPT),
    Name(f"{_ARRAYS}.period", "PeriodArray._from_fields", converting, _KEPT),
    Name(f"{_ARRAYS}.period", "period_array", converting, _KEPT),
)
