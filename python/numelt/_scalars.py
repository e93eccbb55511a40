"""The classes of deferred scalars: one for each dtype, which stands for NumPy's class of the same name."""

from __future__ import annotations

from typing import Any

import numpy

from numelt import _core

__all__ = ["SCALARS", "ScalarType"]


class ScalarType(type):
    """Metaclass under which the class of a deferred scalar equals NumPy's, and makes NumPy's scalars."""

    def __eq__(cls, other: object) -> bool:
        return cls is other or _numpys(cls) is other

    def __hash__(cls) -> int:
        return hash(_numpys(cls))

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return _numpys(cls)(*args, **kwargs)

    def __getattr__(cls, name: str) -> Any:
        return getattr(_numpys(cls), name)

    def __instancecheck__(cls, instance: Any) -> bool:
        return type.__instancecheck__(cls, instance) or isinstance(instance, _numpys(cls))

    def __subclasscheck__(cls, subclass: type) -> bool:
        return type.__subclasscheck__(cls, subclass) or issubclass(subclass, _numpys(cls))


def _named(name: str) -> Any:
    return getattr(numpy, name)


def _numpys(cls: type) -> Any:
    """Return NumPy's class for that of our scalars of one dtype."""
    return _named(cls.__name__)


for _scalar in _core.scalars:
    _core.set_metaclass(_scalar, ScalarType)
    _scalar.__doc__ = _numpys(_scalar).__doc__

SCALARS: frozenset[type] = frozenset(_core.scalars)
