"""The functions of `np.random` leave the state that NumPy's leave, and say what NumPy's say."""

import warnings

import numpy
import pytest

import numelt

from ..support.compare import as_numpy

pytestmark = pytest.mark.quick


@pytest.mark.parametrize("size", [(), (3,), (2, 2), (100,), (30, 40)])
@pytest.mark.parametrize(
    "name", ["rand", "randn", "random", "normal", "uniform", "randint", "standard_normal", "choice"]
)
def test_draws_leave_numpys_state(name, size):
    def drawn(np):
        np.random.seed(5)
        function = getattr(np.random, name)
        arguments = {"randint": (7,), "choice": (9,)}.get(name, ())
        if name in ("rand", "randn"):
            parts = [function(*size), function(), function(*size)]
        else:
            parts = [
                function(*arguments, size=size or None),
                function(*arguments),
                function(*arguments, size=size or None),
            ]
        return [*map(np.asarray, parts), np.random.get_state()[1], np.random.random()]

    (ours, _), (theirs, _) = outcome(drawn, numelt), outcome(drawn, numpy)
    for one, other in zip(ours, theirs, strict=True):
        assert numpy.array_equal(as_numpy(one), other)


def outcome(function, np):
    """What a call gives: its result and the warnings, or the class and text of its exception."""
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


@pytest.mark.parametrize("name", ["rand", "normal", "randint"])
def test_draws_complain_as_numpys(name):
    for arguments in [("a",), (-1, "b", 3)]:
        with pytest.raises((TypeError, ValueError)) as theirs:
            getattr(numpy.random, name)(*arguments)
        with pytest.raises(theirs.type):
            getattr(numelt.random, name)(*arguments)
