"""Functions of a namespace that are compared under numelt and NumPy."""

import warnings

import numpy

import numelt

from .compare import assert_same


def outcome(function, np):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            made = function(np)
        except (IndexError, ValueError, TypeError, OverflowError) as error:
            return type(error), str(error)
    return made, sorted(str(w.message) for w in caught)


def both(function, context=None):
    ours, theirs = outcome(function, numelt), outcome(function, numpy)
    for got, want in zip(ours, theirs, strict=True):
        if isinstance(want, (numpy.ndarray, numpy.generic)):
            assert_same(got, want, context=str(context))
        else:
            assert got == want, context
