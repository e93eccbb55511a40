"""The settings for all tests of the compiled module."""

import numpy as np
import pytest

from numelt import _core


@pytest.fixture(autouse=True)
def quiet():
    """Ignore warnings, because NumPy warns where lazily computed results do not."""
    with np.errstate(all="ignore"):
        yield
        _core.flush()
