"""The Array API's information about the namespace: NumPy's, with the devices that this process uses."""

from __future__ import annotations

from typing import Any

import numpy

from numelt import _core

__all__ = ["__array_namespace_info__"]


class __array_namespace_info__:
    """Get the Array API inspection namespace for numelt: NumPy's, with the devices that this process uses.

    Examples
    --------
    >>> import numelt as np
    >>> info = np.__array_namespace_info__()
    >>> info.default_device()
    'cpu'
    """

    __module__ = "numpy"

    def __init__(self) -> None:
        self._numpys = numpy.__array_namespace_info__()

    def capabilities(self) -> Any:
        """Return what arrays and functions can do, by the standard's names."""
        return self._numpys.capabilities()

    def default_device(self) -> str:
        """Return the device of new arrays for which no device is named."""
        return self._numpys.default_device()

    def devices(self) -> list[str]:
        """Return the names of the CPU and of the devices that this process uses."""
        return _core.devices()

    def default_dtypes(self, *, device: Any = None) -> Any:
        """Return the default dtypes of new arrays, which are the same on all devices."""
        return self._numpys.default_dtypes(device=_as_numpys(device))

    def dtypes(self, *, device: Any = None, kind: Any = None) -> Any:
        """Return the dtypes that arrays can have, which are the same on all devices."""
        return self._numpys.dtypes(device=_as_numpys(device), kind=kind)


def _as_numpys(device: Any) -> Any:
    """Return NumPy's only device for a device of numelt; NumPy refuses all others."""
    return "cpu" if type(device) is str and _core.is_device(device) else device
