"""Conway's game of life on a torus, one byte a cell."""

import argparse
import time

import numpy as np


def soup(size, density, seed):
    """Return a (size+2) x (size+2) world with a random interior; the outer ring is filled by `wrap`."""
    world = np.zeros((size + 2, size + 2), dtype=np.uint8)
    world[1:-1, 1:-1] = np.random.default_rng(seed).random((size, size)) < density
    return world


def wrap(world):
    """Copy the cells along each edge to the outer ring on the other side, corners included."""
    world[0, :] = world[-2, :]
    world[-1, :] = world[1, :]
    world[:, 0] = world[:, -2]
    world[:, -1] = world[:, 1]


def generation(world):
    """Advance the world by one generation, in place."""
    wrap(world)
    cells = world[1:-1, 1:-1]
    rows = world[:-2, :] + world[1:-1, :] + world[2:, :]
    neighbours = rows[:, :-2] + rows[:, 1:-1] + rows[:, 2:] - cells
    cells[:] = (neighbours == 3) | ((cells == 1) & (neighbours == 2))


def main():
    """Read the options, play, and report the population."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=2500, help="cells along one side of the world")
    parser.add_argument("--generations", type=int, default=150)
    parser.add_argument("--density", type=float, default=0.3, help="share of living cells at the start")
    parser.add_argument("--seed", type=int, default=4)
    parser.add_argument("--save", metavar="FILE.npz", help="write the resulting arrays")
    options = parser.parse_args()

    world = soup(options.size, options.density, options.seed)
    start = time.perf_counter()
    population = [int(world[1:-1, 1:-1].sum())]
    for i in range(1, options.generations + 1):
        generation(world)
        if i % 10 == 0 or i == options.generations:
            population.append(int(world[1:-1, 1:-1].sum()))

    print(f"population {population[0]}, {population[-1]} after {options.generations} generations")
    print(f"time: {time.perf_counter() - start:.4f} s")

    if options.save:
        np.savez(options.save, world=world, population=np.array(population))


if __name__ == "__main__":
    main()
