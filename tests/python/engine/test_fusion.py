# ruff: noqa: E501 - one program a line
"""Which operations are fused, and what is allocated and counted, as the inspector reports it."""

import importlib.util
import os
import pathlib

import numpy
import pytest

import numelt

from ..support.compare import works_on_devices

pytestmark = pytest.mark.quick


SUITE = pathlib.Path(__file__).resolve().parents[3]


def heat(n):
    grid = numelt.zeros((n + 2, n + 2))
    grid[0, :] = 40.0
    center, north, south = grid[1:-1, 1:-1], grid[:-2, 1:-1], grid[2:, 1:-1]
    east, west = grid[1:-1, :-2], grid[1:-1, 2:]
    return grid, center, north, south, east, west


def step(center, north, south, east, west):
    tmp = 0.2 * (center + north + south + east + west)
    delta = numelt.sum(numelt.abs(tmp - center))
    center[:] = tmp
    return float(delta)


def lazy_step(*views):
    with numelt.lazy():
        return step(*views)


@pytest.mark.skipif(works_on_devices(), reason="the plans of the CPU are looked at")
def test_heat_iteration_is_one_pass_without_a_buffer():
    n = 200
    grid, *views = heat(n)
    numelt.flush()
    lazy_step(*views)
    numelt.flush()
    with numelt.inspect() as seen:
        lazy_step(*views)
        numelt.flush()
    # the grid is read once and written once, and `tmp` is kept in registers
    assert seen.kernels <= 2
    assert seen.bytes_moved <= 2 * grid.nbytes + 64
    assert [size for size in seen.allocated if size > 64] == []


def test_expression_is_one_kernel_without_temporaries():
    x, y = numelt.linspace(0, 1, 10_000), numelt.linspace(1, 2, 10_000)
    numelt.flush()
    with numelt.inspect() as seen:
        z = x * x + 2 * x * y + y * y
        numelt.flush()
    assert seen.kernels == 1
    assert [size for size in seen.allocated if size > 64] in ([80_000], [])
    assert numpy.allclose(z, (numpy.asarray(x) + numpy.asarray(y)) ** 2)


def test_dead_work_does_not_run():
    x = numelt.ones(1000)
    numelt.flush()
    with numelt.inspect() as seen:
        y = x * 3
        del y
        numelt.flush()
    assert seen.kernels == 0


def test_reductions_share_a_pass():
    x = numelt.linspace(-1, 1, 50_000)
    numelt.flush()
    with numelt.inspect() as seen:
        with numelt.lazy():
            low, high = numelt.min(x), numelt.max(x)
        assert (float(low), float(high)) == (-1.0, 1.0)
    assert seen.kernels == 1


@pytest.mark.parametrize("total", [lambda x: numelt.sum(x * 2 + 1), lambda x: (x * 2 + 1).sum()])
def test_what_only_a_reduction_is_called_with_is_not_stored(total):
    x = numelt.linspace(-1, 1, 100_000)
    numelt.flush()
    with numelt.inspect() as seen:
        assert total(x) == pytest.approx(100_000)
    assert (seen.kernels, seen.bytes_moved) == (1, x.nbytes + 8)
    assert max(seen.allocated) <= 64


def test_what_a_reduction_is_called_with_may_be_named_elsewhere():
    x = numelt.linspace(-1, 1, 100_000)
    expected = numpy.asarray(x) * 2 + 1
    for _ in range(3):
        views = []
        assert numelt.sum((views.append(y := x * 2 + 1), y)[1]) == pytest.approx(100_000)
        assert numelt.sum((views.append((x * 2 + 1)[::-1]), views[-1])[1]) == pytest.approx(100_000)
        assert numpy.array_equal(views[0], expected)
        assert numpy.array_equal(views[1], expected[::-1])


def test_repeated_iterations_hit_the_cache():
    grid, *views = heat(50)
    with numelt.inspect() as seen:
        for _ in range(8):
            step(*views)
    assert len(seen.flushes) == 8
    assert all(flush["cache_hit"] for flush in seen.flushes[4:])
    assert grid.shape == (52, 52)


@pytest.mark.parametrize("dtype", ["f4", "f8", "i2", "u1"])
def test_arithmetic_of_fills_moves_nothing_and_rounds_as_numpy(dtype):
    def run(np, x):
        fills = np.full(5_000, 0.1 if dtype[0] == "f" else 200, dtype) * np.dtype(dtype).type(3) + np.ones(
            5_000, dtype
        )
        return fills / 7 * x

    plain = numpy.linspace(0, 1, 5_000)
    x = numelt.array(plain)
    numelt.flush()
    with numelt.inspect() as seen:
        y = run(numelt, x)
        numelt.flush()
    assert (seen.kernels, seen.bytes_moved) == (1, 2 * x.nbytes)
    assert numpy.array_equal(y, run(numpy, plain))


def test_explain_runs_nothing(recorded):
    x = numelt.linspace(0, 1, 1000)
    numelt.flush()
    with numelt.lazy():
        y = numelt.sum(x * 2 + 1)
    before = numelt._core.stats()["kernels"]
    text = str(numelt.explain(y))
    dot = str(numelt.explain(y, graphviz=True))
    assert numelt._core.stats()["kernels"] == before
    assert "multiply" in text
    assert "digraph" in dot
    assert float(y) == pytest.approx(2000.0)


def test_explain_shows_what_the_array_needs(recorded):
    x = numelt.linspace(0, 1, 1000)
    numelt.flush()
    y = x * 2
    z = numelt.sqrt(x) + y[10:11]
    w = numelt.exp(x)
    w[:5] = y[:5]
    assert "sqrt" not in numelt.explain(y)
    assert all(op in numelt.explain(z) for op in ("sqrt", "add"))
    assert "exp" not in numelt.explain(z)
    assert "multiply" not in numelt.explain(w[5:])
    assert all(op in numelt.explain(w) for op in ("multiply", "exp"))
    assert all(op in numelt.explain() for op in ("multiply", "exp", "sqrt"))
    for done in (x, 2.0, "x"):
        assert "nothing" in numelt.explain(done)
    assert "digraph" in numelt.explain(w, graphviz=True)
    assert numpy.allclose(w[5:], numpy.exp(numpy.asarray(x)[5:]))


def test_profile_tells_lines():
    x = numelt.linspace(0, 1, 1000)
    numelt.flush()
    with numelt.profile() as report:
        float(numelt.sum(x * 2))  # read here
    assert report.kernels == 1
    ((filename, lineno, _),) = report.lines
    assert filename == __file__
    with open(__file__) as file:
        assert "# read here" in file.readlines()[lineno - 1]
    assert "test_fusion.py" in str(report)


def test_config_and_show_config(capsys):
    assert "threads" in dir(numelt.config)
    assert numelt.config.fallback == "silent"
    assert "threads" in repr(numelt.config)
    with pytest.raises(AttributeError, match="no setting"):
        numelt.config.nonsense
    with pytest.raises(AttributeError, match="no setting"):
        numelt.config.nonsense = 1
    numelt.show_config()
    assert "numelt" in capsys.readouterr().out


LOOPS = {
    "poly": "x = np.linspace(0, 1, 100)\nz = x * x + 2 * x * x + x * x",
    "masks": "x = np.arange(9.0)\nx[x > 3] = 0.0\ny = np.where(x < 2, x, -x)",
    "blackscholes": "x = np.linspace(1, 2, 99)\nm = x < 1.5\nw = np.exp(-x) * ~m + (1.0 - x) * m\nv = float(np.sum(w) / 9)",
    "life": "w = np.ones((9, 9), dtype='int64')\nn = w[:-2, :-2] + w[2:, 2:]\nw[1:-1, 1:-1] = (n == 3) | ((w[1:-1, 1:-1] == 1) & (n == 2))",
    "nbody": "p = np.arange(9.0)\nd = p[None, :] - p[:, None]\nf = (d**2 + 1e-3) ** -1.5\nv = np.sum(f * d, axis=1)\np += 0.01 * v",
    "softmax": "x = np.ones((4, 5))\ne = np.exp(x - np.max(x, axis=1, keepdims=True))\ny = e / np.sum(e, axis=1, keepdims=True)",
    "moments": "x = np.arange(9.0)\nm = float(np.mean(x)) + float(np.std(x)) + float(np.min(x))",
    "lu": "u = np.eye(5) + 1\nl = np.zeros_like(u)\nl[1:, 0] = u[1:, 0] / u[0, 0:1]\nu[1:, 0:] = u[1:, 0:] - l[1:, 0][:, None] * u[0, 0:]\nr = l @ u",
    "gauss": "a = np.eye(5) + 1\na /= np.diagonal(a)[:, None]",
    "rnn": "s = np.tanh(np.ones((3, 4)) @ np.ones((4, 4)) + 0.1)",
    "boltzmann": "f = np.ones((9, 5, 5))\nr = np.sum(f, axis=0)\ng = np.zeros_like(f)\ng[0] = np.roll(np.roll(f[0], 1, axis=0), -1, axis=1)",
    "knn": "q = np.ones((4, 3))\nd = np.sqrt(np.min(np.sum((q[:, None, :] - q[None, :, :]) ** 2, axis=2), axis=1))",
}


@pytest.mark.parametrize("name", LOOPS)
def test_loops_need_no_fallback(name):
    numelt.config.fallback = "error"
    try:
        space = {"np": numelt}
        exec(LOOPS[name], space)
    finally:
        numelt.config.fallback = "silent"
    plain = {"np": numpy}
    exec(LOOPS[name], plain)
    for key, value in plain.items():
        if isinstance(value, (numpy.ndarray, float)) and key != "np":
            assert numpy.allclose(numpy.asarray(space[key]), value), key


def programs():
    folder = SUITE / "examples"
    return [path for path in sorted(folder.glob("*.py")) if path.name != "picture.py"]


@pytest.mark.parametrize("path", programs(), ids=lambda path: path.stem)
def test_examples_give_numpys_results(path, tmp_path):
    import subprocess
    import sys

    help_text = subprocess.run(
        [sys.executable, path, "--help"], capture_output=True, text=True, check=True
    ).stdout
    if "--save" not in help_text:
        pytest.skip("the program saves nothing to compare")
    small = [word for option, value in SMALL.items() if option in help_text for word in (option, value)]
    for lead, name in (([sys.executable], "theirs.npz"), ([sys.executable, "-m", "numelt"], "ours.npz")):
        command = [*lead, str(path), *small, "--save", str(tmp_path / name)]
        result = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=path.parent)
        assert result.returncode == 0, result.stderr
    with numpy.load(tmp_path / "ours.npz") as ours, numpy.load(tmp_path / "theirs.npz") as theirs:
        assert sorted(ours) == sorted(theirs)
        for key in theirs:
            assert numpy.allclose(ours[key], theirs[key], rtol=1e-9, atol=1e-9, equal_nan=True), key


SMALL = {
    "--size": "64",
    "--steps": "3",
    "--limit": "5",
    "--bodies": "30",
    "--points": "500",
    "--options": "1000",
}


def test_no_leftovers():
    assert importlib.util.find_spec("numelt.functions") is None
    assert os.path.exists(os.path.join(os.path.dirname(numelt.__file__), "py.typed"))
