"""Results that are named tuples: their classes, fields and memory."""

import numpy
import pytest

import numelt

from ..support.compare import as_numpy, assert_same


def assert_alike(ours, theirs):
    """Assert equality, including strides."""
    assert_same(ours, theirs)
    assert as_numpy(ours).strides == theirs.strides


@pytest.mark.parametrize("n", [2, 3, 6])
def test_parts_of_complex_results(n):
    """NumPy's result may be a part of an array of its own, so that its elements are not adjacent."""

    def solved(np):
        matrix = (np.arange(n * n).reshape(n, n) + np.eye(n) * 7.0) / 5
        return np.linalg.eig(matrix + matrix.T)

    ours, theirs = solved(numelt), solved(numpy)
    for one, other in zip(ours, theirs, strict=True):
        assert_alike(one, other)
    assert type(ours).__name__ == type(theirs).__name__
    ours.eigenvalues[0] = 5  # it has its own memory
    assert complex(ours.eigenvalues[0]) == 5.0
