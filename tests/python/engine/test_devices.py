"""Arrays that live on a device: the same values, types, warnings and errors as on the host.

The device is the test device (crates/testing/src/far): the host cannot read its memory, it works later than
it is asked to, and host memory of arrays whose values are on the device is filled with garbage.
"""

import json
import os
import subprocess
import sys
import textwrap
import threading
import warnings
from pathlib import Path

import numpy
import pytest

import numelt

from ..support.compare import as_numpy

pytestmark = pytest.mark.skipif(
    "far" not in numelt._core.engines(), reason="this build has no test device (cargo feature far)"
)

# Where work runs: on the device, on one with little memory, or on a random engine for each step.
FAR = {"NUMELT_ENGINE": "far"}
SMALL = {"NUMELT_ENGINE": "far", "NUMELT_DEVICE_MEMORY": "64M"}
CHANCE = {"NUMELT_ENGINE": "auto", "NUMELT_DEVICES": "far", "NUMELT_PLACEMENT": "random"}
PLACES = pytest.mark.parametrize("settings", [FAR, SMALL, CHANCE], ids=["far", "64M", "chance"])


def run(code, settings, timeout=120):
    """Run a program with an engine in a process of its own; returns what it printed."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("NUMELT_")}
    for key in ("NUMELT_CACHE_DIR", "NUMELT_CONFIG"):
        if key in os.environ:
            kept[key] = os.environ[key]
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={**kept, **settings},
        capture_output=True,
        text=True,
        timeout=timeout,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def far():
    """Run the work of this process on the device."""
    with numelt.engine("far"):
        yield


@pytest.fixture
def host():
    """Run the work of this process on the host at first."""
    with numelt.engine("cpu"):
        yield


def moved():
    """Return how many steps have run on devices."""
    return numelt._core.stats()["on_devices"]


def test_use_chooses_an_engine_and_keeps_values(host):
    x = numelt.arange(1000.0)
    on_host = x * 2
    assert numelt.use("far") is None
    assert numelt.config.engine == "far"
    before = moved()
    there = on_host + 1
    assert float(there.sum()) == 1000 * 999 + 1000
    assert moved() > before
    pending = numelt.sqrt(there)
    numelt.use("cpu")
    before = moved()
    assert pending.tolist() == numpy.sqrt(numpy.arange(1000.0) * 2 + 1).tolist()
    assert (x + there).tolist() == (numpy.arange(1000.0) * 3 + 1).tolist()
    assert moved() == before


def test_engine_restores_the_one_before(host):
    x = numelt.arange(100.0)
    with numelt.engine("far"):
        y = x + 1
        with numelt.engine("cpu"):
            assert numelt.config.engine == "cpu"
            z = y * 2
        assert numelt.config.engine == "far"
        w = z - x
    assert numelt.config.engine == "cpu"
    assert w.tolist() == (numpy.arange(100.0) + 2).tolist()


def test_engine_restores_after_exceptions(host):
    y = numelt.arange(100.0)
    with pytest.raises(ZeroDivisionError), numelt.engine("far"):
        y = y + 1 // int(y[0])
    assert numelt.config.engine == "cpu"
    assert float(y.sum()) == 4950.0


def test_unknown_engines_are_refused(host):
    with pytest.raises(ValueError, match=r'"nowhere" is not cpu.*far'):
        numelt.use("nowhere")
    with pytest.raises(ValueError, match="nowhere"), numelt.engine("nowhere"):
        pytest.fail("the block must not run")
    assert numelt.config.engine == "cpu"


def test_show_config_lists_engines(capsys):
    assert {"cpu", "auto", "far"} <= set(numelt.show_config("dicts")["numelt"]["engines"])
    numelt.show_config()
    assert "engines: cpu" in capsys.readouterr().out


def matrix(np):
    return (np.arange(6000) % 17).reshape(60, 100)


def in_place(np):
    x = np.arange(5000.0)
    x[10:] += x[:-10]
    x[::2] *= -1
    x[100:200] = x[300:400][::-1]
    return x


def sieve(np):
    numbers = np.ones(3000, dtype=bool)
    numbers[:2] = False
    for k in range(2, 55):
        if numbers[k]:
            numbers[k * k :: k] = False
    return np.flatnonzero(numbers)


def stencil(np):
    u = np.zeros((80, 80))
    u[40, 40] = 1.0
    for _ in range(10):
        u[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
    return u


def softmax(np):
    x = matrix(np) / np.float32(7)
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def by_index(np):
    x = matrix(np).ravel()
    y = x[(x * 37) % 6000]
    y[x > 8] = -1
    np.add.at(y, [0, 0, 1], 5)
    return np.where(y > 0, y, x)


PROGRAMS = {
    "elementwise": lambda np: np.sqrt(np.arange(10_000.0) * 2 + 1),
    "integers": lambda np: (np.arange(5000, dtype=np.int16) * 7) // 3 % 11,
    "complex": lambda np: np.exp(1j * np.arange(2000) / 100).conj().imag,
    "halves": lambda np: np.arange(3000, dtype=np.float16) / 7 + 1,
    "reductions": lambda np: [matrix(np).sum(axis=k, dtype=np.float64) for k in (0, 1)] + [matrix(np).max()],
    "scans": lambda np: np.cumsum(matrix(np), axis=1),
    "matmul": lambda np: matrix(np) @ matrix(np).T,
    "floats matmul": lambda np: (matrix(np) / 4.0) @ (matrix(np).T / 8.0),
    "in place": in_place,
    "sieve": sieve,
    "stencil": stencil,
    "softmax": softmax,
    "index": by_index,
    "sort": lambda np: np.sort((np.arange(5000) * 7919) % 5003)[::-1],
    "join": lambda np: np.concatenate([matrix(np)[:, :50].T, matrix(np)[:50, :60]]),
    "scalars": lambda np: float(np.arange(100.0)[7]) + np.float32(1) + np.arange(10).mean(),
    "empty": lambda np: np.zeros((0, 5)).sum(axis=0) + np.zeros(()),
}


def plain(result):
    if isinstance(result, (list, tuple)):
        return [plain(one) for one in result]
    array = as_numpy(result)
    return array.dtype.str, array.shape, array.tobytes()


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name, far):
    before = moved()
    results = [plain(PROGRAMS[name](numelt)) for _ in range(3)]
    if name not in ("scalars", "empty"):
        assert moved() > before
    with numelt.engine("cpu"):
        assert results == [plain(PROGRAMS[name](numelt))] * 3
    if name not in ("complex", "softmax"):  # functions may differ from NumPy's in the last place
        assert results[0] == plain(PROGRAMS[name](numpy))


def test_random_numbers(far):
    for kind in (numpy.random.PCG64, numpy.random.MT19937, numpy.random.Philox, numpy.random.SFC64):
        ours, theirs = (np.random.Generator(kind(5)) for np in (numelt, numpy))
        for _ in range(3):
            for draw in (
                lambda g: g.random(5000),
                lambda g: g.normal(size=300),
                lambda g: g.integers(0, 99, 1000),
                lambda g: g.permutation(50),
            ):
                assert plain(draw(ours)) == plain(draw(theirs))
    drawn = []
    for np in (numelt, numpy):
        np.random.seed(3)
        drawn.append([plain(np.random.rand(2000) * 2), plain(np.random.randn(99)), plain(np.random.rand(3))])
    assert drawn[0] == drawn[1]


def test_what_is_handed_out_is_seen_and_written(far):
    x = numelt.arange(3000.0) * 2
    numelt.flush()
    buffer, shared, theirs = memoryview(x), numpy.from_dlpack(x), numpy.asarray(x)
    expected = numpy.arange(3000.0) * 2
    assert numpy.array_equal(buffer, expected)
    assert numpy.array_equal(shared, expected)
    x += 1
    assert numpy.array_equal(theirs, expected + 1)
    theirs[5] = -1.0
    assert float((x * 2)[5]) == -2.0
    x[7] = -3.0
    assert shared[7] == theirs[7] == buffer[7] == -3.0
    assert x.__array_interface__["data"][0] == theirs.__array_interface__["data"][0]


class Shown:
    """Memory by its address, as a program describes it that keeps no reference to the owner."""

    def __init__(self, array):
        address = array.ctypes.data
        self.__array_interface__ = {
            "shape": array.shape,
            "typestr": array.dtype.str,
            "data": (address, False),
            "version": 3,
        }


def test_memory_that_an_array_has_left_is_known_as_its_new_owners(far):
    """The address of an array is no longer the array's when its values have moved to the device."""
    moved = numelt.arange(20_000.0)
    theirs = numpy.asarray(moved)
    before = theirs.ctypes.data
    assert numelt.shares_memory(numelt.asarray(Shown(theirs)), moved)
    del theirs
    moved *= 2
    numelt.flush()
    # a few bytes smaller, so that it takes the memory without covering all of it
    others = [numelt.arange(19_999.0) + number for number in range(4)]
    assert before in [other.ctypes.data for other in others]
    for number, other in enumerate(others):
        alias = numelt.asarray(Shown(other))
        assert numelt.shares_memory(alias, other)
        assert not numelt.shares_memory(alias, moved)
        alias[0] = -1.0
        assert (other[0], other[1]) == (-1.0, number + 1)
    assert (moved[0], moved[1]) == (0.0, 2.0)


def test_memory_of_others_is_written_in_place(far):
    theirs = numpy.arange(4000.0)
    ours = numelt.asarray(theirs)
    view = ours[::2]
    view *= 3
    assert theirs[:6].tolist() == [0.0, 1.0, 6.0, 3.0, 12.0, 5.0]
    theirs[0] = 9.0
    assert float(ours.sum()) == float(theirs.sum())
    numpy.add(ours, 1.0, out=theirs)
    assert ours[0] == 10.0


def test_kept_reductions_are_those_of_the_array_as_it_is(far):
    x = numelt.arange(5000.0)
    for turn in range(5):
        assert (float(x.sum()), float(x.max()), float(x.min())) == (
            12497500.0 + 5000 * turn,
            4999.0 + turn,
            0.0 + turn,
        )
        x += 1


def test_pickles_and_copies(far):
    import copy
    import pickle

    x = numelt.arange(2000.0) + 1
    numelt.flush()
    for other in (pickle.loads(pickle.dumps(x)), copy.deepcopy(x), x.copy()):
        assert other.tolist() == list(range(1, 2001))
    assert x.tobytes() == numpy.arange(1.0, 2001.0).tobytes()


def test_warnings_have_their_lines(far):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        x = numelt.arange(5000.0) - 1
        first = numelt.sqrt(x)
        second = 1 / (x + 1)
        numelt.flush()
    line = test_warnings_have_their_lines.__code__.co_firstlineno
    assert [(str(w.message), w.lineno - line) for w in seen] == [
        ("invalid value encountered in sqrt", 4),
        ("divide by zero encountered in divide", 5),
    ]
    assert all(w.filename == __file__ for w in seen)
    assert numelt.isnan(first[0])
    assert second[0] == numelt.inf
    with numelt.errstate(all="raise"), pytest.raises(FloatingPointError, match="divide by zero"):
        numelt.flush(), (1 / (x + 1)).sum() + 0


def test_threads(far):
    failures = []

    def work(seed):
        for turn in range(30):
            x = numelt.arange(2000.0) * seed + turn
            x[::3] -= 1
            y = numpy.arange(2000.0) * seed + turn
            y[::3] -= 1
            if x.tolist() != y.tolist():
                failures.append((seed, turn))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert failures == []


def test_engines_change_while_other_threads_work(host):
    failures, stop = [], threading.Event()

    def work():
        while not stop.is_set():
            if float((numelt.arange(3000.0) * 2 + 1).sum()) != 3000 * 2999 + 3000:
                failures.append("wrong")

    thread = threading.Thread(target=work)
    thread.start()
    for _ in range(20):
        with numelt.engine("far"):
            assert float(numelt.sqrt(numelt.full(1000, 4.0)).sum()) == 2000.0
    stop.set()
    thread.join()
    assert failures == []


def test_explain_names_engines(far):
    x = numelt.arange(20_000.0)
    numelt.flush()
    assert "\n  runs on: far\n" in numelt.explain(numelt.sqrt(x) + 1)
    with numelt.engine("cpu"):
        assert "\n  runs on" not in numelt.explain(numelt.sqrt(x) + 1)
    before = numelt.config.placement
    numelt.config.placement = "cost"
    try:
        with numelt.engine("auto"):
            text = numelt.explain(numelt.sqrt(x) + 1)
    finally:
        numelt.config.placement = before
    assert "\n  runs on: cpu or far, wherever it takes less time then\n" in text


def test_reports_name_engines_and_what_moved(host):
    x = numelt.arange(5000.0)
    numelt.flush()
    with numelt.inspect() as seen:
        float((x * 2).sum())
    assert [(f["engines"], f["bytes_there"], f["bytes_back"]) for f in seen.flushes] == [([], 0, 0)]
    with numelt.engine("far"):
        with numelt.inspect() as seen:
            y = x * 3
            numelt.flush()
        report = seen.flushes[0]
        assert (report["engines"], report["bytes_there"], report["bytes_back"]) == (["far"], 40_000, 0)
        with numelt.profile() as profiled:
            float(y[7])
            float((y + 1).sum())
        assert profiled.bytes_there == 0
        assert profiled.bytes_back >= 40_000
        assert [*profiled.engines.values()] == [{"far": 1}]
        text = str(profiled)
    assert "0.00 MB copied to devices, 0.04 MB back\n" in text
    assert "steps: 1 on far" in text


def back():
    """Return the bytes that have been copied from devices to the host."""
    return numelt._core.stats()["bytes_back"]


def test_reading_single_elements_does_not_move_the_array(host):
    with numelt.engine("far"):
        x = numelt.arange(1_000_000) * 3
        numelt.flush()
        before = back()
        table = x.reshape(1000, 1000)
        assert [int(x[5]), x[-1], table[2, 1], x[9:].item(-7)] == [15, 2_999_997, 6003, 2_999_979]
        assert back() == before + 4 * 8
        x[5] = 0
        x += 1
        before = back()
        assert [x[5], x[6]] == [1, 19]
        assert back() == before + 2 * 8


def test_an_array_is_moved_if_many_of_its_elements_are_read(host):
    with numelt.engine("far"):
        x = numelt.arange(1_000_000.0) * 3
        numelt.flush()
        before = back()
        assert [float(x[i]) for i in range(100)] == [3.0 * i for i in range(100)]
        assert x.nbytes < back() - before < x.nbytes + 100 * 8
        before = back()
        assert x[100] == 300.0
        assert back() == before


def test_totals_survive_a_change_of_engines(host):
    before = numelt._core.stats()
    with numelt.engine("far"):
        float((numelt.arange(5000.0) * 2).sum())
    after = numelt._core.stats()
    assert after["on_devices"] > before["on_devices"]
    assert after["bytes_back"] > before["bytes_back"]


def test_the_trace_says_where_steps_ran():
    code = "import numelt as np, sys; sys.stderr = sys.stdout; float((np.arange(5000.0) * 2).sum())"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **FAR, "NUMELT_TRACE": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "steps: 1 on far; 0 bytes there, 0 back" in done.stderr


def test_coverage_shows_what_ran_on_the_host_instead():
    code = """
        import numelt as np
        x = np.arange(2_000_000.0)  # too large for the device
        np.flush()
        y = np.sqrt(x) * 2
        np.flush()
        report = np.coverage(reset=True)
        print(report.on_host.get("sqrt+multiply"), report.as_dict()["on_host"] == report.on_host)
        print("on the host instead of a device: " in str(report), np.coverage().on_host)
        print(float(y[4]))
    """
    out = run(code, FAR | {"NUMELT_DEVICE_MEMORY": "1M"})
    assert out.split("\n") == ["1 True", "True {}", "4.0", ""]


def test_arrays_beyond_the_devices_memory():
    code = """
        import json
        import numelt as np
        arrays = [np.full(1_000_000, float(k)) for k in range(20)]  # 160 MB
        np.flush()
        for _ in range(2):
            for k in range(20):
                arrays[k] = arrays[k] * 2 + arrays[(k + 7) % 20]
                np.flush()
        stats = np._core.stats()
        print(json.dumps([[float(a[0]), float(a[-1]), float(a.sum())] for a in arrays]))
        print(stats["evicted"] > 0, stats["on_devices"] > 40)
    """
    there, told = run(code, SMALL).splitlines()
    on_host = run(code, {"NUMELT_ENGINE": "cpu"}).splitlines()[0]
    assert json.loads(there) == json.loads(on_host)
    assert told == "True True"


@PLACES
def test_steps_placed_anyhow(settings):
    code = """
        import numelt as np
        from numelt.random import default_rng
        g = default_rng(3)
        x = g.random((200, 300))
        for k in range(30):
            x = np.sin(x) + x.T.reshape(200, 300) * 0.5
            x[k] = x[:, k].sum()
            if k % 7 == 0:
                x = np.sort(x, axis=1)
            assert x.shape == (200, 300)
        print(x.tobytes().hex()[:2000], float(x.sum()))
        print(np._core.stats()["on_devices"] > 10)
    """
    out = run(code, settings).splitlines()
    assert out == [run(code, {"NUMELT_ENGINE": "cpu"}).splitlines()[0], "True"]


def test_a_lost_setting_is_told():
    for settings, words in (
        ({"NUMELT_ENGINE": "auto", "NUMELT_DEVICES": "nowhere"}, "nowhere"),
        ({"NUMELT_ENGINE": "nowhere"}, "is not cpu"),
    ):
        done = subprocess.run(
            [sys.executable, "-c", "import numelt"],
            env={**os.environ, **settings},
            capture_output=True,
            text=True,
        )
        assert done.returncode != 0
        assert words in done.stderr


def test_settings_of_devices_take_effect_at_once(host):
    before = numelt.config.devices, numelt.config.placement
    try:
        numelt.config.devices, numelt.config.placement = "far", "random:5"
        with numelt.engine("auto"):
            there = moved()
            x = numelt.arange(3000.0)
            for _ in range(20):
                x = x + 1
                numelt.flush()
            assert x.tolist() == list(range(20, 3020))
            assert 0 < moved() - there < 20
    finally:
        numelt.config.devices, numelt.config.placement = before


@PLACES
def test_the_example_of_the_document(settings):
    path = Path(__file__).resolve().parents[3] / "docs" / "engines.md"
    code = path.read_text().split("```python\n")[1].split("```")[0]
    x = numpy.linspace(0.0, 1.0, 1_000_000)
    total = float(run(code, settings).splitlines()[-1])
    assert total == pytest.approx(float((2 * (numpy.sqrt(x) + 1)).sum()), rel=1e-14)
