"""The resident memory of a process: large zeros once they are written, freed memory for a short time.

Each program runs in a process of its own and reads its resident size from the system.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="no resident size to read"),
    pytest.mark.usefixtures("on_the_host"),
]

PROLOGUE = r"""
import gc, os, resource, sys, time
import numpy, numelt as np

def resident():
    with open("/proc/self/statm") as sizes:
        return int(sizes.read().split()[1]) * os.sysconf("SC_PAGESIZE")

def settles_below(limit):
    # how long it takes is not looked at, but that it happens while nothing of numelt's is called
    end = time.monotonic() + 120
    while resident() > limit and time.monotonic() < end:
        time.sleep(0.1)
    return resident() <= limit

M = 1 << 20
np.zeros(10).sum()
(np.arange(200_000.0) * 2).sum()
start = resident()
"""

ZEROS = {
    "an element": "z = np.zeros(n); z[5] = 1; assert z[5] == 1 and z[6] == 0",
    "few elements": "z = np.zeros(n); z[::n // 8] = 7; assert z[n // 8] == 7 and z[1] == 0 and z[n - 1] == 0",
    "an export": "z = np.zeros(n); v = numpy.asarray(z); v[3] = 2; assert z[3] == 2 and v[4] == 0",
    "a buffer": "z = np.zeros(n); m = memoryview(z); m[9] = 4.0; assert z[9] == 4 and m[10] == 0",
    "a slice": "z = np.zeros(n); z[:1000] = np.arange(1000.0); assert z[999] == 999 and z[1000] == 0",
    "a matrix": "z = np.zeros((n // 8, 8), order='F'); z[3, 4] = 1; assert z[3, 4] == 1 and z[4, 3] == 0",
    "two at once": "z = np.zeros(n); w = np.zeros(n); z[1] = 1; w[2] = 2; assert z[1] == 1 and w[1] == 0",
    "like": "e = np.empty(n); z = np.zeros_like(e); z[5] = 1; assert z[5] == 1 and z[6] == 0",
    "full": "z = np.full(n, 0); z[5] = 1; assert z[5] == 1 and z[6] == 0",
    "truths": "z = np.zeros(8 * n, bool); z[5] = True; assert z[5] and not z[6]",
    "complex": "z = np.zeros(n // 2, complex); z[5] = 1j; assert z[5] == 1j and z[6] == 0",
    "through a mask": "z = np.zeros(n); z[[1, 5]] += 1; assert z[5] == 1 and z[6] == 0",
}

SETTINGS = [
    {},
    {"NUMELT_JIT": "off", "NUMELT_THREADS": "1"},
    {"NUMELT_PIECEMEAL": "0", "NUMELT_AT_ONCE": "0"},
]


def run(source, settings=()):
    environment = os.environ | dict(settings)
    command = [sys.executable, "-c", PROLOGUE + source]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("way", ZEROS)
def test_zeros_are_not_resident_before_they_are_written(way):
    run(f"n = 1 << 26\n{ZEROS[way]}\nassert resident() - start < 60 * M, (resident() - start) // M")


@pytest.mark.parametrize("settings", SETTINGS)
def test_zeros_are_zero_in_memory_that_was_used(settings):
    run(
        """
for n in (1 << 17, 1 << 20, 9 << 20):
    for value, dtype in ((0, float), (-0.0, float), (3, "i4"), (0, "i2"), (0, bool), (0, complex), (0, "f2")):
        for _ in range(2):
            x = np.arange(n) + 1
            assert x[n - 1] == n
            del x
            z = np.full(n, value, dtype)
            v = numpy.asarray(z)
            assert (v == value).all()
            assert v.dtype.kind != "f" or (numpy.signbit(v) == (str(value) == "-0.0")).all()
            v[...] = 1
            del z, v
""",
        settings,
    )


def test_zeros_that_are_written_whole_are_written_once():
    # the zeros never get memory of their own, and the sum is computed in one pass
    run(
        """
z = np.zeros(1 << 24)
z += 3
w = np.zeros(1 << 24) + np.arange(float(1 << 24))
assert z[7] == 3 and w[9] == 9
assert resident() - start < 300 * M
"""
    )


def test_zeros_count_towards_the_limit_of_memory():
    run(
        """
np.config.memory_limit = "100M"
try:
    z = np.zeros(1 << 26)
    z[5] = 1
    z[6]
except MemoryError:
    pass
else:
    raise AssertionError("no error")
z = np.zeros(1 << 20)
z[5] = 1
assert z[5] == 1 and z[6] == 0
"""
    )


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize(("n", "count"), [(1_000_000, 100), (20_000, 5_000), (1_000, 50_000)])
def test_memory_that_is_freed_goes_back(n, count, settings):
    run(
        f"""
arrays = [np.arange(float({n})) + k for k in range({count})]
assert sum(float(x[3]) for x in arrays) == sum(k + 3 for k in range({count}))
most = resident()
assert most - start > 350 * M
del arrays
gc.collect()
assert settles_below(start + 0.2 * (most - start)), (resident() - start) // M
# and computing goes on
assert float((np.arange(float({n})) * 2).sum()) == {n} * ({n} - 1)
""",
        settings,
    )


def test_memory_that_is_in_use_again_and_again_is_kept():
    run(
        """
def turn():
    x = np.arange(4e6)
    return float((np.sqrt(x)[::2] * x[::-2]).sum())

from numelt import _core

def fresh():
    return int(_core.stats()["pool"].partition("fresh_buffers: ")[2].partition(",")[0])

first = turn()
turn()
before = fresh()
for _ in range(40):
    assert turn() == first
assert fresh() - before < 10, fresh() - before
"""
    )


def test_others_can_allocate_under_a_limit_of_the_address_space():
    run(
        """
with open("/proc/self/statm") as sizes:
    used = int(sizes.read().split()[0]) * os.sysconf("SC_PAGESIZE")
room = 1000 * M
resource.setrlimit(resource.RLIMIT_AS, (used + room, resource.RLIM_INFINITY))
arrays = [np.arange(1e6) + k for k in range(80)]
assert sum(float(x[3]) for x in arrays) == sum(k + 3 for k in range(80))
del arrays
gc.collect()
# at once: nothing has had the time to go back by itself
other = bytearray(450 * M)
assert len(other) == 450 * M
"""
    )


def test_a_child_gives_back_what_its_parent_kept():
    run(
        """
arrays = [np.arange(1e6) + k for k in range(60)]
assert sum(float(x[3]) for x in arrays) == sum(k + 3 for k in range(60))
pid = os.fork()
if pid == 0:
    del arrays
    gc.collect()
    fine = settles_below(start + 200 * M)
    os._exit(0 if fine else 1)
assert os.waitpid(pid, 0)[1] == 0
"""
    )
