"""NumPy's scalars with operands of other classes."""

import numpy

import numelt


def test_scalars_of_numpys_and_others():
    class Asking(float):
        pass

    class Number(numpy.float64):
        def __rmul__(self, other):
            return "asked"

    for left in (numpy.float64(2), numpy.int64(2), Number(2)):
        for right in (
            3,
            2.5,
            Asking(1.5),
            True,
            numpy.float64(1),
            numpy.int64(4),
            [1, 2],
            "ab",
            None,
            Number(3),
        ):
            made = []
            for array in (numpy, numelt):
                array.arange(3) * left
                try:
                    made.append(repr(left * right))
                except TypeError as error:
                    made.append(str(error))
            assert made[0] == made[1]
    assert (numpy.float64(2) * numpy.arange(3)).tolist() == [0, 2, 4]
    assert type(numpy.float64(2) * numpy.arange(3)) is numpy.ndarray
