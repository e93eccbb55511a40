"""Archives of arrays: `load` of a file that `savez` has written gives arrays of numelt, as of other files.

In: arguments of `numpy.load`. Out: what it returns, with archives whose items become arrays of numelt.
"""

from __future__ import annotations

from typing import Any

import numpy

from numelt._dispatch import fallback
from numelt._dispatch.mirror import replace
from numelt._dispatch.native import present
from numelt._dispatch.routine import routine

__all__: list[str] = []


class NpzFile(numpy.lib.npyio.NpzFile):
    """An archive of arrays, which are read when they are asked for; see `numpy.lib.npyio.NpzFile`.

    It shares the file of an archive of NumPy's and holds that archive, which closes the file when freed.
    """

    def __init__(self, archive: numpy.lib.npyio.NpzFile) -> None:
        vars(self).update(vars(archive), _archive=archive, f=type(archive.f)(self))

    def __getitem__(self, key: str) -> Any:
        return fallback.wrap(super().__getitem__(key))


def load(*args: Any, **kwargs: Any) -> Any:
    """Return an array, an archive of arrays or a pickled object from a file.

    Examples
    --------
    >>> import io
    >>> import numelt as np
    >>> file = io.BytesIO()
    >>> np.savez(file, x=np.arange(3))
    >>> _ = file.seek(0)
    >>> np.load(file)["x"] + 1
    array([1, 2, 3])
    """
    made = fallback.uncounted(numpy.load, args, kwargs)
    return NpzFile(made) if type(made) is numpy.lib.npyio.NpzFile else made


NpzFile.__module__ = "numpy.lib.npyio"
replace(numpy.load, present(routine("load", numpy.load, load), numpy.load))
