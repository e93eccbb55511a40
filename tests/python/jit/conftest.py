"""What all tests of compiled loops share."""

import pytest

from numelt import _core


@pytest.fixture(autouse=True, scope="package")
def iterations_are_compiled_at_once():
    """Compile iterations ahead as soon as there are some: tests' loops are too short for that to pay."""
    _core.jit_iterations_ahead(2)
    yield
    _core.jit_iterations_ahead(1)


@pytest.fixture(params=["many", "all"])
def ahead(request):
    """Run iterations ahead of loops with enough work, or of all loops, on several threads."""
    _core.jit_iterations_ahead(2 if request.param == "many" else 3)
    yield request.param
    _core.jit_iterations_ahead(2)
