"""Random sampling: NumPy's generators and streams, giving numelt arrays.

The numbers are drawn by NumPy's own bit generators and distributions, so that a seed gives the same
stream; each draw counts as a call that ran in NumPy. What a draw returns is adopted without a copy.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy.random as _original

from numelt import _fallback, _namespace, _objects

__all__ = list(_original.__all__)


def _drawing(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method that draws with NumPy's generator and wraps the result."""
    label = f"random.{name}"

    @functools.wraps(original, assigned=("__doc__", "__name__"), updated=())
    def draw(self: Any, *args: Any, **kwargs: Any) -> Any:
        # NumPy's methods call each other, so they run on an object whose methods are NumPy's
        return _fallback.call(label, getattr(self._plain, name), args, kwargs, "random numbers are NumPy's")

    draw.__qualname__ = label
    return draw


def _with_drawing_methods(cls: type) -> type:
    base = cls.__bases__[0]
    for name in dir(base):
        original = getattr(base, name)
        if not name.startswith("_") and name not in vars(cls) and callable(original):
            setattr(cls, name, _drawing(name, original))
    return cls


def _restore_generator(bit_generator: Any) -> Generator:
    return Generator(bit_generator)


@_with_drawing_methods
class Generator(_original.Generator):
    """NumPy's `numpy.random.Generator`, drawing numelt arrays."""

    def __init__(self, bit_generator: Any) -> None:
        super().__init__(bit_generator)
        self._plain = _original.Generator(bit_generator)

    def __reduce__(self) -> Any:
        return _restore_generator, (self.bit_generator,)

    def spawn(self, n_children: int) -> list[Any]:
        """Return new generators with streams of their own."""
        return [Generator(child.bit_generator) for child in self._plain.spawn(n_children)]


def _restore_state(state: Any) -> RandomState:
    made = RandomState()
    made.set_state(state)
    return made


@_with_drawing_methods
class RandomState(_original.RandomState):
    """NumPy's legacy `numpy.random.RandomState`, drawing numelt arrays."""

    def __init__(self, seed: Any = None) -> None:
        seed = _fallback.unwrap(seed)
        super().__init__(seed)
        # the state beside the bit generator's (a second normal number kept back) is the plain object's
        self._plain = _original.RandomState(self._bit_generator)

    def __reduce__(self) -> Any:
        return _restore_state, (self.get_state(legacy=False),)

    def __getstate__(self) -> Any:
        return self.get_state(legacy=False)

    def __setstate__(self, state: Any) -> None:
        self.set_state(state)

    def seed(self, seed: Any = None) -> None:
        """Start the stream anew."""
        self._plain.seed(_fallback.unwrap(seed))

    def get_state(self, legacy: bool = True) -> Any:
        """Return the state, in NumPy's form."""
        return self._plain.get_state(legacy)

    def set_state(self, state: Any) -> None:
        """Set the state from one that `get_state` returned."""
        self._plain.set_state(_fallback.unwrap(state))


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
# their seeds may be our arrays
for _name in ("SeedSequence", "MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64"):
    if hasattr(_original, _name):
        _namespace.replace(getattr(_original, _name), _objects.maker(getattr(_original, _name)))
for _name in ("get_state", "set_state", "get_bit_generator", "set_bit_generator"):
    if hasattr(_original, _name):
        globals()[_name] = getattr(_original, _name)
del _name
