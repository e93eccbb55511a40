"""Operations on rolled arrays read the original array: NumPy's bits in every layout, one kernel for a
step."""

import warnings

import numpy
import pytest

import numelt


def diffusion(np, u):
    for _ in range(3):
        near = np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, -1) + np.roll(u, -1, -1)
        u = u + (near - u * 4)
    return u


def in_place(np, u):
    for step in range(4):
        u += np.roll(u, step - 1, 0) * np.roll(u, 2, -1)
    return u


def in_place_with_edges(np, u):
    for _ in range(3):
        u -= np.roll(u, 1, 0) * u
        u[0] = 1
        u *= np.roll(u, -1, -1)
    return u


def in_place_one_by_one(np, u):
    sums = []
    for shift in range(-3, 4):
        u += (np.roll(u, shift, 0) - np.roll(u, -1, -1)) * 2
        sums.append(u.max() if u.size else 0)
    return u, *sums


def assigned(np, u):
    u[...] = np.roll(u, 1, -1)
    v = np.roll(u, -2, 0)
    u[...] = v + u
    return u, v


def leapfrog(np, u):
    v = u.copy()
    for _ in range(3):
        u, v = u * 2 - v + (np.roll(u, 1, 0) - np.roll(u, -1, 0)), u
    return u, v


def diagonals(np, u):
    axes = (0, u.ndim - 1)
    return sum(np.roll(u, (i, j), axes) for i in (-1, 0, 1) for j in (-1, 0, 1))


def neighbours(np, u):
    near = [np.roll(np.roll(u, i, 0), j, -1) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j]
    return sum(near[1:], near[0])


def folded(np, u):
    left, up = np.roll(u, 1, -1), np.roll(u, -1, 0)
    product = u * left * up
    return (
        product.sum(),
        product.sum(0),
        product.sum(-1),
        left.max(-1),
        (up > u).sum(0),
        np.roll(u, 3, 0).mean(-1),
    )


def chosen(np, u):
    left, right = np.roll(u, 1, -1), np.roll(u, -1, -1)
    return np.where(left > right, left, np.maximum(u, right)), np.minimum(left, right)


def rolled_twice(np, u):
    v = np.roll(np.roll(u, 1, 0), -1, -1)
    return v + u, np.roll(v + u, 2, 0) * v


def joined(np, u):
    right = np.concatenate((u[..., -1:], u[..., :-1]), -1)
    down = np.empty_like(u)
    down[1:], down[:1] = u[:-1], u[-1:]
    return right + down, right.copy() * u


def turned(np, u):
    return np.roll(u[::-1], 1, 0) + np.roll(u, 1, 0)[::-1] + np.roll(u.T, 2, -1).T + u


def flat(np, u):
    return np.roll(u, 1) + np.roll(u, -7) + u


def softened(np, u):
    v = np.roll(u, 1, 0)
    v = v - v.max(-1, keepdims=True)
    return v / (np.sum(v * v, -1, keepdims=True) + 1)


PROGRAMS = [
    *(diffusion, in_place, in_place_one_by_one, in_place_with_edges, assigned, leapfrog, diagonals),
    *(neighbours, folded, chosen, rolled_twice, joined, turned, flat, softened),
]
LAYOUTS = {
    "plain": lambda x: x,
    "transposed": lambda x: x.T.copy().T,
    "stepped": lambda x: x.repeat(2, 0).repeat(2, -1)[::2, ..., 1::2] if x.ndim > 1 else x.repeat(2)[::2],
    "backward": lambda x: x[::-1][..., ::-1],
}
SHAPES = [
    (1,),
    (2,),
    (3,),
    (17,),
    (5000,),
    (1, 1),
    (1, 9),
    (9, 1),
    (2, 2),
    (3, 5),
    (40, 70),
    (130, 33),
    (5, 4, 6),
    (3, 1, 7),
    (0, 3),
]


def values(shape, dtype):
    rng = numpy.random.default_rng(3)
    x = rng.standard_normal(shape) * 3
    if dtype.startswith("c"):
        x = x + 1j * rng.standard_normal(shape)
    with numpy.errstate(all="ignore"):
        return x.astype(dtype)


def each(value):
    return value if isinstance(value, tuple) else (value,)


def same(got, want):
    for ours, theirs in zip(each(got), each(want), strict=True):
        ours = numpy.asarray(ours)
        assert (ours.dtype, ours.shape) == (numpy.asarray(theirs).dtype, numpy.shape(theirs))
        numpy.testing.assert_array_equal(ours, theirs)
        if ours.dtype.kind == "f":
            signs = [numpy.signbit(x) & (x == x) for x in (ours, numpy.asarray(theirs))]
            numpy.testing.assert_array_equal(*signs)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i4", "u1", "c16", "f2"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_same_bits(program, dtype, layout):
    for shape in SHAPES:
        real = LAYOUTS[layout](values(shape, dtype))
        if dtype == "c16" and program in (chosen, folded, softened, in_place_one_by_one):
            continue
        if dtype == "u1" and program is softened:
            continue
        if real.size == 0 and program in (folded, softened, in_place_with_edges):
            continue
        for watched in (False, True):
            theirs = LAYOUTS[layout](values(shape, dtype))
            ours = LAYOUTS[layout](numelt.asarray(values(shape, dtype)))
            want = program(numpy, theirs)
            if watched:
                with numelt.inspect():
                    got = program(numelt, ours)
                    numelt.flush()
            else:
                got = program(numelt, ours)
            same(got, want)


@pytest.mark.parametrize("special", [numpy.nan, numpy.inf, -numpy.inf, -0.0, 1e308])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_special_values(special):
    x = values((60, 50), "f8")
    x[::7, ::3] = special
    for program in PROGRAMS:
        same(program(numelt, numelt.asarray(x.copy())), program(numpy, x.copy()))


@pytest.mark.parametrize(
    "program", [diffusion, in_place, in_place_one_by_one, diagonals, folded, chosen], ids=lambda f: f.__name__
)
def test_large_grids(program):
    x = values((700, 300), "f8")
    same(program(numelt, numelt.asarray(x.copy())), program(numpy, x.copy()))


def stepped(program, grid):
    """The counters of a step that is not inspected."""
    numelt.flush()
    with numelt.inspect() as seen:
        result = program(grid)
        numelt.flush()
    return seen, result


@pytest.mark.parametrize("shape", [(60_000,), (300, 200), (20, 30, 100)])
def test_a_step_is_one_kernel_that_reads_its_grid(shape):
    u = numelt.asarray(values(shape, "f8")).copy()

    def step(u):
        rolled = [np.roll(u, shift, axis) for axis in range(u.ndim) for shift in (1, -1)]
        return sum(rolled[1:], rolled[0]) - 2 * u.ndim * u

    np = numelt
    seen, _ = stepped(step, u)
    assert (seen.kernels, seen.bytes_moved) == (1, 2 * u.nbytes)
    assert [size for size in seen.allocated if size > 64] in ([u.nbytes], [])


def test_rolls_of_rolls_read_the_first_source():
    u = numelt.asarray(values((300, 200), "f8")).copy()
    seen, result = stepped(lambda u: neighbours(numelt, u), u)
    assert (seen.kernels, seen.bytes_moved) == (1, 2 * u.nbytes)
    same(result, neighbours(numpy, numpy.asarray(u)))


def test_a_torus_by_hand_is_one_kernel_too():
    u = numelt.asarray(values((300, 200), "f8")).copy()
    seen, _ = stepped(lambda u: numelt.concatenate((u[:, 1:], u[:, :1]), 1) - u, u)
    assert (seen.kernels, seen.bytes_moved) == (1, 2 * u.nbytes)


def test_steps_in_place_use_bases_of_their_own():
    u = numelt.asarray(values((300, 200), "f8")).copy()

    def steps(u):
        for _ in range(5):
            u += 0.1 * (numelt.roll(u, 1, 0) - u)

    seen, _ = stepped(steps, u)
    assert (seen.kernels, seen.bytes_moved) == (5, 10 * u.nbytes)


@pytest.mark.usefixtures("on_the_host")
@pytest.mark.parametrize("shape", [(60_000,), (300, 200), (20, 30, 100)])
def test_one_step_in_place_is_one_kernel(shape):
    x = values(shape, "f8")
    u = numelt.asarray(x).copy()

    def step(u):
        rolled = [np.roll(u, shift, axis) for axis in range(u.ndim) for shift in (2, -1)]
        u += 0.1 * (sum(rolled[1:], rolled[0]) - 2 * u.ndim * u)
        return u

    np = numelt
    seen, got = stepped(step, u)
    assert (seen.kernels, seen.bytes_moved) == (1, 2 * u.nbytes)
    np = numpy
    same(got, step(x.copy()))


def test_a_rolled_array_with_a_name_is_stored():
    u = numelt.asarray(values((300, 200), "f8")).copy()
    named = []

    def step(u):
        named.append(numelt.roll(u, 1, 1))
        return named[0] - u

    _, result = stepped(step, u)
    same(named[0], numpy.roll(numpy.asarray(u), 1, 1))
    same(result, numpy.asarray(named[0]) - numpy.asarray(u))


def test_memory_that_somebody_else_sees():
    theirs = values((50, 60), "f8")
    ours = numelt.asarray(theirs.copy())
    seen = numpy.asarray(ours)
    same(in_place(numelt, ours), in_place(numpy, theirs))
    same(seen, theirs)


def test_warnings_are_numpys():
    x = numpy.full((90, 80), 1e308)
    x[3, 4] = numpy.nan

    def told(np, u):
        with warnings.catch_warnings(record=True) as log:
            warnings.simplefilter("always")
            v = np.roll(u, 1, 0) + np.roll(u, 1, 1)
            w = np.roll(u, 2, 1) / (u - u)
            numelt.flush()
        return {str(warning.message) for warning in log}, v, w

    want, got = told(numpy, x), told(numelt, numelt.asarray(x))
    assert got[0] == want[0]
    same(got[1:], want[1:])


READS = {
    "without end": lambda b: b[:-2],
    "without start": lambda b: b[2:],
    "inside": lambda b: b[1:-1, 1:-1],
    "columns": lambda b: b[:, :-2],
    "every other": lambda b: b[::2],
    "backwards": lambda b: b[::-1],
    "a row": lambda b: b[3],
    "transposed": lambda b: b.T,
}


@pytest.mark.parametrize("read", READS.values(), ids=READS)
@pytest.mark.parametrize("axis", [0, 1, -1, (0, 1), None], ids=str)
@pytest.mark.parametrize("into", ["new", "assigned"])
@pytest.mark.parametrize("shape", [(7, 8), (301, 298)], ids=str)
def test_what_is_read_in_part(read, axis, into, shape):
    def program(np):
        a, c = np.arange(shape[0] * shape[1]).reshape(shape) ** 2, np.ones(shape, int)
        shift = (-1, 2) if isinstance(axis, tuple) else -1
        b = c + 1
        if into == "new":
            b = np.roll(a, shift, axis)
        else:
            b[...] = np.roll(a, shift, axis)
        part = read(b)
        result = part + 1
        part = result + np.where(part > 9, part, 0)
        a[:3, :4] = read(b).ravel()[:4]
        b = c + 2
        return [numpy.asarray(x) for x in (result, part, a, b)]

    for ours, theirs in zip(program(numelt), program(numpy), strict=True):
        assert numpy.array_equal(ours, theirs)
