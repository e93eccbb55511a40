"""Arrays whose home is a device that the program has named: `device=`, `to_device`, work that follows.

Most tests use the test device (crates/testing/src/far), of which there are several. Host memory of arrays
whose values are on it is filled with garbage.
"""

import copy
import os
import pickle
import threading
import warnings

import numpy
import pytest

import numelt

from ..support.compare import as_numpy
from ..support.devices import run

pytestmark = pytest.mark.skipif(
    "far" not in numelt._core.engines(), reason="this build has no test device (cargo feature far)"
)

DTYPES = ["?", "i1", "u2", "i4", "i8", "u8", "f2", "f4", "f8", "c8", "c16"]

CREATED = {
    "zeros": lambda x, **where: numelt.zeros((3, 4), **where),
    "ones": lambda x, **where: numelt.ones(5, "i4", **where),
    "empty": lambda x, **where: numelt.empty((2, 2), **where),
    "empty in F order": lambda x, **where: numelt.empty((2, 2), order="F", **where),
    "full": lambda x, **where: numelt.full((2, 3000), 2.5, **where),
    "arange": lambda x, **where: numelt.arange(7, **where),
    "arange of floats": lambda x, **where: numelt.arange(0.5, 9.0, 0.25, **where),
    "linspace": lambda x, **where: numelt.linspace(0, 1, 5, **where),
    "eye": lambda x, **where: numelt.eye(3, 4, k=1, **where),
    "zeros_like": lambda x, **where: numelt.zeros_like(x, **where),
    "ones_like": lambda x, **where: numelt.ones_like(x, **where),
    "empty_like": lambda x, **where: numelt.empty_like(x, **where),
    "full_like": lambda x, **where: numelt.full_like(x, 3, **where),
    "asarray": lambda x, **where: numelt.asarray(x, **where),
    "asarray of a list": lambda x, **where: numelt.asarray([1, 2], **where),
    "asarray of NumPy's": lambda x, **where: numelt.asarray(numpy.arange(3.0), **where),
    "asanyarray": lambda x, **where: numelt.asanyarray(x, dtype="f4", **where),
    "astype": lambda x, **where: numelt.astype(x, "f4", **where),
    "fftfreq": lambda x, **where: numelt.fft.fftfreq(5, **where),
    "rfftfreq": lambda x, **where: numelt.fft.rfftfreq(5, **where),
}

RESULTS = {
    "add": lambda np, x: x + 1,
    "add a number of NumPy's": lambda np, x: numpy.float64(2) * x,
    "in no order": lambda np, x: x[::-1] - x[:, ::-1],
    "functions": lambda np, x: np.exp(-x) * np.sin(x),
    "sum": lambda np, x: x.sum(axis=0),
    "kept axes": lambda np, x: x.max(keepdims=True),
    "cumsum": lambda np, x: np.cumsum(x, axis=1),
    "accumulate": lambda np, x: np.maximum.accumulate(x),
    "view": lambda np, x: x[1:, ::2],
    "reshape": lambda np, x: x.reshape(-1),
    "transposed": lambda np, x: x.T.copy(),
    "positions": lambda np, x: x[[1, 0]],
    "mask": lambda np, x: x[x > 3],
    "empty mask": lambda np, x: x[x > 1e9],
    "nothing": lambda np, x: x[:0] + 1,
    "take": lambda np, x: np.take(x, [2, 1], axis=1),
    "where": lambda np, x: np.where(x > 3, x, 0),
    "nonzero": lambda np, x: np.nonzero(x)[1],
    "clip": lambda np, x: np.clip(x, 1, 5),
    "concatenate": lambda np, x: np.concatenate([np.zeros((1, 4)), x]),
    "stack": lambda np, x: np.stack([np.zeros((3, 4)), x]),
    "vstack": lambda np, x: np.vstack([x, np.zeros((1, 4))]),
    "pad": lambda np, x: np.pad(x, 1),
    "roll": lambda np, x: np.roll(x, 1, axis=0),
    "tile": lambda np, x: np.tile(x, 2),
    "repeat": lambda np, x: np.repeat(x, 2, axis=0),
    "tril": lambda np, x: np.tril(x),
    "matmul": lambda np, x: x @ x.T,
    "dot": lambda np, x: np.dot(x, np.ones(4)),
    "einsum": lambda np, x: np.einsum("ij,kj->ik", x, x),
    "outer": lambda np, x: np.add.outer(x[0], x[1]),
    "inverse": lambda np, x: np.linalg.inv(x[:, :3] + 10 * np.eye(3)),
    "fft": lambda np, x: np.fft.fft(x),
    "sort": lambda np, x: np.sort(-x, axis=None),
    "argsort": lambda np, x: np.argsort(-x),
    "unique": lambda np, x: np.unique(x),
    "median": lambda np, x: np.median(x, axis=0),
    "gradient": lambda np, x: np.gradient(x)[1],
    "histogram": lambda np, x: np.histogram(x)[0],
    "interp": lambda np, x: np.interp(x[0], x[1], x[2]),
    "bincount": lambda np, x: np.bincount(x.astype(int).ravel()),
    "astype": lambda np, x: x.astype("f4"),
    "block": lambda np, x: np.block([[x, np.ones((3, 1))]]),
    "two results": lambda np, x: np.divmod(x, 5)[1],
    "parts": lambda np, x: np.modf(x / 3)[0],
    "reduceat": lambda np, x: np.add.reduceat(x[0], [0, 2]),
    "call for each": lambda np, x: np.vectorize(lambda t: t + 1)(x),
    "copy": lambda np, x: np.copy(x),
    "deepcopy": lambda np, x: copy.deepcopy(x),
}


@pytest.fixture
def x():
    """Return a matrix without a home. In this test, other new arrays have none either."""
    numelt._core.put_new_arrays("cpu")
    yield numelt.arange(12.0).reshape(3, 4)
    numelt._core.put_new_arrays(os.environ.get("NUMELT_TEST_HOME", "cpu"))


def on_devices():
    """Return how many steps have run on devices."""
    return numelt._core.stats()["on_devices"]


def test_other_threads_have_no_part_in_a_named_device():
    """While one thread makes arrays on a device, those of another thread are on the CPU."""
    done, elsewhere = threading.Event(), set()

    def make():
        while not done.is_set():
            elsewhere.add(numelt.linspace(0.0, 1.0, 5).device)

    thread = threading.Thread(target=make)
    thread.start()
    made = {numelt.arange(1000.0, device="far").device for _ in range(2000)}
    done.set()
    thread.join()
    assert (made, elsewhere) == ({"far"}, {"cpu"})


def printed(code, **settings):
    """Run a program in a process of its own; return what it printed."""
    done = run(code, **settings)
    assert done.returncode == 0, done.stderr
    return done.stdout


def assert_same(ours, numpys):
    """Assert that both have the same dtype, shape and bits."""
    ours = as_numpy(ours)
    assert (ours.dtype, ours.shape) == (numpys.dtype, numpys.shape)
    assert ours.tobytes() == numpys.tobytes()


def test_arrays_are_on_the_cpu_unless_a_device_is_named(x):
    assert x.device == (x + 1).device == numelt.zeros(3).device == "cpu"
    assert x.to_device("cpu") is x
    assert numelt.asarray(x, device="cpu") is x
    with numelt.engine("far"):
        y = numelt.exp(x)
        assert y.device == "cpu"
        assert float(y[0, 0]) == 1.0


@pytest.mark.parametrize("dtype", DTYPES)
def test_values_go_there_and_back(dtype):
    values = numpy.arange(24).reshape(4, 6).astype(dtype)
    for own in (
        values,
        values[::2, ::-1],
        values.T,
        values[1:1],
        values[0, 0, ...],
        numpy.tile(values, (90, 1)),
    ):
        there = numelt.array(own).to_device("far")
        assert there.device == "far"
        assert_same(there, own)
        back = there.to_device("cpu")
        assert back.device == "cpu"
        assert_same(back, own)
        assert_same(there.to_device("far:1"), own)


@pytest.mark.parametrize("name", CREATED)
def test_new_arrays_are_where_they_are_asked_to_be(x, name):
    make = CREATED[name]
    host = make(x)
    assert make(x, device=None).device == make(x, device="cpu").device == host.device == "cpu"
    for device in ("far", "far:1"):
        there = make(x, device=device)
        assert there.device == (there + 1).device == device
        assert there.strides == host.strides
        if "empty" not in name:
            assert_same(there, as_numpy(host))
    for refused in ("gpu", "far ", "cpu:0", "null", "auto", 3):
        with pytest.raises((ValueError, TypeError)) as ours:
            make(x, device=refused)
        with pytest.raises(type(ours.value)) as numpys:
            numpy.zeros(3, device=refused)
        assert str(ours.value) == str(numpys.value)


def test_large_new_arrays_are_made_on_the_device():
    before = numelt._core.stats()
    sums = [
        float(numelt.zeros(200_000, device="far").sum()),
        float(numelt.ones(200_000, device="far").sum()),
        float(numelt.arange(200_000.0, device="far").sum()),
        float(numelt.ones_like(numelt.empty(200_000, device="far")).sum()),
    ]
    assert sums == [0.0, 2e5, 199_999 * 1e5, 2e5]
    after = numelt._core.stats()
    assert after["bytes_there"] == before["bytes_there"]
    assert after["on_devices"] >= before["on_devices"] + 4


def test_prototypes_say_where_unless_the_call_does(x):
    there = x.to_device("far")
    likes = [
        numelt.zeros_like,
        numelt.ones_like,
        numelt.empty_like,
        lambda a, **k: numelt.full_like(a, 2, **k),
    ]
    for like in likes:
        assert like(there).device == "far"
        assert like(there, dtype="i4", shape=(2, 2)).device == "far"
        assert like(there, device="cpu").device == "cpu"
        assert like(there, device="far:1").device == "far:1"


@pytest.mark.parametrize("name", RESULTS)
def test_results_are_where_their_operands_are(x, name):
    function = RESULTS[name]
    expected = as_numpy(function(numelt, x))
    result = function(numelt, x.to_device("far"))
    assert result.device == "far"
    assert_same(result, expected)
    # the same after the values have been read on the host
    there = x.to_device("far")
    there.tolist()
    result = function(numelt, there)
    assert result.device == "far"
    assert_same(result, expected)


def test_small_and_large_work_runs_on_the_device():
    for n in (3, 100_000):
        there = numelt.arange(float(n)).to_device("far")
        before = on_devices()
        total = numelt.sqrt(there * 2 + 1).sum()
        assert on_devices() > before
        assert float(total) == float(numpy.sqrt(numpy.arange(float(n)) * 2 + 1).sum())


def test_a_loop_copies_nothing():
    u = numelt.linspace(0.0, 1.0, 50_000).to_device("far")
    expected = numpy.linspace(0.0, 1.0, 50_000)
    numelt.flush()
    before = numelt._core.stats()
    for _ in range(20):
        u[1:-1] = (u[:-2] + u[2:]) * 0.5
        expected[1:-1] = (expected[:-2] + expected[2:]) * 0.5
        numelt.flush()
    after = numelt._core.stats()
    assert [after[key] - before[key] for key in ("bytes_there", "bytes_back")] == [0, 0]
    assert_same(u, expected)


def test_of_two_homes_that_of_the_first_operand_counts(x):
    a, b = x.to_device("far"), x.to_device("far:1")
    assert (a + b).device == (x + a + b).device == "far"
    assert (b + a).device == (x * b - a).device == "far:1"
    assert numelt.concatenate([x, b, a]).device == "far:1"
    assert numelt.where(x > 1, b, a).device == "far:1"
    assert_same(a + b * a - b, as_numpy(x) * as_numpy(x))


def test_what_is_written_stays_where_it_is(x):
    a, b = x.to_device("far"), x.to_device("far:1")
    values = as_numpy(x).copy()
    x += a
    a += b
    a *= 2
    b[1:] = x[:2]
    assert (x.device, a.device, b.device) == ("cpu", "far", "far:1")
    assert_same(x, 2 * values)
    assert_same(a, 4 * values)
    assert_same(b[1:], 2 * values[:2])
    for out in (
        numelt.ndarray((3, 4)),
        numelt.empty((3, 4)),
        numelt.empty((3, 4), order="F"),
        numelt.zeros((3, 4)),
    ):
        assert numelt.add(a, 1, out=out) is out
        assert out.device == "cpu"
        assert_same(out.copy(), 4 * values + 1)
    out = numelt.empty((3, 4), device="far:1")
    numelt.add(x, 1, out=out)
    numelt.sqrt(x, out=b)
    assert out.device == b.device == "far:1"
    assert_same(out, 2 * values + 1)
    assert_same(b, numpy.sqrt(2 * values))


def test_elements_are_read_and_set(x):
    there = x.to_device("far")
    there[1, 2] = 50.0
    assert there[1, 2] == there.max() == 50.0
    there[2] = [1, 2, 3, 4]
    assert there.tolist()[2] == [1, 2, 3, 4]
    there[there > 40] = -1
    assert there.device == "far"
    assert there[1].tolist() == [4.0, 5.0, -1.0, 7.0]
    there.fill(3)
    there.sort()
    there.resize((6, 2))
    assert there.device == "far"
    assert there.tolist() == [[3.0, 3.0]] * 6


def test_other_libraries_see_the_values(x):
    there = x.to_device("far") * 2
    assert numpy.asarray(there).tolist() == (2 * as_numpy(x)).tolist()
    assert numpy.from_dlpack(there, device="cpu").tolist() == there.tolist()
    shared = numpy.asarray(there)
    there += 1
    assert shared.tolist() == (2 * as_numpy(x) + 1).tolist()
    shared[0] = 7
    assert (there + 0).tolist()[0] == [7.0] * 4
    for device in ("far", "far:1"):
        taken = numelt.from_dlpack(numpy.arange(3.0), device=device)
        assert taken.device == device
        assert taken.tolist() == [0, 1, 2]
        with pytest.raises(ValueError, match="Unable to avoid copy"):
            numelt.from_dlpack(numpy.arange(3.0), device=device, copy=False)
    assert numelt.from_dlpack(there, device="cpu").device == "cpu"
    again = pickle.loads(pickle.dumps(there))
    assert again.device == "cpu"
    assert again.tolist() == there.tolist()


def test_copies_that_are_forbidden():
    x = numelt.arange(3.0)
    with pytest.raises(ValueError, match="Unable to avoid copy"):
        numelt.asarray(x, device="far", copy=False)
    there = x.to_device("far")
    assert numelt.asarray(there, device="far", copy=False) is there
    assert numelt.asarray(there) is there
    copied = numelt.asarray(there, device="far", copy=True)
    copied += 1
    assert there.tolist() == [0, 1, 2]
    assert numelt.asarray(there, device="cpu").device == "cpu"
    with pytest.raises(ValueError, match="Unable to avoid copy"):
        numelt.asarray(there, device="cpu", copy=False)
    for device in ("far", "far:1"):
        own = numpy.arange(3.0)
        moved = numelt.asarray(own, device=device)
        own[:] = 9
        assert moved.tolist() == [0, 1, 2]


def test_arrays_that_only_numpy_has_are_on_the_cpu():
    objects = numelt.array([None, "a"], dtype=object)
    assert objects.device == "cpu"
    assert objects.to_device("cpu") is objects
    with pytest.raises(ValueError, match="dtype object are on the CPU only"):
        objects.to_device("far")
    with pytest.raises(ValueError, match="on the CPU only"):
        numelt.zeros(3, "U5", device="far")


def test_requests_that_are_refused_have_the_text_of_numpy(x):
    real = as_numpy(x)
    for args, kwargs in (
        (("gpu",), {}),
        (("",), {}),
        (("cpu",), {"stream": 1}),
        (("null",), {}),
        ((), {}),
        ((1,), {}),
    ):
        with pytest.raises((ValueError, TypeError)) as ours:
            x.to_device(*args, **kwargs)
        with pytest.raises(type(ours.value)) as numpys:
            real.to_device(*args, **kwargs)
        assert str(ours.value) == str(numpys.value)
    with pytest.raises(ValueError, match="far: there is no device 9"):
        x.to_device("far:9")
    if numelt._core.engines().count("cuda") and not os.path.exists("/dev/nvidia0"):
        with pytest.raises(ValueError, match="cuda: there is no"):
            x.to_device("cuda")


def test_the_namespace_knows_the_devices(x):
    info = numelt.__array_namespace_info__()
    there = x.to_device("far:1")
    assert info.default_device() == "cpu"
    assert info.devices()[0] == "cpu"
    assert {"cpu", "far:1"} <= set(info.devices())
    for device in info.devices():
        assert x.to_device(device).device == device
        assert info.dtypes(device=device) == numpy.__array_namespace_info__().dtypes()
        assert info.default_dtypes(device=device) == numpy.__array_namespace_info__().default_dtypes()
    with pytest.raises(ValueError, match='Only "cpu" is allowed, but received: gpu'):
        info.dtypes(device="gpu")
    assert there.device in info.devices()


def test_homes_stay_when_the_engine_changes(x):
    there = x.to_device("far")
    other = x.to_device("far:1")
    pending = there + other
    with numelt.engine("far"):
        assert_same(pending, 2 * as_numpy(x))
        assert (there.device, (there * 2).device, (other * 2).device) == ("far", "far", "far:1")
        assert_same(there * other, as_numpy(x) ** 2)
    assert there.device == "far"
    assert_same(there + 1, as_numpy(x) + 1)
    before = on_devices()
    assert float((other + 1).sum()) == 78.0
    assert on_devices() > before


def test_warnings_name_the_line(x):
    there = x.to_device("far")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = 1 / there
        assert result.tolist()[0][0] == numpy.inf
    assert [str(one.message) for one in caught] == ["divide by zero encountered in divide"]
    assert caught[0].filename == __file__
    with numelt.errstate(divide="raise"), pytest.raises(FloatingPointError):
        1 / there


def test_explanations_say_where(x):
    there = x.to_device("far:1")
    numelt.flush()
    assert "runs on: far:1" in str(numelt.explain(numelt.exp(there)))
    with numelt.inspect() as report:
        (there + 1).tolist()
    assert [flush["engines"] for flush in report.flushes] == [["far:1"]]


def test_children_get_the_values(x):
    there = numelt.exp(x.to_device("far"))
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            same = bool((there == numelt.exp(x)).all()) and (there + 1).device == "far"
            again = x.to_device("far") * 2
            os.write(writer, b"yes" if same and float(again.sum()) == 132.0 else b"no")
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    os.close(writer)
    assert os.read(reader, 10) == b"yes"
    os.close(reader)
    assert float((there * 0 + 1).sum()) == 12.0


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"NUMELT_ENGINE": "far"},
        {"NUMELT_ENGINE": "far", "NUMELT_DEVICE_MEMORY": "1M"},
        {"NUMELT_ENGINE": "auto", "NUMELT_DEVICES": "far"},
        {"NUMELT_ENGINE": "auto", "NUMELT_DEVICES": "far", "NUMELT_PLACEMENT": "random:5"},
        {"NUMELT_AT_ONCE": "0", "NUMELT_PIECEMEAL": "0"},
        {"NUMELT_FAST_PATHS": "0"},
    ],
    ids=["cpu", "far", "1M", "auto", "chance", "recorded", "slow"],
)
def test_programs_have_the_values_of_numpy_wherever_their_arrays_are(settings):
    code = """
    import random
    import numpy, numelt

    def program(np, places, seed):
        chance = random.Random(seed)
        there = (lambda a, at: a.to_device(at)) if np is numelt else (lambda a, at: a)
        arrays = [np.arange(n * 1.0) for n in (60, 60, 30_000)]
        results = []
        for step in range(60):
            at = chance.choice(places)
            pick = chance.randrange(3)
            other = (1 - pick) if pick < 2 else 2
            a, b = arrays[pick], arrays[other]
            match chance.randrange(9):
                case 0: arrays[pick] = there(a, at)
                case 1: arrays[pick] = a * 0.5 + b
                case 2: a += 1
                case 3: a[1:] = b[:-1]
                case 4: arrays[pick] = np.where(a > 10, a, -b)
                case 5: results.append(float(a.sum()))
                case 6: a[a > 20] = 3
                case 7: arrays[pick] = np.roll(a, 3) - np.cumsum(b) % 7
                case 8: results.append(a[5].item())
        return results + [float(x) for a in arrays for x in np.asarray(a).tolist()[:50]]

    for seed in range(25):
        ours = program(numelt, ["cpu", "far", "far:1"], seed)
        assert ours == program(numpy, ["cpu"] * 3, seed), seed
    print(numelt._core.stats()["on_devices"] > 100)
    """
    assert printed(code, **settings) == "True\n"


def test_settings_name_one_of_several_devices(x):
    with numelt.engine("far:1"):
        with numelt.inspect() as report:
            (x + 1).tolist()
        assert [flush["engines"] for flush in report.flushes] == [["far:1"]]
        assert numelt.config.engine == "far:1"
    for refused in ("cpu:1", "auto:0", "far:", "far:x", "far:-1", "gpu:1"):
        with pytest.raises(ValueError, match="engine: "):
            numelt.use(refused)
    with pytest.raises(RuntimeError, match="there is no device 9"):
        numelt.use("far:9")
    code = """
    import numelt as np
    x = np.arange(100_000.0)
    for _ in range(50):
        x = np.sqrt(x + 1)
    print(float(x.sum()) > 0, np.__array_namespace_info__().devices())
    """
    settings = {"NUMELT_ENGINE": "auto", "NUMELT_DEVICES": "far:1,far", "NUMELT_PLACEMENT": "random:1"}
    assert printed(code, **settings) == "True ['cpu', 'far', 'far:1']\n"


def test_two_opencl_devices():
    code = """
    import numpy, numelt
    try:
        x = numelt.arange(40_000.0, device="opencl")
    except ValueError:
        print("no device")
        raise SystemExit
    try:
        y = numelt.arange(40_000.0).to_device("opencl:1")
    except ValueError:
        print("one device")
        raise SystemExit
    real = numpy.arange(40_000.0)
    for _ in range(5):
        x = numelt.sqrt(x + 1)
        y = numelt.sqrt(y + 1)
        real = numpy.sqrt(real + 1)
    assert (x.device, y.device) == ("opencl", "opencl:1")
    with numelt.inspect() as report:
        both = (x + y).tolist()
    assert report.flushes[-1]["engines"] == ["opencl"], report.flushes
    assert both == (real + real).tolist()
    assert (y + x).device == "opencl:1"
    assert (y + x).tolist() == both
    assert (x.reshape(200, 200) @ y.reshape(200, 200)).device == "opencl"
    print(numelt.__array_namespace_info__().devices())
    """
    told = printed(code, POCL_DEVICES="pthread basic").strip()
    if told in ("no device", "one device"):
        pytest.skip(f"OpenCL: {told} here")
    assert told == "['cpu', 'opencl', 'opencl:1']"
