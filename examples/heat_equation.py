"""Temperature of a square plate whose four edges are held at fixed temperatures.

Jacobi iteration: every cell becomes the mean of itself and its four neighbours, until the cells
hardly change any more. In the first guess each edge's influence dies away with the distance from it.
"""

import argparse
import time

import numpy as np


def plate(n):
    """Return an (n+2) x (n+2) plate in degrees Celsius, its edges set and its interior guessed."""
    along = np.linspace(0.0, np.pi, n + 2)
    north, south = 100.0 * np.sin(along), 60.0 * np.sin(2.0 * along)
    west, east = -30.0 * np.sin(2.0 * along), 75.0 * np.sin(3.0 * along)
    near = np.exp(-along)
    far = near[::-1]
    grid = near[:, None] * north + far[:, None] ** 2 * south
    grid += west[:, None] * near**2 + east[:, None] * far**3
    grid[0, :], grid[-1, :], grid[:, 0], grid[:, -1] = north, south, west, east
    return grid


def settle(grid, tolerance, limit):
    """Iterate in place; returns the iterations done and the last mean change of a cell."""
    center = grid[1:-1, 1:-1]
    north, south = grid[:-2, 1:-1], grid[2:, 1:-1]
    west, east = grid[1:-1, :-2], grid[1:-1, 2:]
    change, iteration = tolerance + 1.0, 0
    while change > tolerance and iteration < limit:
        tmp = 0.2 * (center + north + south + east + west)
        change = np.sum(np.abs(tmp - center)) / center.size
        center[:] = tmp
        iteration += 1
    return iteration, change


def main():
    """Read the options, let the plate settle, and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=1000, help="cells along one edge")
    parser.add_argument("--tolerance", type=float, default=1e-5, help="mean change of a cell, in degrees")
    parser.add_argument("--limit", type=int, default=150, help="most iterations")
    parser.add_argument("--picture", metavar="FILE.png", help="write the temperature field as a picture")
    parser.add_argument("--save", metavar="FILE.npz", help="write the resulting arrays")
    options = parser.parse_args()

    start = time.perf_counter()
    grid = plate(options.size)
    iterations, change = settle(grid, options.tolerance, options.limit)
    print(f"{iterations} iterations, mean temperature {grid.mean():.6f}, last mean change {change:.3e}")
    print(f"time: {time.perf_counter() - start:.4f} s")

    if options.picture:
        from picture import save_png

        save_png(options.picture, grid)
    if options.save:
        np.savez(options.save, temperature=grid, iterations=iterations, change=change)


if __name__ == "__main__":
    main()
