"""What numelt changes in NumPy's own modules and classes.

The subclasses of NumPy's array take our class as an argument of `view`; its generators shuffle our arrays,
and take them as seeds.

In: NumPy. Out: `teach`, `teach_view`, `teach_shuffles`.
"""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy

from numelt import _core
from numelt._array.classes import call_view, ndarray
from numelt._dispatch import fallback

__all__ = ["teach", "teach_shuffles", "teach_view"]

_taught: set[type] = set()


def teach(module: types.ModuleType) -> None:
    """Let the subclasses of NumPy's array that a module of NumPy defines accept our class in `view`.

    In `numpy.random`, what makes generators takes our arrays as seeds.
    """
    if module.__name__ == "numpy.random":
        _teach_seeds(module)
    for cls in list(vars(module).values()):
        if not (isinstance(cls, type) and issubclass(cls, numpy.ndarray) and cls is not numpy.ndarray):
            continue
        if cls in _taught or not cls.__module__.startswith("numpy"):
            continue
        teach_view(cls)


def teach_view(cls: type) -> None:
    """Let a subclass of NumPy's array accept our class in `view`, unless it inherits such a method."""
    own = vars(cls).get("view")
    if own is not None or _taught.isdisjoint(cls.__mro__):
        type.__setattr__(cls, "view", _next_view(cls) if own is None else _knowing(own))
    _taught.add(cls)


_LEFT_OUT: Any = object()


def _next_view(cls: Any) -> Callable[..., Any]:
    """Return a method `view` for a class that inherits it."""

    @functools.wraps(numpy.ndarray.view)
    def view(self: Any, dtype: Any = _LEFT_OUT, type: Any = _LEFT_OUT) -> Any:
        inherited = super(cls, self).view
        if type is not _LEFT_OUT:
            return call_view(inherited, () if dtype is _LEFT_OUT else (dtype,), {"type": type})
        if dtype is _LEFT_OUT:
            return inherited()
        return fallback.wrap(inherited(numpy.ndarray)) if dtype is ndarray else inherited(dtype)

    return view


def _knowing(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def view(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not kwargs and (not args or (len(args) == 1 and args[0] is not ndarray)):
            return original(self, *args)
        return call_view(functools.partial(original, self), args, kwargs)

    return view


@functools.cache
def _teach_seeds(module: types.ModuleType) -> None:
    """Let `default_rng`, seeds and bit generators, which libraries make of our arrays, too, accept these."""
    from numelt.compat import compiled, constructors
    from numelt.compat.wrapping import drawing

    for name in ("SeedSequence", "MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64"):
        cls = vars(module).get(name)
        if isinstance(cls, type):
            for place in (sys.modules[cls.__module__], module):  # pickles name the former
                constructors.place(place, name, cls)
            compiled.put_methods(cls, constructors.inherited(cls))
    vars(module)["default_rng"] = drawing(vars(module)["default_rng"])


@functools.cache
def teach_shuffles() -> None:
    """Let NumPy's generators, which programs get from libraries, shuffle our arrays.

    They treat an object that is not of NumPy's class as a list, and would exchange views of its rows.
    """
    from numpy import (
        random,  # loading it takes tens of milliseconds; libraries that need this have loaded it already
    )

    from numelt.compat import compiled

    def adapted(original: Any) -> Any:
        @functools.wraps(original)
        def shuffle(self: Any, x: Any, *args: Any, **kwargs: Any) -> None:
            original(self, _core.to_numpy(x) if type(x) is _core.ndarray else x, *args, **kwargs)

        return shuffle

    for owner in (random.RandomState, random.Generator):
        compiled.put_methods(owner, {"shuffle": adapted(vars(owner)["shuffle"])})
