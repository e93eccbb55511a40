"""One vector of positions, of few elements: reading and writing, and positions out of bounds."""

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

import numelt

pytestmark = [pytest.mark.core, pytest.mark.quick]

# elements of every size: 1, 2, 4, 8 and 16 bytes
DTYPES = ["?", "i2", "f4", "f8", "c16"]
FAR = [-(2**63), -(2**63) + 1, -(2**62), 2**62, 2**63 - 2, 2**63 - 1]


def outcome(act):
    """Return the result of a call, or its exception."""
    try:
        made = act()
    except IndexError as error:
        return str(error)
    return made.dtype, made.shape, numpy.asarray(made).tobytes()


@st.composite
def cases(draw):
    """Draw an array's length, dtype and step, and positions with a step of their own."""
    n = draw(st.integers(1, 40))
    near = st.integers(-n, n - 1)
    kind = draw(st.sampled_from(["all inside", "from the start", "any"]))
    beyond = st.one_of(near, st.integers(-n - 2, n + 1), st.sampled_from(FAR))
    items = {"all inside": near, "from the start": st.integers(0, n - 1), "any": beyond}[kind]
    positions = draw(st.lists(items, min_size=1, max_size=60))
    return (
        n,
        draw(st.sampled_from(DTYPES)),
        draw(st.sampled_from([1, 2, -1])),
        positions,
        draw(st.sampled_from([1, 3, -2])),
    )


@given(cases())
def test_reading_and_writing(case):
    n, dtype, step, positions, key_step = case
    numbers = numpy.random.default_rng(len(positions)).integers(0, 100, 2 * n).astype(dtype)
    key = numpy.repeat(numpy.array(positions), 3)[::key_step]
    results = []
    for np in (numpy, numelt):
        whole, at = np.array(numbers), np.repeat(np.array(positions), 3)[::key_step]
        x = whole[::step]
        read = outcome(lambda x=x, at=at: x[at])
        values = np.array(numpy.arange(3 * len(key)).astype(dtype))[::3]

        def store(x=x, at=at, values=values, whole=whole):
            x[at] = values
            x[at[:1]] = 1
            return whole

        results.append((read, outcome(store), numpy.asarray(whole).tobytes()))
    assert results[0] == results[1]
