"""The settings of `errstate` hold in its block, its thread and its context."""

import contextvars
import threading
import warnings

import numpy
import pytest

import numelt

from ..support.outcomes import check

pytestmark = pytest.mark.quick


def test_a_strict_state_that_has_ended_is_over():
    x = numelt.array([1.0, 0.0])
    numelt.linalg.inv(numelt.eye(2))
    with numelt.errstate(divide="raise"):
        with pytest.raises(FloatingPointError):
            1.0 / x
        with numelt.errstate(divide="ignore"):
            assert (1.0 / x).tolist() == [1.0, numpy.inf]
        with pytest.raises(FloatingPointError):
            1.0 / x
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        (1.0 / x).tolist()
    with warnings.catch_warnings(), numelt.errstate(all="ignore"):
        warnings.simplefilter("error")
        (1.0 / x).tolist()


def test_states_of_contexts_and_threads():
    x = numelt.array([1.0, 0.0])
    told = []

    def divide(tell):
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                (x / x).tolist()
            tell.append(len(caught))
        except FloatingPointError:
            tell.append("raised")

    with numelt.errstate(invalid="raise"):
        strict = contextvars.copy_context()
    strict.run(divide, told)
    divide(told)
    strict.run(divide, told)
    thread = threading.Thread(target=divide, args=(told,))
    thread.start()
    thread.join()
    with numelt.errstate(invalid="ignore"):
        divide(told)
    assert told == ["raised", 1, "raised", 1, 0]


def test_states_that_come_and_go():
    def program(np):
        x, made = np.array([1.0, 0.0, -1.0]), []
        for k in range(6):
            with np.errstate(divide="ignore" if k % 2 else "warn", invalid="ignore"):
                made.append(np.log(x) / k if k else x / x)
            made.append(np.linalg.inv(np.eye(2) + k))
            made.append(np.sqrt(x))
        return made

    check(program)
