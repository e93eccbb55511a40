"""Names of modules that are found when they are asked for."""

import sys
import types
import warnings

import pytest

import numelt

from ..support.compare import as_numpy


@pytest.fixture(params=["recorded", "at once"], autouse=True)
def habit(request):
    """Do all of it while operations are recorded, and while small ones run at once."""
    before = numelt.config.at_once
    if request.param == "recorded":
        numelt.config.at_once = 0
    else:
        for _ in range(8):
            float((numelt.arange(3.0) + 1)[0])
    yield
    numelt.config.at_once = before


def outcome(function, *args, **kwargs):
    """Return what a call gives: the result, or the exception's class and words."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = function(*args, **kwargs)
            text = as_numpy(result)
        except Exception as error:  # the exception is what is compared
            result, text = None, (type(error), str(error).replace("numelt", "numpy"))
    return result, text, [(w.category, str(w.message)) for w in caught]


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
    # other modules find theirs as ever
    other = types.ModuleType("other")
    with pytest.raises(AttributeError, match="module 'other' has no attribute 'x'"):
        _ = other.x
    other.__getattr__ = lambda name: name * 2
    assert (other.x, getattr(other, "y", None)) == ("xx", "yy")
    with pytest.raises(TypeError):
        getattr(other, 3)
