"""Values that are held but not read are not stored if they can be computed again; results are the same."""

import functools
import operator
import re
import warnings

import numpy
import pytest

import numelt

from ..support.compare import in_threads, works_on_devices

N = 64


@pytest.fixture(autouse=True)
def every_size(recorded):
    """Put off values of any size; record and plan small operations."""
    before = numelt.config.put_off, numelt.config.piecemeal
    numelt.config.put_off, numelt.config.piecemeal = 1, 0
    yield
    numelt.config.put_off, numelt.config.piecemeal = before


def counts(run):
    """Return how many values `run` puts off, and how many of these it computes after all."""
    numelt.flush()
    before = numelt._core.stats()
    kept = run()
    after = numelt._core.stats()
    del kept
    return after["put_off"] - before["put_off"], after["made"] - before["made"]


def leibnitz(n):
    k = numelt.arange(n, dtype=numelt.float64)
    return 4.0 * float(numelt.sum(1.0 / (4 * k + 1) - 1.0 / (4 * k + 3))), k


def test_a_range_that_nobody_reads_is_never_stored():
    n = 20_011
    with numelt.inspect() as seen:
        value, k = leibnitz(n)
        del k
        numelt.flush()
    assert value == leibnitz(n)[0]
    assert seen.bytes_moved < 100
    assert [size for size in seen.allocated if size > 64] == []


@pytest.mark.skipif(works_on_devices(), reason="the plans of the CPU are looked at")
def test_a_copied_value_is_stored_once():
    def turn(grid, center):
        tmp = 0.25 * (grid[:-2, 1:-1] + grid[2:, 1:-1] + grid[1:-1, :-2] + grid[1:-1, 2:])
        with numelt.lazy():
            delta = numelt.sum(numelt.abs(tmp - center))
        center[:] = tmp
        return float(delta), tmp

    grid = numelt.ones((N + 3, N + 3))
    grid[0] = 40.0
    numelt.flush()
    tmp = None
    made = numelt._core.stats()["made"]
    with numelt.inspect() as seen:
        for _ in range(5):
            tmp = None
            delta, tmp = turn(grid, grid[1:-1, 1:-1])
    assert delta > 0
    assert numelt._core.stats()["made"] == made
    assert seen.bytes_moved <= 5 * 2 * grid.nbytes + 1000
    # the last value is computed when it is read, also if the view to which it was copied has changed before
    expected = numpy.array(grid[1:-1, 1:-1])
    grid[:] = 0.0
    numelt.flush()
    assert numpy.array_equal(tmp, expected)
    assert numelt._core.stats()["made"] == made + 1


def test_what_was_asked_for_once_is_stored_from_then_on():
    def run():
        value, k = leibnitz(3_001)
        return value, float(k[-1])

    # the range, and the operand of the sum
    assert counts(run) == (2, 1)
    assert counts(run) == (0, 0)


def test_a_warning_comes_once_and_where_it_belongs():
    def run():
        x = numelt.arange(5.0)
        t = 1.0 / x  # here
        s = float(t[1:].sum())
        return s, t.tolist()

    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        s, values = run()
    assert (s, values[0]) == (1 + 1 / 2 + 1 / 3 + 1 / 4, float("inf"))
    (one,) = seen
    with open(__file__) as file:
        assert "# here" in file.readlines()[one.lineno - 1] or one.filename == __file__


def test_what_it_is_made_of_may_be_dropped():
    a = numelt.zeros(N)
    t = numelt.arange(N) * 2.0
    s = float((t + 1).sum())
    a[:] = t
    del a
    numelt.flush()
    assert s == float((numpy.arange(N) * 2.0 + 1).sum())
    assert t.tolist() == (numpy.arange(N) * 2.0).tolist()

    x = numelt.linspace(0, 1, N)
    numelt.flush()
    place = numelt.zeros(N + 1)
    t = x * 3
    s = float(t.sum())
    place[1:] = t
    float(t.sum())
    del place
    numelt.flush()
    assert t.tolist() == (numpy.linspace(0, 1, N) * 3).tolist()


def live_bytes():
    return int(re.search(r"live: (\d+)", numelt._core.stats()["pool"])[1])


@pytest.mark.skipif(works_on_devices(), reason="the plans of the CPU are looked at")
def test_memory_is_held_no_longer_than_until_something_runs():
    n = 1 << 15
    x = numelt.linspace(0, 1, n)
    place = numelt.zeros((4, n))
    numelt.flush()
    t = x * 3
    place[1] = t
    assert float(t.sum()) > 0
    before = live_bytes()
    del place
    float((x + 1).sum())
    # the memory for which the value was kept was four times as large as the value
    assert live_bytes() <= before - 3 * t.nbytes + 64
    assert float(t[-1]) == 3.0


def test_other_threads_may_read():
    def read(array):
        return int(array.sum())

    def export(array):
        return int(numpy.asarray(array).sum())

    for _ in range(20):
        k = numelt.arange(5_000) * 3
        total = int((k + 1).sum())
        readers = [functools.partial(how, k) for how in (read, read, read, export, export)]
        assert in_threads(operator.call, readers) == [total - 5_000] * 5


class Pair:
    """The same program under NumPy and under numelt."""

    def __init__(self, seed):
        self.rng = numpy.random.default_rng(seed)
        start = self.rng.integers(-9, 9, (3, N)).astype(float)
        self.plain = {f"a{i}": row.copy() for i, row in enumerate(start)}
        self.ours = {f"a{i}": numelt.array(row) for i, row in enumerate(start)}
        self.outside = []

    def name(self):
        return str(self.rng.choice(sorted(self.plain)))

    def both(self, change):
        change(numpy, self.plain)
        change(numelt, self.ours)

    def check(self, name):
        want, got = self.plain[name], numpy.asarray(self.ours[name])
        assert (want.dtype, want.shape) == (got.dtype, got.shape)
        assert want.tobytes() == got.tobytes()

    def step(self):
        rng = self.rng
        a, b, t = self.name(), self.name(), f"t{rng.integers(3)}"
        k, at = float(rng.integers(-4, 5)), int(rng.integers(N))
        whole = [n for n in (a, b) if self.plain[n].shape != (N,)]
        if whole:
            a = b = "a0"
        kind = int(rng.integers(16))

        def literals(np, names):
            names[t] = np.arange(N, dtype=float) * k + 1
            names["s"] = np.array(float((names[t] + names[a]).sum()))

        def nested(np, names):
            r = np.arange(N // 2, dtype=float)
            names[t] = np.concatenate([r * k, r]) if at % 2 else np.full(N, k) - 1
            names["s"] = np.array(float((names[t] * 2).max() + (r + 1).sum()))

        def copied(np, names):
            names[t] = names[a] * 0.5 + k
            names["s"] = np.array(float(np.abs(names[t] - names[b]).sum()))
            names[b][:] = names[t]
            names["s2"] = np.array(float(names[t].max()))

        def backwards(np, names):
            names[t] = names[a] - k
            names[b][::-1] = names[t]
            names["s"] = np.array(float(names[t].min()))

        def through_a_view(np, names):
            new = np.arange(N) * 1.0
            view = new[at // 2 :: 2]
            names["s"] = np.array(float((new + view[0]).sum()))
            view += k
            names[t] = new

        def element(np, names):
            names[a][at] = k

        def slices(np, names):
            names[a][at // 2 : at] = k + 1

        def in_place(np, names):
            names[a] += names[b]

        def alias(np, names):
            names[t] = names[a][:]

        def drop(np, names):
            if len(names) > 4 and a not in ("a0", "s", "s2"):
                del names[a]

        def masked(np, names):
            names[a][names[b] > k] = k

        def written_outside(np, names):
            numpy.asarray(names[a])[at] = k

        def kept_outside(np, names):
            self.outside.append(numpy.asarray(names[a]))
            if len(self.outside) > 2:
                self.outside.clear()

        changes = [element, slices, in_place, alias, drop, masked, written_outside, kept_outside]
        choices = [*changes, *2 * [literals], nested, *3 * [copied], backwards, through_a_view]
        self.both(choices[kind])
        if rng.random() < 0.3:
            self.check(self.name())


@pytest.mark.parametrize("put_off", [1, 0])
def test_random_programs_agree_with_numpy(put_off):
    numelt.config.put_off = put_off
    made = 0
    for seed in range(60):
        pair = Pair(seed)
        before = numelt._core.stats()
        for _ in range(25):
            pair.step()
        for name in sorted(pair.plain):
            pair.check(name)
        after = numelt._core.stats()
        made += after["made"] - before["made"]
    assert (made > 0) == (put_off > 0)
