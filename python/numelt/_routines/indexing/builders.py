"""Objects whose indexing builds arrays: ``r_``, ``c_``, ``mgrid``, ``ogrid``.

Each replaces NumPy's object of the same name; arguments and results may be numelt arrays.
"""

from __future__ import annotations

from typing import Any

import numpy

from numelt import _core
from numelt._dispatch import fallback
from numelt._dispatch.composed import rebound, understood
from numelt._dispatch.mirror import replace
from numelt._dispatch.table import FEW, SIDE

__all__: list[str] = []


class Indexer:
    """An object whose indexing builds arrays: ``r_``, ``c_``, ``mgrid``, ``ogrid``."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._original = getattr(numpy, name)
        self.__doc__ = type(self._original).__doc__
        self._few = _core.routine(
            name, self._original.__getitem__, self._recorded, SIDE if "grid" in name else FEW, False
        )

    def __getitem__(self, key: Any) -> Any:
        return self._few(key)

    def _recorded(self, key: Any) -> Any:
        items = key if type(key) is tuple else (key,)
        if all(_plain(item) for item in items):
            build = rebound(type(self._original).__getitem__)
            return build(self._original, key)
        return fallback.call(self._name, self._get, (key,), {})

    def _get(self, key: Any) -> Any:
        if type(key) is tuple:
            key = tuple(_unwrap_slice(item) for item in key)
        return self._original[_unwrap_slice(key)]

    def __len__(self) -> int:
        return 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._original, name)


def _plain(item: Any) -> bool:
    """Return whether NumPy's function can handle this item of a key when it runs over our arrays."""
    if isinstance(item, slice):
        return all(understood(part) for part in (item.start, item.stop, item.step))
    return understood(item) and not isinstance(item, str)


def _unwrap_slice(item: Any) -> Any:
    if isinstance(item, slice):
        return slice(*[fallback.unwrap(part) for part in (item.start, item.stop, item.step)])
    return item


for _name in ("r_", "c_", "mgrid", "ogrid"):
    replace(getattr(numpy, _name), Indexer(_name))
del _name
