"""The functions of `np.random` leave the same state as NumPy's, and give the same errors and warnings."""

import numpy
import pytest

import numelt

from ..support.compare import as_numpy
from ..support.outcomes import outcome

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


@pytest.mark.parametrize("name", ["rand", "normal", "randint"])
def test_draws_complain_as_numpys(name):
    for arguments in [("a",), (-1, "b", 3)]:
        with pytest.raises((TypeError, ValueError)) as theirs:
            getattr(numpy.random, name)(*arguments)
        with pytest.raises(theirs.type):
            getattr(numelt.random, name)(*arguments)
