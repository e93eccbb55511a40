# Type checkers see NumPy's own module.
# ruff: noqa: F403
from numpy.lib import *
