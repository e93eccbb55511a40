"""Batches with little work run operation by operation until they have come a few times, with NumPy's bits."""

import warnings

import numpy
import pytest

import numelt

from ..support.compare import works_on_devices

MANY = 2**64 - 1


@pytest.fixture(params=[0, 1 << 14, MANY])
def piecemeal(request):
    """Run nothing, batches with little work, or everything without a plan."""
    before = numelt.config.piecemeal
    numelt.config.piecemeal = request.param
    yield request.param
    numelt.config.piecemeal = before


def same(program):
    expected, actual = program(numpy), program(numelt)
    for want, got in zip(expected, actual, strict=True):
        got = numpy.asarray(got)
        assert want.dtype == got.dtype
        assert want.shape == got.shape
        assert want.tobytes() == got.tobytes()


def triangular(np):
    n = 60
    matrix = np.asarray(numpy.random.default_rng(1).random((n, n))) + n * np.eye(n)
    b, x = np.arange(n) / 7.0, np.zeros(n)
    for i in range(n):
        x[i] = (b[i] - matrix[i, :i] @ x[:i]) / matrix[i, i]
    return [x]


def gram_schmidt(np):
    a = np.asarray(numpy.random.default_rng(2).random((40, 30)))
    q, r = np.zeros((40, 30)), np.zeros((30, 30))
    for k in range(30):
        r[k, k] = np.sqrt(np.sum(a[:, k] * a[:, k]))
        q[:, k] = a[:, k] / r[k, k]
        for j in range(k + 1, 30):
            r[k, j] = np.sum(q[:, k] * a[:, j])
            a[:, j] -= q[:, k] * r[k, j]
    return [q, r]


def prefixes(np):
    n = 80
    row, history = np.ones(n), []
    for i in range(1, n):
        row[:i] = np.minimum(row[:i], row[i:0:-1]) + np.arange(i) % 3
        row[1:i] += row[: i - 1]
        history.append(row[:i].sum() + np.cumsum(row)[-1] + row[:i].max())
    return [row, np.array([float(h) for h in history])]


def windows(np):
    signal = np.asarray(numpy.random.default_rng(3).standard_normal(500).astype("f4"))
    table = np.zeros((20, 4), "f4")
    for i in range(20):
        window = signal[i * 7 : 500 - i * 5 : 1 + i % 3]
        table[i, 0] = window.mean()
        table[i, 1] = window.std()
        table[i, 2] = window[window > 0].sum()
        table[i, 3] = np.argmax(window[::-1])
    return [table, (table.astype("i4") << 2) | 1, np.where(table > 0, table, np.float32(1))]


def mixed(np):
    ints = np.arange(-50, 50, dtype="i2").reshape(5, 20)
    halves = ints.astype("f2") / np.float16(7)
    mask = (ints % 3 == 0) | (halves > 2)
    picked = np.take(ints.ravel(), np.array([3, 99, 0, 7]))
    waves = np.exp(1j * ints[0] / 9)
    out = np.full((5, 20), 2.5)
    out[mask] = 7
    out[1:] -= out[:-1]
    out[:, ::-1] *= out
    return [
        halves.sum(0),
        mask.any(1),
        picked,
        (waves * waves.conj()).real,
        out,
        ints.T @ ints,
        np.sum(halves[:, :0], 1),
    ]


@pytest.mark.parametrize("program", [triangular, gram_schmidt, prefixes, windows, mixed])
def test_programs_of_changing_shapes(piecemeal, program):
    for _ in range(3):
        same(program)


@pytest.mark.skipif(works_on_devices(), reason="the plans of the CPU are looked at")
def test_new_batches_run_without_a_plan_and_old_ones_with_one(recorded):
    x = numelt.arange(200.0) + 0
    numelt.flush()

    def turn(n):
        y = ((x[:n] * 2 + 1) * x[:n] - 3) / 4
        return float(y[n // 2])

    stats = numelt._core.stats
    before = stats()
    results = [turn(n) for n in range(50, 150)]
    after = stats()
    assert results == [((n // 2) * 2 + 1) * (n // 2) / 4 - 3 / 4 for n in range(50, 150)]
    assert after["plan_misses"] - before["plan_misses"] <= 2
    assert after["piecemeal"] - before["piecemeal"] >= 98
    for _ in range(200):
        turn(100)
    again = stats()
    assert again["plan_misses"] > after["plan_misses"]
    assert again["plan_hits"] - after["plan_hits"] > 100


def test_large_work_is_planned_at_once():
    x = numelt.arange(300_000.0) + 0
    numelt.flush()
    before = numelt._core.stats()
    y = (x * 3 + 1) * x - 7.25
    numelt.flush()
    after = numelt._core.stats()
    assert after["piecemeal"] == before["piecemeal"]
    assert after["kernels"] - before["kernels"] == 1
    assert float(y[10]) == 302.75


def test_inspectors_see_plans():
    x = numelt.arange(100.0) + 0
    numelt.flush()
    with numelt.inspect() as seen:
        y = (x * 3.5 + 1.5) * x - 7.75
        numelt.flush()
    assert seen.kernels == 1
    assert len(seen.flushes[0]["kernels"]) == 1
    assert float(y[0]) == -7.75


def test_warnings_name_the_operation(piecemeal):
    zeros = numelt.zeros(300) + 0
    numelt.flush()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        quotient = (zeros + 1) / zeros
        assert float(quotient[3]) == numpy.inf
    assert [str(w.message) for w in caught] == ["divide by zero encountered in divide"]
    assert caught[0].filename == __file__


def levinson(np):
    n, first = 3300, 2300
    r = np.arange(n + 1, 1, -1) / (2.0 * n)
    y, alpha, beta = np.zeros(n), -r[0], 1.0
    y[0] = -r[0]
    for k in range(first, n):
        beta *= 1.0 - alpha * alpha
        alpha = -(r[k] + np.dot(np.flip(r[:k]), y[:k])) / beta
        y[:k] += alpha * np.flip(y[:k])
        y[k] = alpha
    return [y]


def test_long_batches_that_never_repeat():
    with numelt.lazy():
        same(levinson)
    same(levinson)
    same(stencil)


def stencil(np):
    x = np.linspace(0.0, 1.0, 4000)
    for _ in range(400):
        x[1:-1] = (x[2:] + x[:-2]) * 0.5 - x[1:-1] * 0.01
        x[0] = x[-2]
    return [x]


@pytest.mark.skipif(works_on_devices(), reason="the plans of the CPU are looked at")
def test_scatters_to_few_places_are_little_work():
    def diagonals(np):
        d = np.zeros((300, 300))
        for s in range(200):
            i = np.arange(s + 1)
            d[i, s - i] = d[i - 1, s - i] + np.sqrt(d[i, s - i - 1] + s)
        return [d]

    before = numelt._core.stats()["plan_misses"]
    same(diagonals)
    assert numelt._core.stats()["plan_misses"] < before + 20
