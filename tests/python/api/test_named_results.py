"""Functions of linear algebra that return named tuples."""

import numpy
import pytest

import numelt

from ..support.compare import assert_same

pytestmark = [pytest.mark.quick, pytest.mark.usefixtures("recorded_and_at_once")]


def test_named_results():
    matrix = numelt.array([[2.0, 1.0], [1.0, 3.0]])
    for name in ("eigh", "eig", "svd", "qr", "slogdet"):
        ours = getattr(numelt.linalg, name)(matrix)
        theirs = getattr(numpy.linalg, name)(numpy.array(matrix.tolist()))
        assert type(ours).__name__ == type(theirs).__name__
        assert ours._fields == theirs._fields
        assert_same(tuple(ours), tuple(theirs), rtol=1e-12)
