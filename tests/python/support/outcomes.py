"""The outcome of a call under numelt and under NumPy: results and warnings, or the exception."""

import warnings

import numpy

import numelt

from .compare import as_numpy, assert_same


def outcome(function, np):
    """The outcome of a call: its result and the warnings, or the class and text of its exception."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            made = as_plain(function(np))
        except Exception as error:
            made = type(error), str(error)
    return made, sorted(str(w.message) for w in caught)


def as_plain(made):
    if isinstance(made, (list, tuple)):
        return [as_plain(part) for part in made]
    return as_numpy(made) if isinstance(made, numelt.ndarray) else made


def check(function):
    (ours, told), (theirs, expected) = outcome(function, numelt), outcome(function, numpy)
    if isinstance(theirs, (numpy.ndarray, numpy.generic)):
        assert_same(ours, theirs)
    elif isinstance(theirs, list):
        for one, other in zip(ours, theirs, strict=True):
            assert_same(one, other)
    else:
        assert ours == theirs
    assert told == expected
