"""Masks on devices: positions, selections and stores are those of NumPy, and only a count comes home.

``opencl`` and ``cuda`` run the project's kernels; ``far`` is the test device, whose memory the host
cannot read.
"""

import numpy
import pytest

import numelt

from ..support.compare import as_numpy, assert_same
from ..support.devices import has_opencl
from . import test_cuda

FOUND = {
    "opencl": has_opencl(),
    "cuda": test_cuda.has_device(),
    "far": "far" in numelt._core.engines(),
}
ENGINES = [name for name, is_here in FOUND.items() if is_here]


@pytest.fixture(params=ENGINES)
def device(request):
    """Run the test on the device, also where operations on few elements would run at once."""
    before = numelt.config.at_once
    numelt.config.at_once = 0
    with numelt.engine(request.param):
        yield request.param
    numelt.config.at_once = before


def ran_there(before):
    """Return whether no step ran on the host since the stats were taken."""
    return numelt._core.stats()["declined"] == before["declined"]


MASKS = {
    "none": lambda x: x > 2,
    "all": lambda x: x < 2,
    "few": lambda x: x > 0.999,
    "half": lambda x: x > 0.5,
    "first": lambda x: x == x.ravel()[0],
    "last": lambda x: x == x.ravel()[-1],
}


@pytest.mark.parametrize("name", MASKS)
@pytest.mark.parametrize(
    "shape", [(1,), (63,), (64,), (65,), (70_001,), (300, 40), (3, 1, 50, 7), (0,), (4, 0)]
)
def test_positions_and_selections(name, shape, device):
    if 0 in shape and name in ("first", "last"):
        shape = (1, *shape[1:]) if shape[0] == 0 else (4, 1)
    x = numpy.random.default_rng(5).random(shape)
    ours = numelt.array(x)
    mask, theirs = MASKS[name](ours), MASKS[name](x)
    before = numelt._core.stats()
    assert_same(numelt.nonzero(mask), numpy.nonzero(theirs))
    assert_same(numelt.flatnonzero(mask), numpy.flatnonzero(theirs))
    assert_same(numelt.argwhere(mask), numpy.argwhere(theirs))
    assert_same(ours[mask], x[theirs])
    assert_same(ours[~mask], x[~theirs])
    assert_same(numelt.compress(mask.ravel(), ours.ravel()), numpy.compress(theirs.ravel(), x.ravel()))
    assert ran_there(before)


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "uint64", "float16", "float32", "float64", "complex64", "complex128"]
)
def test_nonzero_of_all_dtypes(dtype, device):
    x = (numpy.arange(7000) % 5 - 2).astype(dtype).reshape(70, 100)
    if x.dtype.kind in "fc":
        x[3, 4], x[5, 6], x[7, 8] = numpy.nan, -0.0, numpy.inf
    if x.dtype.kind == "c":
        x[9, 10] = 1j
    ours = numelt.array(x)
    assert_same(numelt.nonzero(ours), numpy.nonzero(x))
    assert_same(numelt.nonzero(ours.T), numpy.nonzero(x.T))
    assert_same(numelt.nonzero(ours[::-3, ::2]), numpy.nonzero(x[::-3, ::2]))
    assert numelt.count_nonzero(ours) == numpy.count_nonzero(x)


@pytest.mark.parametrize("dtype", ["int16", "float32", "complex128"])
def test_masks_that_are_views_select_rows_columns_and_planes(dtype, device):
    x = (numpy.arange(6000) % 97).astype(dtype).reshape(20, 30, 10)
    flags = numpy.random.default_rng(2).random((60, 60)) > 0.6
    ours, ours_flags = numelt.array(x), numelt.array(flags)
    for window in [numpy.s_[:20, :30], numpy.s_[40::-2, 5:35], numpy.s_[::3, ::2], numpy.s_[20:40, 59:29:-1]]:
        mask, theirs = ours_flags[window][:20], flags[window][:20]
        assert_same(ours[mask], x[theirs])
        assert_same(ours[mask[:, 3]], x[theirs[:, 3]])
        assert_same(ours[:, mask[0]], x[:, theirs[0]])
        assert_same(ours[2, mask[5], 1::2], x[2, theirs[5], 1::2])
        assert_same(ours.transpose(1, 0, 2)[mask.T], x.transpose(1, 0, 2)[theirs.T])


@pytest.mark.parametrize("dtype", ["int64", "float64", "complex64"])
def test_stores_through_masks(dtype, device):
    x = (numpy.arange(40_000) % 1013).astype(dtype)
    ours = numelt.array(x)
    mask, theirs = ours.real % 3 == 0, x.real % 3 == 0
    for target, keep, there in [(ours, mask, theirs), (ours[::-2], mask[:20_000], theirs[:20_000])]:
        mirror = x if target is ours else x[::-2]
        values = numpy.arange(there.sum()).astype(dtype)
        target[keep] = numelt.array(values)
        mirror[there] = values
        assert_same(ours, x)
        target[keep] = 7
        mirror[there] = 7
        target[keep] += target[keep][::-1] * 2
        mirror[there] += mirror[there][::-1] * 2
        assert_same(ours, x)
    grid, grid_theirs = ours.reshape(200, 200), x.reshape(200, 200)
    rows, rows_theirs = grid[:, 0].real > 500, grid_theirs[:, 0].real > 500
    grid[rows] = grid[0]
    grid_theirs[rows_theirs] = grid_theirs[0]
    numelt.copyto(grid, grid.T.copy(), where=grid.real > 900)
    numpy.copyto(grid_theirs, grid_theirs.T.copy(), where=grid_theirs.real > 900)
    numelt.place(ours, ours.real == 1, [5, 6])
    numpy.place(x, x.real == 1, [5, 6])
    assert_same(ours, x)


def test_errors_are_those_of_numpy(device):
    def told(np, attempt):
        x = np.arange(30_000.0)
        mask = x > 100
        with pytest.raises(Exception) as caught:  # noqa: PT011 - the type is compared
            attempt(x, mask, np)
        return type(caught.value), str(caught.value)

    def too_few(x, mask, np):
        x[mask] = np.arange(3.0)

    def too_long(x, mask, np):
        x[mask[:-1]]

    def two_axes(x, mask, np):
        x[mask, mask]

    for attempt in (too_few, too_long, two_axes):
        assert told(numelt, attempt) == told(numpy, attempt)


def test_only_the_number_of_true_elements_comes_home(device):
    points = numelt.array(numpy.random.default_rng(1).random(100_000))
    numelt.flush()
    total = numelt.zeros(100_000)
    for _ in range(3):  # the first iterations may still learn what the loop reads
        before = numelt._core.stats()
        for level in (0.25, 0.5, 0.75):
            mask = points > level
            chosen = points[mask]
            total[mask] = chosen * 2
        numelt.flush()
        after = numelt._core.stats()
    assert after["bytes_there"] == before["bytes_there"]
    # each use of a mask counts its true elements
    assert after["bytes_back"] - before["bytes_back"] <= 6 * 8
    theirs = as_numpy(points)
    assert (as_numpy(total) == numpy.where(theirs > 0.25, theirs * 2, 0)).all()
