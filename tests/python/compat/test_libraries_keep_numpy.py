"""Installed libraries keep using NumPy: they read our arrays and write into them without a copy."""

import json
import multiprocessing
import sys
import threading

import numpy
import pytest

import numelt

from ..support.compare import assert_same


@pytest.fixture
def x():
    return numelt.arange(64.0).reshape(8, 8) * 0.25 + 1


def test_scipy_linalg_and_signal(x):
    linalg, signal = pytest.importorskip("scipy.linalg"), pytest.importorskip("scipy.signal")
    plain = numpy.asarray(x).copy()
    spd = x @ x.T + 10 * numelt.eye(8)
    factor = linalg.cho_factor(spd)
    solved = linalg.cho_solve(factor, numelt.ones(8))
    assert numpy.allclose(numpy.asarray(spd) @ solved, 1)
    assert_same(linalg.expm(x * 1e-3), linalg.expm(plain * 1e-3), rtol=1e-13)
    assert_same(signal.convolve2d(x, numelt.ones((3, 3))), signal.convolve2d(plain, numpy.ones((3, 3))))
    b, a = signal.butter(3, 0.2)
    assert_same(signal.lfilter(b, a, x[0]), signal.lfilter(b, a, plain[0]))
    assert_same(signal.detrend(x), signal.detrend(plain), rtol=1e-12)


def test_scipy_ndimage_writes_into_ours(x):
    ndimage = pytest.importorskip("scipy.ndimage")
    out = numelt.zeros((8, 8))
    later = out + 1  # recorded before the library writes
    ndimage.uniform_filter(x, 3, output=numpy.asarray(out))
    assert_same(out, ndimage.uniform_filter(numpy.asarray(x), 3))
    assert float(later.sum()) == 64.0
    labels, count = ndimage.label(x > 5)
    assert count == 1
    assert labels.sum() == int(numelt.sum(x > 5))


def test_scipy_sparse_and_optimize(x):
    sparse, optimize = pytest.importorskip("scipy.sparse"), pytest.importorskip("scipy.optimize")
    matrix = sparse.csr_array(numelt.where(x > 10, x, 0))
    assert_same(numelt.asarray(matrix @ x), numpy.asarray(matrix.toarray() @ numpy.asarray(x)), rtol=1e-12)
    root = optimize.fsolve(lambda v: numelt.asarray(v) ** 2 - 2, numelt.ones(3))
    assert numpy.allclose(root, 2**0.5)
    xs = numelt.linspace(0, 1, 20)
    found, _ = optimize.curve_fit(lambda t, a, b: a * numelt.asarray(t) + b, xs, 3 * xs + 1)
    assert numpy.allclose(found, [3, 1])


def test_pandas_there_and_back():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"k": numelt.array([1, 1, 2]), "v": numelt.array([1.0, 2.0, 4.0])})
    means = numelt.asarray(frame.groupby("k")["v"].mean())
    assert type(means) is numelt.ndarray
    assert means.tolist() == [1.5, 4.0]
    assert numelt.array(frame.to_numpy()).shape == (3, 2)
    assert pandas.Series(numelt.arange(4.0)).rolling(2).sum().tolist()[1:] == [1.0, 3.0, 5.0]
    assert pandas.cut(numelt.array([0.1, 0.9]), bins=[0, 0.5, 1]).codes.tolist() == [0, 1]


def test_sklearn_fits_a_model():
    linear = pytest.importorskip("sklearn.linear_model")
    points = numelt.random.default_rng(0).random((50, 3))
    target = points @ numelt.array([1.0, 2.0, 3.0]) + 0.5
    model = linear.LinearRegression().fit(points, target)
    assert numpy.allclose(model.coef_, [1, 2, 3])
    assert numpy.allclose(model.predict(points), target)


def test_numba_takes_views_without_a_copy(x):
    numba = pytest.importorskip("numba")

    @numba.njit
    def double(values):
        total = 0.0
        for i in range(values.shape[0]):
            values[i] *= 2
            total += values[i]
        return total

    row = x[1]
    expected = float(row.sum()) * 2
    view = numpy.asarray(row)
    assert double(view) == pytest.approx(expected)
    assert float(x[1].sum()) == pytest.approx(expected)
    x[1] += 1
    assert double(view) == pytest.approx(2 * (expected + 8))


def test_dlpack_with_numpy_and_jax(x):
    plain = numpy.from_dlpack(x)
    plain[0, 0] = -7
    assert float(x[0, 0]) == -7
    x[0, 1] = -8
    assert plain[0, 1] == -8
    back = numelt.from_dlpack(plain)
    assert type(back) is numelt.ndarray
    back[0, 2] = -9
    assert float(x[0, 2]) == -9
    jax = pytest.importorskip("jax")
    single = x.astype("f4")
    there = (
        jax.dlpack.from_dlpack(single) if hasattr(jax.dlpack, "from_dlpack") else jax.numpy.asarray(single)
    )
    assert_same(numpy.asarray(there), numpy.asarray(single))
    here = numelt.from_dlpack(there + 1)
    assert type(here) is numelt.ndarray
    assert_same(here, numpy.asarray(single) + numpy.float32(1))


def test_memoryview_both_ways(x):
    view = memoryview(x)
    flat = view.cast("B").cast("d")
    flat[3] = 99.0
    assert float(x[0, 3]) == 99.0
    x[0, 3] = 5.0
    assert view[0, 3] == 5.0
    assert bytes(numelt.array([1, 2], "u2")) == b"\x01\x00\x02\x00"
    for dtype in ("?", "i1", "u8", "f2", "f4", "c16", "S3", "M8[s]"):
        array = numelt.zeros(3, dtype)
        if array.dtype.kind == "M":
            with pytest.raises(ValueError, match="cannot include dtype 'M' in a buffer"):
                memoryview(array)
        else:
            assert memoryview(array).nbytes == array.nbytes


def _twice(values):
    return values * 2, type(values).__name__, numelt.sum(values)


def test_arrays_travel_between_processes(x):
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        doubled, name, total = pool.apply(_twice, (x,))
    assert name == "ndarray"
    assert type(doubled) is numelt.ndarray
    assert_same(doubled, numpy.asarray(x) * 2)
    assert total == x.sum()


def test_json_takes_deferred_floats(x):
    assert json.loads(json.dumps({"total": x.sum(), "mean": numelt.mean(x)})) == {
        "total": float(x.sum()),
        "mean": float(x.mean()),
    }
    with pytest.raises(TypeError, match="Object of type int64 is not JSON serializable"):
        json.dumps(numelt.arange(3).sum())
    with pytest.raises(TypeError, match="Object of type ndarray is not JSON serializable"):
        json.dumps(x)


def test_threads_share_arrays():
    """Additions commute, so every serial order has the same result; no addition may be lost or half done."""
    shared = numelt.zeros(5000)
    counter = numelt.zeros((), dtype="i8")
    lock = threading.Lock()
    failures = []

    def work(seed):
        try:
            own = numelt.full(5000, seed + 1.0)
            for step in range(25):
                local = own * 2 - own  # recorded while others record and flush
                with lock:
                    shared[...] += local
                    counter[...] += 1
                if step % 5 == seed % 5:
                    value = float(shared[seed])
                    assert value == int(value)
                assert float(local.sum()) == 5000 * (seed + 1.0)
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures[0]
    assert int(counter) == 150
    assert_same(shared, numpy.full(5000, 25.0 * 21))


def test_readers_see_whole_writes():
    """A reader sees an array before or after each in-place operation, never in between."""
    array = numelt.zeros(20_000)
    stop = threading.Event()
    seen = []

    def read():
        while not stop.is_set():
            copy = array.copy()
            seen.append(float(copy.max() - copy.min()))

    reader = threading.Thread(target=read)
    reader.start()
    for _ in range(60):
        array += 1
    total = float(array.sum())
    stop.set()
    reader.join()
    assert total == 60 * 20_000
    assert set(seen) <= {0.0}


def test_readers_wait_for_a_batch_that_another_thread_runs():
    """Operations recorded before another thread reads have taken effect for it, also while they are
    running."""
    array = numelt.zeros(1_000_000)
    numelt.flush()
    for value in range(1, 9):
        noise = numelt.sqrt(array * array)
        for _ in range(6):
            noise = numelt.sqrt(noise * noise)
        array[:] = noise - noise + value
        started, seen = threading.Event(), []

        def read(started=started, seen=seen):
            started.wait()
            seen.extend(float(array[-1]) for _ in range(500))

        reader = threading.Thread(target=read)
        reader.start()
        started.set()
        numelt.flush()
        reader.join()
        assert set(seen) == {float(value)}


def test_the_gil_is_released_while_kernels_run():
    """Another thread runs during a batch, although Python never interrupts this thread in its favour."""
    ticks = []
    stop = threading.Event()

    def tick():
        while not stop.wait(0.001):
            ticks.append(1)

    thread = threading.Thread(target=tick)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1000.0)  # seconds: the other thread gets its turn only where the lock is given up
    try:
        thread.start()
        before = len(ticks)
        for _ in range(1000):  # one batch may end before the operating system has woken the other thread
            values = numelt.linspace(0.1, 0.9, 1_000_000)
            for _ in range(12):
                values = numelt.sin(values) + 0.5
            float(values.sum())
            if len(ticks) > before:
                break
        after = len(ticks)
    finally:
        sys.setswitchinterval(interval)
        stop.set()
        thread.join()
    assert after > before
