"""Results that do not fit into memory: NumPy's exception is raised, and nothing else is lost."""

import gc
import subprocess
import sys
import textwrap

import numpy
import pytest

import numelt as np

from ..support.compare import in_threads

# the limits here are those of the host's memory
pytestmark = pytest.mark.usefixtures("on_the_host")

_LIMITED = """
import re, resource, sys
import numpy.fft
import numelt as np
import numelt.fft
import numelt.random

# libraries are loaded before memory is short
float(np.random.default_rng(0).random(1000).sum())

y = np.ones(4_000_000)
half = y > 0.5
np.flush()
pages = int(open("/proc/self/statm").read().split()[0])
free = resource.getrlimit(resource.RLIMIT_AS)
resource.setrlimit(resource.RLIMIT_AS, (pages * 4096 + (48 << 20), free[1]))
wide = np.broadcast_to(np.ones(1), (20_000_000,))
"""

# the call, and what NumPy's message says about the array
_HUGE = {
    "np.ones((5000, 1)) @ np.ones((1, 5000))": "(5000, 5000) and data type float64",
    "np.cumsum(wide)": "(20000000,) and data type float64",
    "np.concatenate([y, y, y])": "(12000000,) and data type float64",
    "np.fft.fft(y)": "(4000000,) and data type complex128",
    "wide[np.broadcast_to(True, (20_000_000,))]": "(20000000,) and data type float64",
    "np.zeros((5000, 5000), 'f4')": "(5000, 5000) and data type float32",
    "wide + 1": "(20000000,) and data type float64",
    "np.arange(20_000_000)": "(20000000,) and data type int64",
    "wide.copy()": "(20000000,) and data type float64",
    "np.random.default_rng(0).random(20_000_000)": "(20000000,) and data type float64",
}


def run(program):
    """Run a program in a process of its own; returns what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_huge_results_are_named_as_numpy_names_them():
    program = _LIMITED + textwrap.dedent(
        f"""
        for text in {list(_HUGE)!r}:
            try:
                numpy.asarray(eval(text))
                print("computed")
            except MemoryError as error:
                print(re.sub(r"(\\d+\\. )?[MG]iB", "", str(error)))
        assert float(y.sum()) == 4e6 and bool(half.all())
        resource.setrlimit(resource.RLIMIT_AS, free)
        """
    )
    told = run(program).splitlines()
    for (text, shape), line in zip(_HUGE.items(), told, strict=True):
        assert line.startswith("Unable to allocate"), f"{text}: {line}"
        assert line.endswith(f"for an array with shape {shape}"), f"{text}: {line}"


@pytest.fixture
def little_memory(recorded):
    """Give numelt little memory; returns a function that removes the limit."""
    before = np.config.memory_limit
    np.flush()
    gc.collect()  # exceptions of earlier tests hold frames with arrays

    def lift():
        np.config.memory_limit = before or "8G"

    np.config.memory_limit = "256M"
    yield lift
    lift()


def too_much():
    """Return a result that the limit forbids, still pending."""
    return np.broadcast_to(np.ones(1), (40_000_000,)) * 2.0


def refused(function):
    """Call a function that runs out of memory; returns the exception's text."""
    with pytest.raises(MemoryError) as caught:
        function()
    return str(caught.value)


TOLD = "Unable to allocate 305. MiB for an array with shape (40000000,) and data type float64"


def test_other_pending_work_is_done(little_memory):
    kept = np.arange(10.0)
    np.flush()
    kept += 1
    lost = too_much()
    other = kept * 2
    assert refused(lambda: float(lost[0])) == TOLD
    assert other.tolist() == [2.0 * (i + 1) for i in range(10)]
    assert kept.tolist() == [i + 1.0 for i in range(10)]


def test_what_was_not_computed_says_so_until_there_is_memory(little_memory):
    lost = too_much()
    more = lost[:5] + 1
    assert refused(lambda: float(lost[0])) == TOLD
    assert refused(lambda: numpy.asarray(lost)) == TOLD
    assert refused(lambda: float(more[0])).startswith("Unable to allocate")
    assert refused(lambda: float(lost[:5].sum())).startswith("Unable to allocate")
    target = np.zeros(5)
    target += lost[:5]
    assert refused(target.tolist).startswith("Unable to allocate")
    little_memory()
    assert float(lost[3]) == 2.0
    assert float(more[0]) == 3.0
    assert target.tolist() == [2.0] * 5


def test_what_overwrites_it_is_computed(little_memory):
    lost = too_much()
    assert refused(lambda: float(lost[0])) == TOLD
    # an assignment to a part does not make the array valid
    lost[:7] = 1.0
    assert refused(lambda: float(lost[3])).startswith("Unable to allocate")
    little_memory()
    lost[...] = 3.0
    assert float(lost[-1]) == 3.0
    assert float(lost[:5].sum()) == 15.0


def products(x, count=200):
    """Return more products than fit under the limit, still pending."""
    return [x * float(i) for i in range(count)]


def read(arrays):
    """Return the numbers of those arrays that get memory; assert that all of them have NumPy's values."""
    found = []
    for i, array in enumerate(arrays):
        try:
            value = float(array[7])
        except MemoryError:
            continue
        assert value == 7.0 * i
        found.append(i)
    return found


def test_arrays_before_the_one_that_did_not_fit_are_there(little_memory):
    x = np.arange(1e6)
    many = products(x)
    found = read(many)
    # as many as fit, beginning with the first
    assert found == list(range(len(found)))
    assert 10 < len(found) < 35
    assert float(x[7]) == 7.0
    assert float(x.sum()) == 499999500000.0
    other = np.ones(1000) + 1
    assert other.tolist() == [2.0] * 1000
    del many
    assert (numpy.asarray(x) == numpy.arange(1e6)).all()


def test_in_place_chains_and_draws_run_once(little_memory):
    rng, theirs = np.random.default_rng(3), numpy.random.default_rng(3)
    x, chain = np.arange(1e6), np.zeros(1000)
    expected = numpy.zeros(1000)
    for turn in range(4):
        chain += rng.random(1000)
        chain *= 1.5
        many = products(x)
        draw = rng.normal(size=500)
        assert refused(lambda many=many: float(many[-1][0])).startswith("Unable to allocate")
        expected = (expected + theirs.random(1000)) * 1.5
        numpy.testing.assert_allclose(numpy.asarray(chain), expected, rtol=1e-14)
        numpy.testing.assert_allclose(numpy.asarray(draw), theirs.normal(size=500), rtol=1e-12)
        assert float(x[7]) == 7.0, turn
    assert rng.random() == theirs.random()


def test_what_is_overwritten_or_handed_out_is_not_kept_for_what_did_not_fit(little_memory):
    x = np.arange(1e6)
    many = products(x)
    assert refused(lambda: float(many[-1][0])).startswith("Unable to allocate")
    x += 1
    assert float(x[7]) == 8.0
    seen = numpy.asarray(x)
    seen[7] = -1.0
    little_memory()
    # nothing is computed from values that were assigned later
    assert refused(lambda: float(many[-1][7])).startswith("Unable to allocate")
    assert float(x[7]) == -1.0


def test_results_are_tried_again_when_there_is_memory(little_memory):
    x = np.arange(1e6)
    many = products(x)
    assert refused(lambda: float(many[150][0])).startswith("Unable to allocate")
    del many[:100]
    assert float(many[50][7]) == 7.0 * 150


def test_threads(little_memory):
    """Each thread gets NumPy's values or an exception, and later all of them get values."""
    arrays = [np.arange(1e6) + i for i in range(4)]

    def work(x):
        many = products(x)
        return list(read_all(many, x))

    def read_all(many, x):
        first = float(x[7])
        for i in (0, 100, 199):
            try:
                value = float(many[i][7])
            except MemoryError:
                continue
            assert value == first * i
            yield i

    in_threads(work, arrays)
    assert [float(x[7]) for x in arrays] == [7.0, 8.0, 9.0, 10.0]


_REAL_LIMIT = """
import gc, resource
import numpy
import numelt as np
import numelt.random

x = np.arange(1e6) * 3
rng, theirs = np.random.default_rng(5), numpy.random.default_rng(5)
float(x.sum()), float(rng.random(10).sum()), theirs.random(10)
np.flush()
pages = int(open("/proc/self/statm").read().split()[0])
limits = resource.getrlimit(resource.RLIMIT_AS)
resource.setrlimit(resource.RLIMIT_AS, (pages * 4096 + (100 << 20), limits[1]))
for turn in range(3):
    x += 1
    before, expected = rng.random(1000), theirs.random(1000)
    many = [x * i for i in range(200)]
    after, wanted = rng.random(1000), theirs.random(1000)
    refused = 0
    for product in many[::20]:
        try:
            float(product[3])
        except MemoryError:
            refused += 1
    assert refused > 4, refused
    assert float(x[7]) == 22 + turn
    assert (np.ones(1000) + 1)[5] == 2
    assert (numpy.asarray(before) == expected).all() and (numpy.asarray(after) == wanted).all()
    del many, product
    gc.collect()
    assert float(x.sum()) == 1499998500000.0 + 1e6 * (turn + 1)
resource.setrlimit(resource.RLIMIT_AS, limits)
print("done")
"""


def test_a_limit_of_the_system():
    assert run(_REAL_LIMIT) == "done\n"


def test_memory_that_was_freed_serves_the_next(little_memory):
    first = np.broadcast_to(np.ones(1), (25_000_000,)) * 2.0
    assert float(first[0]) == 2.0
    second = np.broadcast_to(np.ones(1), (25_000_000,)) * 3.0
    assert refused(lambda: float(second[0])).endswith("shape (25000000,) and data type float64")
    del first
    third = np.broadcast_to(np.ones(1), (25_000_000,)) * 4.0
    assert float(third[-1]) == 4.0


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("column @ column.T", "(2000000, 2000000)"),
        ("np.multiply.outer(column[:, 0], column[:, 0])", "(2000000, 2000000)"),
        ("np.cumsum(wide)", "(400000000000,)"),
        ("wide.cumprod()", "(400000000000,)"),
        ("np.add.accumulate(wide)", "(400000000000,)"),
        ("np.cumsum(np.broadcast_to(wide, (2, wide.size)))", "(800000000000,)"),
        ("np.concatenate([wide, wide])", "(800000000000,)"),
        ("wide + 1", "(400000000000,)"),
        ("np.ones(wide.shape)", "(400000000000,)"),
        ("wide.copy()", "(400000000000,)"),
    ],
)
def test_what_can_never_be_is_refused_where_it_is_asked_for(text, shape):
    column = np.ones((2_000_000, 1))
    names = {"np": np, "column": column, "wide": np.broadcast_to(np.ones(1), (400_000_000_000,))}
    with pytest.raises(MemoryError) as caught:
        eval(text, names)
    assert f"for an array with shape {shape} and data type float64" in str(caught.value)
    assert float(column.sum()) == 2e6
