"""What numelt changes in JAX: its tables of classes get an entry for our arrays."""

from __future__ import annotations

import contextlib
import sys
import types

import numpy

from numelt import _core

TESTED = ">=0.10,<0.11"


def _register(pxla: types.ModuleType) -> None:
    """Add our class to the tables in which JAX looks up by class how to treat an argument."""
    core, dtypes = sys.modules["jax._src.core"], sys.modules["jax._src.dtypes"]
    ours, numpys = _core.ndarray, numpy.ndarray
    with contextlib.suppress(AttributeError, KeyError):  # another release
        shard = pxla.shard_arg_handlers[numpys]
        pxla.shard_arg_handlers[ours] = lambda xs, *rest: shard(list(map(_core.to_numpy, xs)), *rest)
        core.pytype_aval_mappings[ours] = core.pytype_aval_mappings[numpys]
        # in some releases this is a dict, which has no such method, and in which our class equals NumPy's
        former = dtypes.canonicalize_value_handlers[numpys]
        dtypes.register_canonicalize_value_handler(ours, lambda x: former(_core.to_numpy(x)))


CHANGES = {"jax._src.interpreters.pxla": _register}
