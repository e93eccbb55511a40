"""Random sampling: NumPy's generators, which return numelt arrays.

A seed gives NumPy's numbers, bit for bit, and the same state afterwards, which is kept in NumPy's bit
generator objects. With PCG64, PCG64DXSM and Philox, uniform numbers, and integers of a range that is a power
of two, are recorded and made inside the kernels that use them; other integers are made on all cores. The
streams of MT19937 (the legacy generator, see `legacy`) and SFC64 cannot jump, so uniform numbers, legacy
integers and legacy normal numbers are made when they are drawn, in vector registers. Every other draw is a
library call.

The module `numelt.random` is a mirror of NumPy's (`numelt._namespace`), which loads this one.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy
import numpy.random as _original

from numelt import _core
from numelt._dispatch import fallback, library
from numelt._dispatch.mirror import mirror as mirror_of
from numelt._dispatch.mirror import replace
from numelt._dispatch.native import present
from numelt._dispatch.pickling import Named, make_generator, make_state
from numelt._dispatch.routine import routine
from numelt._random import legacy
from numelt._random.legacy import INTEGERS, Legacy, span

__all__ = ["Generator", "RandomState", "default_rng", "mirror", "shuffle"]

_ndarray = _core.ndarray
_float64, _float32 = numpy.float64, numpy.float32
_random: Any = _original.Generator.random
_uniform: Any = _original.Generator.uniform
_integers: Any = _original.Generator.integers

# by argument `dtype`: whether it is single precision
_PRECISION = {_float64: False, float: False, "float64": False, "d": False, "f8": False}
_PRECISION |= {_float32: True, "float32": True, "f": True, "f4": True}
# NumPy draws up to this many normal numbers of the legacy generator faster
_FEW = 64
_NORMAL = frozenset({"normal", "randn", "standard_normal"})


def _drawing(owner: str, name: str, original: Callable[..., Any]) -> Any:
    """Return a method that draws with NumPy's generator and wraps the result."""
    label = f"random.{owner}.{name}"
    handle = library.handle(label, original, method=True)

    native = legacy.DRAWS.get(name) if owner == "RandomState" else None
    few = _FEW if native is not None and name in _NORMAL else 0
    draw: Any = _core.drawing(original, handle, native, name == "shuffle", few)
    functools.update_wrapper(draw, original, assigned=("__doc__", "__name__"), updated=())
    draw.__qualname__ = f"{owner}.{name}"
    return draw


class _Late:
    """A drawing method that is made when it is first looked up, because most programs use few of them."""

    def __init__(self, original: Callable[..., Any]) -> None:
        self._original = original

    def __set_name__(self, owner: type, name: str) -> None:
        self._owner, self._name = owner, name

    def __get__(self, instance: Any, owner: type) -> Any:
        made = _drawing(self._owner.__name__, self._name, self._original)
        setattr(self._owner, self._name, made)
        return getattr(owner if instance is None else instance, self._name)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._original, name)


def _with_drawing_methods(cls: type) -> type:
    base = cls.__bases__[0]
    for name, original in vars(base).items():
        if not name.startswith("_") and name not in vars(cls) and callable(original):
            late = _Late(original)
            late.__set_name__(cls, name)
            setattr(cls, name, late)
    return cls


@_with_drawing_methods
class Generator(_original.Generator, metaclass=Named):
    """NumPy's `numpy.random.Generator`, which draws numelt arrays."""

    __module__ = "numpy.random"

    # the stream of native draws: None before the first draw, False if the bit generator has none
    _stream: Any = None

    @functools.cached_property
    def _plain(self) -> Any:
        return _original.Generator(self.bit_generator)

    def __reduce__(self) -> Any:
        return make_generator, (self.bit_generator,)

    def _native(self) -> Any:
        self._stream = _core.bit_stream(self.bit_generator) or False
        return self._stream

    def random(self, size: Any = None, dtype: Any = _float64, out: Any = None) -> Any:
        """Draw uniform numbers from the half-open interval [0, 1).

        Parameters
        ----------
        size : int or tuple of ints, optional
            Shape of the result; without it (and without `out`) the result is one float.
        dtype : dtype, optional
            float64 or float32.
        out : ndarray, optional
            Array that the numbers are written to.

        Examples
        --------
        >>> import numelt as np
        >>> rng = np.random.default_rng(1)
        >>> rng.random(3).round(3)
        array([0.512, 0.95 , 0.144])
        """
        if size is None and out is None:
            return _random(self, None, dtype)
        stream = self._stream
        if stream is None:
            stream = self._native()
        if stream and (out is None or type(out) is _ndarray):
            try:
                single = _PRECISION.get(dtype)
            except TypeError:  # unhashable: NumPy raises
                single = None
            if single is not None:
                result = stream.uniform(size, single, out)
                if result is not NotImplemented:
                    return result
        return _random_call(self._plain, size, dtype, out=out)

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
        """Draw numbers that are uniform over the half-open interval [low, high).

        Examples
        --------
        >>> import numelt as np
        >>> rng = np.random.default_rng(1)
        >>> rng.uniform(-1, 1, 3).round(3)
        array([ 0.024,  0.901, -0.712])
        """
        kinds = (type(low), type(high))
        if kinds[0] in (float, int) and kinds[1] in (float, int):
            if size is None:
                return _uniform(self, low, high)
            stream = self._stream
            if stream is None:
                stream = self._native()
            width = span(low, high) if stream else -1.0
            if width >= 0.0:
                result = stream.uniform(size, False, None, float(low), width)
                if result is not NotImplemented:
                    return result
        return _uniform_call(self._plain, low, high, size)

    def integers(
        self, low: Any, high: Any = None, size: Any = None, dtype: Any = numpy.int64, endpoint: bool = False
    ) -> Any:
        """Draw integers from `low` (inclusive) to `high`, or from zero to `low` without `high`.

        Examples
        --------
        >>> import numelt as np
        >>> rng = np.random.default_rng(1)
        >>> rng.integers(0, 8, 5)
        array([3, 4, 6, 7, 0])
        """
        if type(low) is int and (high is None or type(high) is int):
            if size is None:
                return _integers(self, low, high, None, dtype, endpoint)
            first, last = (0, low) if high is None else (low, high)
            if not endpoint:
                last -= 1
            width = last - first
            if width > 0 and type(dtype) is type and dtype in INTEGERS:
                limits = INTEGERS[dtype]
                stream = self._stream if self._stream is not None else self._native()
                if stream and limits[0] <= first and last <= limits[1]:
                    if width & (width + 1) == 0:
                        result = stream.integers(size, first, width.bit_length(), dtype)
                    else:  # words may be rejected: where an element begins is unknown
                        result = stream.bounded(size, first, width, dtype)
                    if result is not NotImplemented:
                        return result
        return _integers_call(self._plain, low, high, size, dtype, endpoint)

    def spawn(self, n_children: int) -> list[Any]:
        """Return new generators with streams of their own."""
        return [Generator(child.bit_generator) for child in self._plain.spawn(n_children)]


_random_call = library.handle("random.Generator.random", _random, method=True)
_uniform_call = library.handle("random.Generator.uniform", _uniform, method=True)
_integers_call = library.handle("random.Generator.integers", _integers, method=True)


@_with_drawing_methods
class RandomState(_original.RandomState, metaclass=Named):
    """NumPy's legacy `numpy.random.RandomState`, which draws numelt arrays."""

    __module__ = "numpy.random"

    def __init__(self, seed: Any = None) -> None:
        seed = fallback.unwrap(seed)
        super().__init__(seed)
        # NumPy's object, which has the state beside that of the bit generator: a second normal number
        self._plain = _original.RandomState(self._bit_generator)
        self._legacy = Legacy(self._plain)

    def __reduce__(self) -> Any:
        return make_state, (self._bit_generator,), self.get_state(legacy=False)

    def __getstate__(self) -> Any:
        return self.get_state(legacy=False)

    def __setstate__(self, state: Any) -> None:
        self.set_state(state)

    def seed(self, seed: Any = None) -> None:
        """Set the state from a seed."""
        self._plain.seed(fallback.unwrap(seed))

    def get_state(self, legacy: Any = True) -> Any:
        """Return the state in NumPy's format."""
        return self._plain.get_state(legacy)

    def set_state(self, state: Any) -> None:
        """Set the state from one that `get_state` returned."""
        self._plain.set_state(fallback.unwrap(state))


def default_rng(seed: Any = None) -> Generator:
    """Make a generator with NumPy's default bit generator (PCG64).

    Examples
    --------
    >>> import numelt as np
    >>> round(np.random.default_rng(0).random(), 3)
    0.637
    """
    if seed is None or type(seed) is int:
        return Generator(_original.PCG64(seed))
    if isinstance(seed, Generator):
        return seed
    return Generator(_original.default_rng(fallback.unwrap(seed)).bit_generator)


def shuffle(x: Any) -> None:
    """Shuffle an array or a sequence in place, by the global legacy state.

    Examples
    --------
    >>> import numelt as np
    >>> np.random.seed(0)
    >>> x = np.arange(5)
    >>> np.random.shuffle(x)
    >>> x
    array([2, 0, 1, 3, 4])
    """
    if type(x) is list:
        _original.shuffle(x)
    else:
        _shuffle_call(x)


_shuffle_call = library.handle("random.shuffle", _original.shuffle)


# functions whose only arrays are those of the state
_STATE = frozenset({"get_bit_generator", "get_state", "set_bit_generator", "set_state"})

# the global state, which the functions of numpy.random share
_random_sample: Any = _original.random_sample
_global = Legacy(_random_sample.__self__)


def _global_draw(name: str, original: Callable[..., Any]) -> Any:
    """Return a function that draws from the global legacy state."""
    handle = library.handle(f"random.{name}", original)
    native = legacy.DRAWS.get(name)

    def draw(*args: Any, **kwargs: Any) -> Any:
        if native is not None:
            try:
                result = native(_global, *args, **kwargs)
            except TypeError:  # NumPy raises its own
                result = NotImplemented
            if result is not NotImplemented:
                return result
        return handle(*args, **kwargs)

    # NumPy draws few normal numbers; other native draws are faster than a call of NumPy's function
    share, few = (handle, _FEW) if native is None or name in _NORMAL else ("general", None)
    made: Any = _core.routine(f"random.{name}", original, draw, share, False, few, draws=True)
    functools.update_wrapper(made, original, updated=())
    made.__module__ = "numelt.random"
    replace(original, made)
    return made


def mirror(value: Any, name: str) -> Any:
    """Return our object for NumPy's `value`; functions of the global state are made here."""
    short = name.rpartition(".")[2]
    if short in _STATE:
        return value
    if isinstance(getattr(value, "__self__", None), _original.RandomState) and short in _original.__all__:
        return _global_draw(short, value)
    return mirror_of(value, name)


library.extend(f"random.{name}" for name in dir(_original) if not name.startswith("_"))
fallback.GENERATORS.update((Generator, RandomState))
replace(_original.Generator, Generator)
replace(_original.RandomState, RandomState)
default_rng = present(
    routine("random.default_rng", _original.default_rng, default_rng), _original.default_rng
)
replace(_original.default_rng, default_rng)
replace(_original.shuffle, shuffle)
