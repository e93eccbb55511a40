"""numelt: a drop-in NumPy whose array operations are recorded, fused, compiled and run on all cores.

``import numelt as np`` gives every public name of NumPy. Operations on arrays are recorded; they run
when a value is read. What is not native runs in NumPy, counted by function and line (`coverage`).

Here: the public namespace and nothing else. What each name does is in the modules that it comes from.
"""

# ruff: noqa: F401, F403 - importing names is what this file does

import os as _os
import sys as _sys

import numpy as _numpy

from numelt import _array, _classes, _core, _dispatch, _hooks, _namespace, _objects, filters
from numelt import _fallback as _fallback
from numelt._coverage import Coverage, coverage
from numelt._fallback import FallbackError, FallbackWarning
from numelt._lazy import lazy
from numelt._routines.applying import *
from numelt._routines.calculus import *
from numelt._routines.contraction import *
from numelt._routines.creation import *
from numelt._routines.editing import *
from numelt._routines.indexing import copyto, diagonal, indices
from numelt._routines.joining import *
from numelt._routines.linear_algebra import *
from numelt._routines.logic import *
from numelt._routines.manipulation import *
from numelt._routines.math import *
from numelt._routines.matrices import *
from numelt._routines.nan_functions import *
from numelt._routines.norms import *
from numelt._routines.order_statistics import *
from numelt._routines.picking import *
from numelt._routines.polynomials import *
from numelt._routines.positions import *
from numelt._routines.searching import *
from numelt._routines.sorting import *
from numelt._routines.statistics import *
from numelt._routines.strides import *
from numelt._routines.windows import *
from numelt.compat import watching as _watching
from numelt.compat.watching import UntestedLibraryWarning
from numelt.tools.inspection import config, engine, explain, flush, inspect, show_config, use
from numelt.tools.profiling import profile
from numelt.tools.starting import install, load_ipython_extension

__numelt_version__ = _core.__version__
# programs compare np.__version__ with NumPy's releases
__version__ = _numpy.__version__
__array_namespace_info__ = _numpy.__array_namespace_info__
__array_api_version__ = _numpy.__array_api_version__

ndarray = _core.ndarray
ufunc = _core.ufunc

_array.complete()
_classes.seal()
_objects.install()
_hooks.install()
_watching.install()
_namespace.replace(_numpy.show_config, _dispatch.present(show_config, _numpy.show_config))

_fallback.set_policy(_core.config_get()["fallback"])

# `from numelt import *` gives what `from numpy import *` gives
__all__ = [name for name in _numpy.__all__ if name != "__version__"]

_namespace.fill(_sys.modules[__name__])
_core.settle()


def __getattr__(name):
    return _namespace.late(_sys.modules[__name__], name)


def __dir__():
    return sorted({name for name in dir(_numpy) if not name.startswith("_")} | set(globals()))
