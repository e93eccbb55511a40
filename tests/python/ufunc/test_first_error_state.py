"""The error state is seen after its first change."""

import warnings

import numpy
import pytest
from numpy._core import _ufunc_config

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


def under_states(np):
    def division():
        return (np.ones(3) / np.zeros(3)).tolist()

    found = []
    for _ in range(2):
        with np.errstate(divide="raise"):
            found.append(outcome(division)[1:])
        found.append(outcome(division)[1:])
        with np.errstate(all="ignore"):
            found.append(outcome(division)[1:])
            with np.errstate(divide="raise"):
                found.append(outcome(division)[1:])
            found.append(outcome(division)[1:])
    return found


def test_the_error_state_is_seen_after_the_first_change():
    assert under_states(numelt) == under_states(numpy)
    # which is NumPy's own variable from then on
    assert type(_ufunc_config._extobj_contextvar).__name__ == "ContextVar"
