"""Random sampling: NumPy's generators and streams, giving numelt arrays.

The numbers are drawn by NumPy's own bit generators and distributions, so that a seed gives the same
stream; each draw counts as a call that ran in NumPy. What a draw returns is adopted without a copy.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy.random as _original

from numelt import _fallback, _namespace

__all__ = list(_original.__all__)

# methods that hand out no arrays, or manage state
_PLAIN = frozenset({"bit_generator", "spawn", "seed", "get_state", "set_state"})


def _drawing(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method that draws with NumPy's method and wraps the result."""
    label = f"random.{name}"

    @functools.wraps(original, assigned=("__doc__", "__name__"), updated=())
    def draw(self: Any, *args: Any, **kwargs: Any) -> Any:
        return _fallback.call(label, original, (self, *args), kwargs, "random numbers are NumPy's")

    draw.__qualname__ = label
    return draw


def _with_drawing_methods(cls: type) -> type:
    base = cls.__bases__[0]
    for name in dir(base):
        original = getattr(base, name)
        if not name.startswith("_") and name not in _PLAIN and callable(original):
            setattr(cls, name, _drawing(name, original))
    return cls


def _restore_generator(bit_generator: Any) -> Generator:
    return Generator(bit_generator)


@_with_drawing_methods
class Generator(_original.Generator):
    """NumPy's `numpy.random.Generator`, drawing numelt arrays."""

    def __reduce__(self) -> Any:
        return _restore_generator, (self.bit_generator,)

    def spawn(self, n_children: int) -> list[Any]:
        """Return new generators with streams of their own."""
        return [Generator(child.bit_generator) for child in super().spawn(n_children)]


def _restore_state(state: Any) -> RandomState:
    made = RandomState()
    made.set_state(state)
    return made


@_with_drawing_methods
class RandomState(_original.RandomState):
    """NumPy's legacy `numpy.random.RandomState`, drawing numelt arrays."""

    def __reduce__(self) -> Any:
        return _restore_state, (self.get_state(legacy=False),)


def default_rng(seed: Any = None) -> Generator:
    """Make a generator with NumPy's default bit generator (PCG64).

    Examples
    --------
    >>> import numelt as np
    >>> round(np.random.default_rng(0).random(), 3)
    0.637
    """
    if isinstance(seed, Generator):
        return seed
    return Generator(_original.default_rng(_fallback.unwrap(seed)).bit_generator)


def __getattr__(name: str) -> Any:
    """Mirror everything else: module functions share NumPy's global state."""
    value = getattr(_original, name)
    if name.startswith("__"):
        return value
    ours = _namespace.mirror(value, f"random.{name}")
    globals()[name] = ours
    return ours


def __dir__() -> list[str]:
    return sorted(set(dir(_original)))


_namespace.replace(_original.Generator, Generator)
_namespace.replace(_original.RandomState, RandomState)
_namespace.replace(_original.default_rng, default_rng)
for _name in ("seed", "get_state", "set_state", "get_bit_generator", "set_bit_generator"):
    if hasattr(_original, _name):
        globals()[_name] = getattr(_original, _name)
del _name
