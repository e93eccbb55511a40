# ruff: noqa: F403
# What type checkers see: NumPy's own types, since numelt has NumPy's interface, and numelt's additions.
from contextlib import AbstractContextManager
from typing import Final

from numpy import *
from numpy import __array_namespace_info__ as __array_namespace_info__
from numpy import char as char
from numpy import core as core
from numpy import ctypeslib as ctypeslib
from numpy import dtypes as dtypes
from numpy import emath as emath
from numpy import exceptions as exceptions
from numpy import fft as fft
from numpy import lib as lib
from numpy import linalg as linalg
from numpy import ma as ma
from numpy import polynomial as polynomial
from numpy import random as random
from numpy import rec as rec
from numpy import strings as strings
from numpy import testing as testing
from numpy import typing as typing

from numelt import filters as filters
from numelt._dispatch.fallback import FallbackError as FallbackError
from numelt._dispatch.fallback import FallbackWarning as FallbackWarning
from numelt._jit.decorator import jit as jit
from numelt._jit.generalized import guvectorize as guvectorize
from numelt._jit.operators import allpairs as allpairs
from numelt._jit.operators import do_while as do_while
from numelt._jit.operators import filter as filter
from numelt._jit.operators import imap as imap
from numelt._jit.operators import map as map
from numelt._jit.operators import reduce as reduce
from numelt._jit.operators import scan as scan
from numelt._jit.operators import stencil as stencil
from numelt.tools.coverage import Coverage as Coverage
from numelt.tools.coverage import coverage as coverage
from numelt.tools.extensions import extension as extension
from numelt.tools.inspection import Config
from numelt.tools.inspection import Inspection as Inspection
from numelt.tools.inspection import explain as explain
from numelt.tools.inspection import flush as flush
from numelt.tools.inspection import use as use
from numelt.tools.profiling import Profile as Profile
from numelt.tools.profiling import profile as profile
from numelt.tools.starting import install as install
from numelt.tools.starting import load_ipython_extension as load_ipython_extension

__numelt_version__: Final[str]
__array_api_version__: Final[str]
config: Config

def engine(name: str) -> AbstractContextManager[None]: ...
def inspect() -> AbstractContextManager[Inspection]: ...
