"""Classes and objects of NumPy that hand out arrays: ``r_``, ``mgrid``, ``vectorize`` and kin.

Each stands for NumPy's object of the same name, takes numelt arrays and gives numelt arrays.
"""

from __future__ import annotations

import functools
import importlib
import sys
from typing import Any

import numpy

from numelt import _core, _errstate, _fallback, _namespace
from numelt._dispatch import FEW, SIDE, present
from numelt._pickling import Named

__all__ = ["install"]


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
        from numelt import _rebind

        items = key if type(key) is tuple else (key,)
        if all(_plain(item) for item in items):
            build = _rebind.rebound(type(self._original).__getitem__)
            return build(self._original, key)
        return _fallback.call(self._name, self._get, (key,), {})

    def _get(self, key: Any) -> Any:
        if type(key) is tuple:
            key = tuple(_unwrap_slice(item) for item in key)
        return self._original[_unwrap_slice(key)]

    def __len__(self) -> int:
        return 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._original, name)


def _plain(item: Any) -> bool:
    """Can an item of a key be put together by NumPy's own steps on our arrays?"""
    from numelt import _rebind

    if isinstance(item, slice):
        return all(_rebind.understood(part) for part in (item.start, item.stop, item.step))
    return _rebind.understood(item) and not isinstance(item, str)


def _unwrap_slice(item: Any) -> Any:
    if isinstance(item, slice):
        return slice(*[_fallback.unwrap(part) for part in (item.start, item.stop, item.step)])
    return item


class Vectorize(numpy.vectorize, metaclass=Named):
    """A Python function applied element by element; results are numelt arrays."""

    __doc__ = numpy.vectorize.__doc__

    def _general(self, *args: Any, **kwargs: Any) -> Any:
        return _fallback.call("vectorize", super().__call__, args, kwargs)

    __call__ = _core.method("vectorize", numpy.vectorize.__call__, _general, "method")


def frompyfunc(func: Any, /, nin: int, nout: int, **kwargs: Any) -> Any:
    """Make a ufunc of a Python function; it runs in NumPy on object arrays.

    Examples
    --------
    >>> import numelt as np
    >>> np.frompyfunc(abs, 1, 1)(np.array([-1, 2])).tolist()
    [1, 2]
    """
    return _core.ufunc(numpy.frompyfunc(func, nin, nout, **kwargs), None)


def _remember_formats() -> None:
    """Let NumPy parse a buffer's format once: every `asarray` of text or objects does so in Python."""
    internal: Any = importlib.import_module("numpy._core._internal")
    original = internal._dtype_from_pep3118
    if not hasattr(original, "cache_info"):
        internal._dtype_from_pep3118 = functools.lru_cache(maxsize=256)(original)


def install() -> None:
    """Register the objects for every namespace."""
    _remember_formats()
    # private, and NumPy's under the same name: what ours does not have is looked up there
    setattr(_core, "__getattr__", functools.partial(getattr, sys.modules["numpy._core"]))  # noqa: B010
    for name in ("r_", "c_", "mgrid", "ogrid"):
        _namespace.replace(getattr(numpy, name), Indexer(name))
    Vectorize.__name__ = Vectorize.__qualname__ = "vectorize"
    Vectorize.__module__ = "numpy"
    _namespace.replace(numpy.vectorize, Vectorize)
    _namespace.replace(numpy.frompyfunc, present(_core.public(frompyfunc, False), numpy.frompyfunc))
    for setting in (numpy.errstate, numpy.seterr, numpy.geterr, numpy.seterrcall, numpy.geterrcall):
        _namespace.replace(setting, setting)
    _errstate.install()
    _namespace.replace(numpy.ndarray, _core.ndarray)
    _namespace.replace(numpy.ufunc, _core.ufunc)
