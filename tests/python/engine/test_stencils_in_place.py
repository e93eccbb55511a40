"""Stencils that overwrite what they read: NumPy's bits for any rank, reach, dtype and order."""

import numpy
import pytest

import numelt


def sweep(np, kind, centre, sides):
    """One step of a program that overwrites the middle of an array by a function of neighbouring elements."""
    total = sides[0]
    for side in sides[1:]:
        total = total + side
    if kind == "assigned":
        centre[...] = total
    elif kind == "added":
        centre += total
    elif kind == "relaxed":
        centre[...] = total * 2 - centre
    elif kind == "compared":
        centre[...] = total > sides[0]
    elif kind == "named":
        new = total + centre
        change = np.sum(np.abs(new - centre))
        centre[...] = new
        return change
    else:
        new = total - centre
        centre[...] = new
        return np.sum(new * new)
    return None


KINDS = ["assigned", "added", "relaxed", "compared", "named", "summed"]
DTYPES = ["f8", "f4", "i8", "i4", "i2", "c16", "f2", "u1"]


def views(rng, shape):
    """The slices of a middle part and of several positions around it, in steps of either sign."""
    reach = [int(rng.integers(0, min(3, (n - 1) // 2 + 1))) for n in shape]
    steps = [int(rng.choice([1, 1, 1, -1, 2])) for _ in shape]

    def at(moves):
        axes = []
        for n, r, step, move in zip(shape, reach, steps, moves, strict=True):
            inside = range(r + move, n - r + move)[::step]
            end = inside[-1] + (1 if step > 0 else -1)
            axes.append(slice(inside[0], end if end >= 0 else None, step))
        return tuple(axes)

    moves = [[int(rng.integers(-r, r + 1)) for r in reach] for _ in range(int(rng.integers(1, 6)))]
    return at([0] * len(shape)), [at(m) for m in moves]


def check(seed, largest):
    rng = numpy.random.default_rng(seed)
    rank = int(rng.integers(1, 4))
    shape = [int(rng.integers(5, largest[rank])) for _ in range(rank)]
    dtype, kind = rng.choice(DTYPES), rng.choice(KINDS)
    start = (rng.random(shape) * 9).astype(dtype)
    centre, sides = views(rng, shape)
    order, steps = rng.choice(["C", "F"]), int(rng.integers(1, 4))
    results = []
    for np in (numpy, numelt):
        a = np.array(start, order=order)
        with numpy.errstate(all="ignore"):
            for _ in range(steps):
                change = sweep(np, kind, a[centre], [a[side] for side in sides])
            results.append((numpy.asarray(a), change))
    (want, total), (got, ours) = results
    what = f"seed {seed}: {kind} {dtype} {shape} {order} {centre} {sides}"
    numpy.testing.assert_array_equal(got, want, err_msg=what)
    if total is not None:
        numpy.testing.assert_array_equal(numpy.asarray(ours), total, err_msg=what)


@pytest.mark.core
@pytest.mark.parametrize("seed", range(60))
def test_small(seed):
    check(seed, {1: 60, 2: 20, 3: 9})


@pytest.mark.core
@pytest.mark.parametrize("seed", range(1000, 1012))
def test_larger_than_a_tile(seed):
    check(seed, {1: 30_000, 2: 220, 3: 40})


@pytest.fixture
def greedy():
    before = numelt.config.fuse
    numelt.config.fuse = "greedy"
    yield
    numelt.config.fuse = before


@pytest.mark.usefixtures("on_the_host")
@pytest.mark.parametrize("shape", [(5000,), (90, 70), (20, 19, 18)])
def test_one_kernel(shape, recorded, greedy):
    a = numelt.ones(shape)
    numelt.flush()
    middle, before, behind = (tuple(slice(i, n - 2 + i) for n in shape) for i in (1, 0, 2))
    with numelt.inspect() as seen:
        a[middle] = (a[before] + a[behind]) / 2.0
        numelt.flush()
    assert seen.kernels == 1
    assert seen.allocated == []


def piece_by_piece(np, a):
    return [np.concatenate([a[:4] + 1, a[4:]]), np.roll(a * 2, 3), np.roll(a.reshape(-1, 2), 1, 0).ravel()]


@pytest.mark.parametrize("forward", [slice(None), slice(None, None, -1)])
@pytest.mark.parametrize("shape", [(10,), (5, 2), (1, 10)])
@pytest.mark.parametrize("which", range(3))
def test_put_together_where_it_is_copied_to(shape, which, forward, recorded):
    results = []
    for np in (numpy, numelt):
        a = np.arange(10.0)
        b, c = np.zeros(14), np.zeros(shape)
        made = piece_by_piece(np, a)[which].reshape(shape)
        b[2:12].reshape(shape)[forward, ...] = made[forward, ...]
        made = piece_by_piece(np, a)[which].reshape(shape)
        c[..., forward] = made[..., forward]
        results.append([numpy.array(x) for x in (a, b, c)])
    for theirs, ours in zip(*results, strict=True):
        numpy.testing.assert_array_equal(ours, theirs)
