"""Names of modules that are found when they are first requested."""

import sys
import types

import pytest

import numelt

from ..support.worded_outcomes import outcome

pytestmark = pytest.mark.usefixtures("recorded_and_at_once")


def test_names_that_are_found_late():
    for module, name in [
        (numelt, "float_"),
        (numelt, "nonsense"),
        (numelt.linalg, "nonsense"),
        (numelt.random, "x"),
    ]:
        theirs = sys.modules[module.__name__.replace("numelt", "numpy")]
        assert outcome(getattr, module, name)[1] == outcome(getattr, theirs, name)[1]
        assert not hasattr(module, name)
        assert getattr(module, name, 5) == 5
    assert numelt.linalg.inv is numelt.linalg.inv
    assert numelt.testing.__name__ == "numelt.testing"
    assert numelt.random.rand is numelt.random.rand
    with pytest.raises(ImportError):
        exec("from numelt import nonsense")
    # other modules find their names as always
    other = types.ModuleType("other")
    with pytest.raises(AttributeError, match="module 'other' has no attribute 'x'"):
        _ = other.x
    other.__getattr__ = lambda name: name * 2
    assert (other.x, getattr(other, "y", None)) == ("xx", "yy")
    with pytest.raises(TypeError):
        getattr(other, 3)
