"""Loops whose variables have no value before them."""

import sys

import numelt as np


def twice(x):
    for i in range(len(x)):
        for j in range(2):
            x[i] += j
    for i in range(len(x)):
        for j in range(3):
            x[i] += j
    return i, j


def test_loops_whose_variables_nothing_has_assigned_raise_no_exceptions():
    # looking up a variable that has no value takes as long as ten iterations
    compiled, raised = np.jit(twice), []

    def trace(frame, event, argument):
        if event == "exception":
            raised.append(argument)
        return trace

    before = sys.gettrace()
    try:
        sys.settrace(trace)
        assert compiled(np.zeros(3)) == (2, 2)
    finally:
        sys.settrace(before)
    assert not raised
