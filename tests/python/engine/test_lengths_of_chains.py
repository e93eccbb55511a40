"""How far apart a program's reads are decides whether operations run when they are called or are recorded."""

import subprocess
import sys

import numpy
import pytest

import numelt

from ..support.compare import as_numpy
from .test_running_at_once import runs_at_once

pytestmark = [pytest.mark.quick, pytest.mark.usefixtures("unobserved")]


def test_long_chains_are_fused_again():
    code = (
        "import numelt as np\n"
        "a = np.arange(1000.0)\n"
        "def chain(length):\n"
        "    z = a\n"
        "    for _ in range(length): z = z + a\n"
        "    return float(z[1])\n"
        "def count(length):\n"
        "    before = np._core.stats()['at_once']\n"
        "    assert chain(length) == length + 1\n"
        "    return np._core.stats()['at_once'] - before\n"
        "for _ in range(20): chain(20)\n"
        "assert count(20) == 0\n"
        "for _ in range(8): chain(1)\n"
        "assert count(1) == 1\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_larger_arrays_run_at_once_where_reads_come_close():
    code = (
        "import numelt as np\n"
        "a = np.arange(8000.0)\n"
        "def count(length):\n"
        "    before, z = np._core.stats()['at_once'], a\n"
        "    for _ in range(length): z = z + a\n"
        "    assert z[1] == length + 1\n"
        "    return np._core.stats()['at_once'] - before\n"
        "assert count(1) == 0\n"
        "for _ in range(8): count(1)\n"
        "assert count(1) == 1\n"
        "for _ in range(40): count(20)\n"
        "assert count(20) == 0 and count(1) == 0\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("turn", ["x[i] += v", "x[i] = x[i] * 0.5 - v", "x[i] = v; x[i] += 1.0"])
def test_chains_that_make_many_kernels_run_at_once(turn):
    """Nothing is read here, and gathers and scatters let no kernel have more than a few operations."""
    code = (
        "import numelt as np\n"
        "x, v, i = np.zeros(1000), np.ones(1000), np.arange(1000)[::-1].copy()\n"
        "def turns(count):\n"
        f"    for _ in range(count): {turn}\n"
        "turns(1000)\n"
        "before = np._core.stats()\n"
        "turns(1000)\n"
        "after = np._core.stats()\n"
        "at_once, all = (after[name] - before[name] for name in ('at_once', 'instructions'))\n"
        "assert at_once > 0.8 * all, (at_once, all)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_one_larger_operation_among_small_ones_does_not_end_it():
    code = (
        "import numelt as np\n"
        "a, b = np.arange(1000.0), np.arange(3.0)\n"
        "def turn():\n"
        "    before = np._core.stats()['at_once']\n"
        "    assert (b / a.max()).tolist() == [0.0, 1 / 999, 2 / 999]\n"
        "    return np._core.stats()['at_once'] - before\n"
        "counts = [turn() for _ in range(3000)]\n"
        "assert counts[-500:].count(2) > 450, counts[-500:]\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def chain(x):
    """Apply many operations, so that recording them pays."""
    for _ in range(20):
        x = x * 0.5 + 1.0
    return x[3]


needs_at_once = pytest.mark.skipif(not numelt.config.at_once, reason="everything is recorded")


@needs_at_once
def test_only_elementwise_operations_depend_on_the_length_of_chains():
    few, some, many = (numelt.arange(float(n)) for n in (512, 4000, 8193))
    for x in (few, some, many):
        x[0]
    for _ in range(100):
        chain(some)
    rows = some.reshape(40, 100)
    always = [lambda: few + 1.0, lambda: rows.sum(axis=0), lambda: some.max(), lambda: few[few > 3.0]]
    for call in always * 3:
        assert runs_at_once(call)[1] > 0
    assert runs_at_once(lambda: many + 1.0)[1] == 0
    expected = numpy.arange(4000.0).reshape(40, 100).sum(axis=0)
    numpy.testing.assert_array_equal(as_numpy(rows.sum(axis=0)), expected)


@needs_at_once
def test_long_chains_are_recorded_and_short_ones_are_not():
    x = numelt.arange(1000.0)
    x[0]
    ran = [runs_at_once(lambda: chain(x))[1] for _ in range(100)]
    assert ran[-1] == 0
    ran = [runs_at_once(lambda: (x + 1.0)[3])[1] for _ in range(100)]
    assert ran[-1] == 1
