"""Pickling by name: what stands for an object of NumPy's is pickled under the name that NumPy has for it.

In: classes and functions that stand for NumPy's. Out: how to pickle them (`by_name`), and the metaclass of
such classes (`Named`).
"""

from __future__ import annotations

import copyreg
import operator
import sys
from typing import Any

import numpy
from numpy._core import multiarray

__all__ = ["Named", "by_name"]


class _Empty:
    """What is read as an array, and written as no array: some picklers pickle an array's class before it."""

    def __reduce__(self) -> Any:
        return multiarray._reconstruct, (numpy.ndarray, (0,), "b")


class _Namespace:
    """What an array says that its functions are in: NumPy where there is only NumPy."""

    def __reduce__(self) -> Any:
        return operator.methodcaller("__array_namespace__"), (_Empty(),)

    def __getattr__(self, name: str) -> Any:
        return getattr(sys.modules["numelt"], name)


def by_name(module: str, name: str) -> Any:
    """Return how to pickle what NumPy has by this name."""
    dotted = ".".join([*module.split(".")[1:], name])
    return operator.attrgetter(dotted), (_Namespace(),)


class Named(type):
    """Metaclass of classes that stand for NumPy's of the same names, whose instances are theirs, too."""

    def __instancecheck__(cls, instance: Any) -> bool:
        own = type.__instancecheck__(cls, instance)
        return own or (_stands(cls) and isinstance(instance, cls.__bases__[0]))

    def __subclasscheck__(cls, subclass: type) -> bool:
        own = type.__subclasscheck__(cls, subclass)
        return own or (_stands(cls) and issubclass(subclass, cls.__bases__[0]))


def _stands(cls: type) -> bool:
    """Is a class no class of the program's, derived from one of these?"""
    return cls.__module__.startswith("numpy")


def _class(cls: type) -> Any:
    return by_name(cls.__module__, cls.__name__) if _stands(cls) else cls.__qualname__


copyreg.pickle(Named, _class)
