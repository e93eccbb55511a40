"""``ndarray.flat``: an iterator over the elements of an array in C order, which can also be indexed.

In: one of our arrays. Out: an iterator with the interface of `numpy.flatiter`, on the memory of the array.
Keys and values may be our arrays. NumPy does the work.
"""

from __future__ import annotations

import collections
import itertools
from typing import Any

import numpy

from numelt import _core
from numelt._dispatch import fallback

__all__ = ["flat"]


class flatiter(_core.elements):
    """Iterator over the elements of one of our arrays in C order; see `numpy.flatiter`."""

    __module__ = "numpy"
    __hash__ = None  # type: ignore[assignment]

    # makes it an instance of `np.flatiter`, which is NumPy's class
    __class__ = property(lambda _: numpy.flatiter)

    index = property(_core.elements.index.__get__, doc=numpy.flatiter.index.__doc__)

    @property
    def coords(self) -> tuple[int, ...]:
        """Index of the next element along each axis."""
        passed = _core.to_numpy(self.base).flat
        collections.deque(itertools.islice(passed, self.index), maxlen=0)
        return tuple(passed.coords)

    def copy(self, /) -> Any:
        """Return the elements as a new one-dimensional array."""
        return self.base.flatten()

    def _get(self, key: Any) -> Any:
        return fallback.uncounted(self._flat.__getitem__, (key,), {})

    def _set(self, key: Any, value: Any) -> None:
        arguments = fallback.unwrap(key), fallback.unwrap(value)
        fallback.at_user_line(self._flat.__setitem__, arguments, {})

    def __delitem__(self, key: Any) -> None:
        raise TypeError("Cannot delete iterator elements")

    def __array__(self, /, dtype: Any = None, copy: Any = None) -> Any:
        return numpy.array(self._flat, dtype=dtype, copy=copy)

    def __eq__(self, other: object) -> Any:
        return self.copy() == _plain(other)

    def __ne__(self, other: object) -> Any:
        return self.copy() != _plain(other)

    def __lt__(self, other: object) -> Any:
        return self.copy() < _plain(other)

    def __le__(self, other: object) -> Any:
        return self.copy() <= _plain(other)

    def __gt__(self, other: object) -> Any:
        return self.copy() > _plain(other)

    def __ge__(self, other: object) -> Any:
        return self.copy() >= _plain(other)


def _plain(value: Any) -> Any:
    return value.copy() if type(value) is flatiter else value


def _write(self: Any, value: Any) -> None:
    fallback.at_user_line(setattr, (_core.to_numpy(self), "flat", fallback.unwrap(value)), {})


flat = property(flatiter, _write, doc=numpy.ndarray.flat.__doc__)
