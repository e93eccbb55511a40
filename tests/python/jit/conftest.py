"""What all tests of compiled loops share."""

import pytest

from numelt import _core


@pytest.fixture(autouse=True, scope="package")
def iterations_are_compiled_at_once():
    """Compile iterations ahead as soon as there are some: the loops of tests are too short for that to pay."""
    _core.jit_iterations_ahead(2)
    yield
    _core.jit_iterations_ahead(1)
