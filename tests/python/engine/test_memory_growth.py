"""Memory does not grow with the number of iterations."""

import gc
import os
import subprocess
import sys
import weakref

import numpy

import numelt


def resident():
    """Return the process's resident memory in bytes."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


def test_iterations_do_not_leak():
    x = numelt.zeros(256)
    view = x[1:]

    def iterate(count):
        for i in range(count):
            y = x * 2 + 1
            view[:] = y[:-1] * 0.5
            if i % 7 == 0:
                float(numelt.sum(x))

    iterate(5_000)
    gc.collect()
    before = resident()
    iterate(95_000)
    gc.collect()
    assert resident() - before < 32e6


def test_pending_work_is_bounded():
    x = numelt.zeros(100_000)
    before = resident()
    held = []
    for _ in range(3_000):
        x = x + 1
        held.append(None)
    assert resident() - before < 200e6
    assert float(x[0]) == 3000.0


def test_exports_and_fallbacks_do_not_leak():
    x = numelt.arange(1000.0)

    def iterate(count):
        for _ in range(count):
            numpy.asarray(x)
            numelt.sort(x)
            memoryview(x)
            numelt.asarray(numpy.ones(100))

    iterate(500)
    gc.collect()
    before = resident()
    iterate(5_000)
    gc.collect()
    assert resident() - before < 16e6


def test_adopted_memory_is_released():
    owner = numpy.ones(10)
    reference = weakref.ref(owner)
    x = numelt.asarray(owner)
    y = x[2:]
    del owner, x
    gc.collect()
    assert reference() is not None
    assert float(numelt.sum(y)) == 8.0
    del y
    numelt.flush()
    gc.collect()
    assert reference() is None


def test_arrays_take_weak_references():
    x = numelt.ones(3)
    reference = weakref.ref(x)
    del x
    gc.collect()
    assert reference() is None


def test_values_take_the_place_of_what_they_are_made_of():
    """Many results of a large array that is read for the last time do not stay pending and keep it alive."""
    planes, side = 8, 600

    def run(np):
        f = np.ones((planes, side, side)) + np.arange(planes)[:, None, None]
        f[:, 0] = 3.0
        total = f.sum(axis=0)
        new = np.empty_like(f)
        for i in range(planes):
            new[i] = np.roll(np.roll(f[i] - 0.5 * (f[i] - total), 1, axis=0), 1, axis=1)
        return new

    expected = run(numpy)
    result = run(numelt)
    text = str(numelt.explain(kernels=True, bytecode=True))
    assert "after reuse:" in text
    assert numpy.array_equal(numpy.asarray(result), expected)


ELIMINATION = """
import importlib, sys
np = importlib.import_module(sys.argv[1])
import numpy

def resident(what):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(what)) / 1024

imported = resident("VmRSS")
start = np.array(numpy.random.default_rng(4).random((n := 400, n)) + n * numpy.eye(n))
with open("/proc/self/clear_refs", "w") as file:
    file.write("5")  # the peak starts again from here
sums = set()
for _ in range(3):
    u = start.copy()
    lower = np.zeros_like(u)
    lower += np.eye(n)
    for c in range(1, n):
        lower[c:, c - 1] = u[c:, c - 1] / u[c - 1, c - 1 : c]
        u[c:, c - 1 :] = u[c:, c - 1 :] - lower[c:, c - 1][:, None] * u[c - 1, c - 1 :]
    sums.add(numpy.asarray(lower @ u).tobytes())
assert len(sums) == 1
print(imported, resident("VmHWM"))
"""


def test_importing_and_long_loops_take_no_more_than_numpy():
    """Memory that importing has read is released, and plans of thousands of instructions are small."""
    environment = os.environ | {"NUMELT_JIT": "off"}

    def measured(module):
        done = subprocess.run(
            [sys.executable, "-c", ELIMINATION, module],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        return map(float, done.stdout.split())

    (theirs, their_peak), (ours, our_peak) = measured("numpy"), measured("numelt")
    assert ours <= theirs + 2
    assert our_peak <= their_peak + 8
