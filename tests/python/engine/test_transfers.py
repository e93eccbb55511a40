"""Bytes that are moved between host and device: the data of a loop stay on the device.

The programs are those of benches/programs.py. The device is the test device (crates/testing/src/far), which
supports everything that a plan needs, so that only the runtime decides what is moved.
"""

import json
from pathlib import Path

import numpy
import pytest

import numelt

from .test_devices import CHANCE, FAR, run

BENCHES = str(Path(__file__).parents[3] / "benches")

pytestmark = pytest.mark.skipif(
    "far" not in numelt._core.engines(), reason="this build has no test device (cargo feature far)"
)

# The size of each program, and the bytes that it reads while it runs: sums, counts under masks, results.
LOOPS = {
    "heat_equation": (200, 80),
    "black_scholes": (20_000, 40),
    "shallow_water": (100, 0),
    "nbody": (700, 0),
    "kmeans": (20_000, 80),
    "game_of_life": (200, 0),
    "stencil27": (30, 0),
}

PROGRAM = f"""
import json, sys
import numpy
import numelt
sys.path.append({BENCHES!r})
import programs

def moved():
    stats = numelt._core.stats()
    return numpy.array([stats["bytes_there"], stats["bytes_back"]])

numelt.config.at_once = 0
found = {{}}
for name, (size, _) in {LOOPS!r}.items():
    once = getattr(programs, name)(numelt, size)
    kept = once()
    numelt.flush()
    before = moved()
    kept = once()
    numelt.flush()
    found[name] = (moved() - before).tolist()
    assert numpy.allclose(numpy.asarray(kept), getattr(programs, name)(numpy, size)())

x = numelt.array(numpy.arange(10_000.0))
before = moved()
for _ in range(3):
    y = x * 2
    numelt.flush()
found["a copy of NumPy's"] = (moved() - before).tolist()
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def found():
    """Return the bytes that each program moves to the device and back in its second run."""
    return json.loads(run(PROGRAM, FAR))


@pytest.mark.parametrize("name", LOOPS)
def test_loops_move_nothing_but_what_is_read(name, found):
    there, back = found[name]
    # the program's input has been on the device since the first run
    assert there == 0
    assert back <= LOOPS[name][1]


def test_a_copy_of_an_array_of_numpys_goes_to_the_device_once(found):
    assert found["a copy of NumPy's"] == [80_000, 0]


def test_memory_that_numpy_can_see_goes_there_again_and_comes_back():
    shared = numpy.arange(10_000.0)
    with numelt.engine("far"):
        x = numelt.asarray(shared)
        for factor in (1.0, 3.0):
            shared[:] = factor
            assert float((x * 2)[7]) == 2 * factor
        x += 1
        assert shared[9] == 4.0


ELEMENTS = """
import json
import numpy, numelt

def moved():
    stats = numelt._core.stats()
    return numpy.array([stats["bytes_there"], stats["bytes_back"]])

def rod(np, steps):
    \"\"\"A rod whose ends have given temperatures, set one by one, and whose middle is watched.\"\"\"
    u, seen = np.linspace(0.0, 1.0, 200_001), []
    for step in range(steps):
        u[1:-1] = u[1:-1] + 0.25 * (u[2:] - 2 * u[1:-1] + u[:-2])
        seen.append(float(u[100_000]))
        u[0], u[-1] = step, numpy.float32(0.5)
    return seen, u

rod(numelt, 1)
numelt.flush()
before = moved()
seen, u = rod(numelt, 5)
numelt.flush()
there, back = (moved() - before).tolist()
theirs, v = rod(numpy, 5)
assert seen == theirs and numpy.array_equal(numpy.asarray(u), v)
# many elements one after the other: the whole array comes home once
before = moved()
x = numelt.ones(200_000) * 2
numelt.flush()
for at in range(0, 2000, 2):
    x[at] = at
    x[at + 1] = x[at] + 0.5
assert float(x.sum()) == float(numpy.asarray(x).sum()) and x[:2000].tolist()[3] == 2.5
print(json.dumps([there, back, *(moved() - before).tolist()]))
"""


def test_setting_an_element_leaves_the_others_on_the_device():
    there, back, _, home = json.loads(run(ELEMENTS, FAR))
    assert there <= 5 * 2 * 8
    assert back <= 5 * 8
    assert home < 3 * 1_600_000


def test_elements_are_set_wherever_the_values_are():
    for number in range(3):
        run(ELEMENTS, {**CHANCE, "NUMELT_PLACEMENT": f"random:{number}"})
