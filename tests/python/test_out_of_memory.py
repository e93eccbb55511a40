"""Results that no memory can hold: NumPy's exception, and nothing else is lost."""

import gc
import subprocess
import sys
import textwrap

import numpy
import pytest

import numelt as np

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

# what is asked for, and what NumPy says of the array
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
    """Give numelt little memory; returns what lifts the limit."""
    before = np.config.memory_limit
    np.flush()
    gc.collect()  # exceptions of tests before hold frames, and these arrays

    def lift():
        np.config.memory_limit = before or "8G"

    np.config.memory_limit = "256M"
    yield lift
    lift()


def too_much():
    """Return a result that the limit forbids, pending."""
    return np.broadcast_to(np.ones(1), (40_000_000,)) * 2.0


def refused(function):
    """Call a function that runs out of memory; returns what the exception says."""
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


def test_what_was_not_computed_says_so_until_it_is(little_memory):
    lost = too_much()
    assert refused(lambda: float(lost[0])) == TOLD
    assert refused(lambda: numpy.asarray(lost)) == TOLD
    # also where memory would be there by now: nothing is computed from what is not there
    little_memory()
    assert refused(lambda: float(lost[3])) == TOLD
    more = lost[:5] + 1
    assert refused(lambda: float(more[0])).startswith("Unable to allocate")
    assert refused(lambda: float(lost[:5].sum())).startswith("Unable to allocate")
    target = np.zeros(5)
    target += lost[:5]
    assert refused(target.tolist).startswith("Unable to allocate")
    # a part does not make the whole
    lost[:7] = 1.0
    assert refused(lambda: float(lost[3])).startswith("Unable to allocate")
    lost[...] = 3.0
    assert float(lost[-1]) == 3.0
    assert float(lost[:5].sum()) == 15.0
    target[...] = lost[:5]
    assert target.tolist() == [3.0] * 5


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
