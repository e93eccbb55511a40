"""The inner computations of the example programs, as benchmarks.

Each function takes the array module and a size and returns a zero-argument callable that runs the
computation once and returns its result. The computations are those of examples/, imported from there,
with their module-level `np` replaced by the array module under test.
"""

import importlib.util
from pathlib import Path

import numpy

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
SIZES = ("small", "large")


def example(name, np):
    """Load one example program with `np` as its array module."""
    spec = importlib.util.spec_from_file_location(f"{name}_{np.__name__}", EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.np = np
    return module


def pick(size, small, large):
    """Return the parameter that belongs to `size`."""
    return {"small": small, "large": large}[size]


def heat_equation(np, size):
    """Ten Jacobi iterations, each with a sum that Python reads."""
    program = example("heat_equation", np)
    start = program.plate(pick(size, 100, 1500))

    def run():
        grid = start.copy()
        program.settle(grid, 0.0, 10)
        return grid

    return run


def black_scholes(np, size):
    """Call and put prices and deltas of a book of options."""
    program = example("black_scholes", np)
    columns = [np.array(c) for c in example("black_scholes", numpy).market(pick(size, 10_000, 2_000_000), 1)]
    return lambda: program.black_scholes(*columns, 0.03, 0.25)


def shallow_water(np, size):
    """Five time steps in a basin with solid walls."""
    program = example("shallow_water", np)
    n = pick(size, 64, 800)
    ramp = np.linspace(1.0, 1.5, n + 2)
    depth = ramp[:, None] * ramp[None, :]

    def run():
        h, hu, hv = depth.copy(), np.zeros((n + 2, n + 2)), np.zeros((n + 2, n + 2))
        for _ in range(5):
            program.step(h, hu, hv, 0.1)
        return h, hu, hv

    return run


def nbody(np, size):
    """Accelerations of all stars, all pairs."""
    program = example("nbody", np)
    mass, position, _ = example("nbody", numpy).cluster(pick(size, 100, 2000), 2)
    mass, position = np.array(mass), np.array(position)
    return lambda: program.acceleration(mass, position)


def kmeans(np, size):
    """One Lloyd iteration."""
    program = example("kmeans", np)
    points = np.array(example("kmeans", numpy).cloud(pick(size, 2_000, 200_000), 8, 6, 3))
    centres = points[:6].copy()

    def run():
        labels, squares = program.nearest(points, centres)
        return program.update(points, labels, centres), squares

    return run


def game_of_life(np, size):
    """Ten generations."""
    program = example("game_of_life", np)
    soup = np.array(example("game_of_life", numpy).soup(pick(size, 100, 2000), 0.3, 4))

    def run():
        world = soup.copy()
        for _ in range(10):
            program.generation(world)
        return world

    return run


def mandelbrot(np, size):
    """Twenty iterations over a part of the plane."""
    program = example("mandelbrot", np)
    width = pick(size, 120, 1200)
    return lambda: program.escape_times(width, width * 3 // 4, 20)


KERNELS = (heat_equation, black_scholes, shallow_water, nbody, kmeans, game_of_life, mandelbrot)
