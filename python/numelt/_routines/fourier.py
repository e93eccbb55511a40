"""Discrete Fourier transforms: shifts and frequencies, which are recorded; transforms are library calls.

If a device has the values, a library for that device transforms them (`transforms`).
The functions are NumPy's, run over our arrays (`composed`). Loaded at the first use of `numelt.fft`.
"""

from __future__ import annotations

from typing import Any

import numpy.fft

from numelt._dispatch import library
from numelt._dispatch.composed import composed_in

__all__: list[str] = []


_TRANSFORMS = """
    fft ifft rfft irfft hfft ihfft fft2 ifft2 rfft2 irfft2 fftn ifftn rfftn irfftn
"""
library.on_devices((f"fft.{name}" for name in _TRANSFORMS.split()), "numelt._routines.transforms")


@composed_in(numpy.fft)
def fftshift(x: Any, axes: Any = None) -> Any:
    """Move the zero frequency to the middle of the spectrum.

    Examples
    --------
    >>> import numelt as np
    >>> np.fft.fftshift([0, 1, 2, -1])
    array([ 2, -1,  0,  1])
    """


@composed_in(numpy.fft)
def ifftshift(x: Any, axes: Any = None) -> Any:
    """Undo `fftshift`.

    Examples
    --------
    >>> import numelt as np
    >>> np.fft.ifftshift([2, -1, 0, 1])
    array([ 0,  1,  2, -1])
    """


@composed_in(numpy.fft)
def fftfreq(n: Any, d: Any = 1.0, device: Any = None) -> Any:
    """Frequencies of the parts of a discrete Fourier transform.

    Examples
    --------
    >>> import numelt as np
    >>> np.fft.fftfreq(4)
    array([ 0.  ,  0.25, -0.5 , -0.25])
    """


@composed_in(numpy.fft)
def rfftfreq(n: Any, d: Any = 1.0, device: Any = None) -> Any:
    """Frequencies of the parts of the transform of real numbers.

    Examples
    --------
    >>> import numelt as np
    >>> np.fft.rfftfreq(4)
    array([0.  , 0.25, 0.5 ])
    """
