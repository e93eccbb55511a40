"""Inverses, solutions and triangles of small matrices."""

import numpy
import pytest

import numelt as np


def outcome(function, *args):
    try:
        return function(*args)
    except (TypeError, ValueError, IndexError) as error:
        return type(error), str(error)


def test_a_triangle_is_a_copy():
    x = np.ones((3, 3))
    y = np.triu(x)
    y[0, 0] = 5
    assert x[0, 0] == 1
    x += 1  # pending work is included
    assert np.tril(x * 2).tolist() == [[4, 0, 0], [4, 4, 0], [4, 4, 4]]
    assert str(outcome(np.triu)) == str(outcome(numpy.triu))


def test_the_position_of_an_extreme():
    for seed in range(20):
        real = numpy.random.default_rng(seed).random((5, 7))
        made = np.array(real)
        want = numpy.unravel_index(numpy.argmax(real), real.shape)
        got = np.unravel_index(np.argmax(made), made.shape)
        assert got == want
        assert made[got] == real[want]


LAYOUTS = {
    "as it is": lambda m: m,
    "transposed": lambda m: m.T,
    "reversed": lambda m: m[::-1, ::-1],
    "backwards rows": lambda m: m[::-1],
    "every second": lambda m: m.repeat(2, 0).repeat(2, 1)[::2, ::2],
}


@pytest.mark.parametrize("special", [None, 0.0, numpy.nan, numpy.inf])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_inverses_and_solutions_have_numpys_bits(layout, special):
    """Singular matrices raise NumPy's error; here, so do those with a row of zeros."""
    rng = numpy.random.default_rng(7)
    for n in (1, 2, 3, 8, 31, 32, 33):
        matrix, right = rng.normal(size=(n, n)), rng.normal(size=(n, 3))
        if special is not None:
            matrix[0] = special
        results = []
        for xp in (np, numpy):
            m, r = LAYOUTS[layout](xp.array(matrix)), xp.array(right)
            calls = [
                lambda xp=xp, m=m: xp.linalg.inv(m),
                lambda xp=xp, m=m, r=r: xp.linalg.solve(m, r),
                lambda xp=xp, m=m, r=r: xp.linalg.solve(m, r[:, 1]),
                lambda xp=xp, m=m, r=r: xp.linalg.solve(m, r[:, ::-1]),
            ]
            made = []
            for call in calls:
                try:
                    made.append(numpy.asarray(call()).tobytes())
                except numpy.linalg.LinAlgError as error:
                    made.append(str(error))
            results.append(made)
        assert results[0] == results[1], n


@pytest.mark.parametrize("name", ["matmul", "dot"])
@pytest.mark.parametrize("is_left", [True, False])
def test_products_with_vectors_that_no_memory_can_hold(name, is_left):
    def product(module):
        line = module.ones(1)
        shape = (2**61, 1) if is_left else (1, 2**61)
        large = module.broadcast_to(module.ones((1, 1)), shape)
        return getattr(module, name)(*((large, line) if is_left else (line, large)))

    for module in (numpy, np):
        with pytest.raises((ValueError, MemoryError)):
            product(module)
