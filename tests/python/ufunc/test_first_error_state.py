"""The error state is noticed when it is first changed."""

import numpy
import pytest
from numpy._core import _ufunc_config

import numelt

from ..support.worded_outcomes import outcome

pytestmark = pytest.mark.usefixtures("recorded_and_at_once")


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
