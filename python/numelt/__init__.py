"""numelt: a drop-in NumPy whose array operations are recorded, fused, compiled and run on all cores.

``import numelt as np`` gives every public name of NumPy. Operations on arrays are recorded; they run
when a value is read. What is not native runs in NumPy, counted by function and line (`coverage`).

This file has the public namespace and nothing else. The modules from which a name is imported define it.
"""

# ruff: noqa: F401, F403 - importing names is what this file does

import os as _os
import sys as _sys

import numpy as _numpy

from numelt import _core, _namespace, filters
from numelt._array import classes as _classes
from numelt._array import hooks as _hooks
from numelt._array import methods as _methods
from numelt._dispatch import fallback as _fallback
from numelt._dispatch import mirror as _mirror
from numelt._dispatch import native as _native
from numelt._dispatch.fallback import FallbackError, FallbackWarning
from numelt._routines.archives import *
from numelt._routines.creation import *
from numelt._routines.devices import *
from numelt._routines.functional import *
from numelt._routines.indexing import builders as _builders
from numelt._routines.indexing.keys import *
from numelt._routines.indexing.picking import *
from numelt._routines.indexing.positions import *
from numelt._routines.indexing.strides import *
from numelt._routines.linear_algebra.contraction import *
from numelt._routines.linear_algebra.norms import *
from numelt._routines.linear_algebra.products import *
from numelt._routines.logic import *
from numelt._routines.manipulation.editing import *
from numelt._routines.manipulation.joining import *
from numelt._routines.manipulation.shape import *
from numelt._routines.mathematical.calculus import *
from numelt._routines.mathematical.elementwise import *
from numelt._routines.polynomials import *
from numelt._routines.sorting import *
from numelt._routines.statistics.nan_functions import *
from numelt._routines.statistics.reductions import *
from numelt.compat import errstate as _errstate
from numelt.compat import watching as _watching
from numelt.compat.watching import UntestedLibraryWarning
from numelt.tools.inspection import config, engine, explain, flush, inspect, show_config, use
from numelt.tools.lazy import lazy
from numelt.tools.starting import install, load_ipython_extension

__numelt_version__ = _core.__version__
# programs compare np.__version__ with NumPy's releases
__version__ = _numpy.__version__
__array_api_version__ = _numpy.__array_api_version__

ndarray = _core.ndarray
ufunc = _core.ufunc

_methods.complete()
_classes.seal()
_errstate.install()
_hooks.install()
_watching.install()
_mirror.replace(_numpy.show_config, _native.present(show_config, _numpy.show_config))

_fallback.set_policy(_core.config_get()["fallback"])

# `from numelt import *` imports the same names as `from numpy import *`
__all__ = [name for name in _numpy.__all__ if name != "__version__"]

_namespace.fill(_sys.modules[__name__])
_core.settle()


def __getattr__(name):
    return _namespace.late(_sys.modules[__name__], name)


def __dir__():
    public = {name for name in dir(_numpy) if not name.startswith("_")}
    return sorted(public | _namespace.TOOLS.keys() | set(globals()))
