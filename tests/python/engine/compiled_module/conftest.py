"""What every test of the compiled core runs under."""

import numpy as np
import pytest

from numelt import _core


@pytest.fixture(autouse=True)
def quiet():
    """NumPy warns where lazily computed results do not."""
    with np.errstate(all="ignore"):
        yield
        _core.flush()
