"""Results of linear algebra with names."""

import numpy
import pytest

import numelt

from ..support.compare import assert_same

pytestmark = pytest.mark.quick


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


def test_named_results():
    matrix = numelt.array([[2.0, 1.0], [1.0, 3.0]])
    for name in ("eigh", "eig", "svd", "qr", "slogdet"):
        ours = getattr(numelt.linalg, name)(matrix)
        theirs = getattr(numpy.linalg, name)(numpy.array(matrix.tolist()))
        assert type(ours).__name__ == type(theirs).__name__
        assert ours._fields == theirs._fields
        assert_same(tuple(ours), tuple(theirs), rtol=1e-12)
