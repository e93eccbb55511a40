"""Lloyd's k-means: find the centres of clusters in a cloud of points."""

import argparse
import time

import numpy as np


def cloud(count, dimensions, clusters, seed):
    """Draw points (count, dimensions) around `clusters` random centres."""
    rng = np.random.default_rng(seed)
    centres = rng.uniform(-10.0, 10.0, (clusters, dimensions))
    owner = rng.integers(0, clusters, count)
    return centres[owner] + 3.0 * rng.standard_normal((count, dimensions))


def nearest(points, centres):
    """Return the index of each point's nearest centre and the squared distance to it."""
    squares = np.sum((points[:, None, :] - centres[None, :, :]) ** 2, axis=2)
    return np.argmin(squares, axis=1), np.min(squares, axis=1)


def update(points, labels, centres):
    """Move every centre to the mean of its points; a centre without points stays."""
    moved = centres.copy()
    for j in range(len(centres)):
        mine = points[labels == j]
        if len(mine):
            moved[j] = mine.mean(axis=0)
    return moved


def main():
    """Read the options, iterate until no centre moves, and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200_000, help="number of points")
    parser.add_argument("--dimensions", type=int, default=8)
    parser.add_argument("--clusters", type=int, default=8)
    parser.add_argument("--limit", type=int, default=15, help="most iterations")
    parser.add_argument("--seed", type=int, default=3)
    parser.add_argument("--save", metavar="FILE.npz", help="write the resulting arrays")
    options = parser.parse_args()

    points = cloud(options.count, options.dimensions, options.clusters, options.seed)
    start = time.perf_counter()
    centres = points[: options.clusters].copy()
    for iteration in range(1, options.limit + 1):  # noqa: B007
        labels, squares = nearest(points, centres)
        moved = update(points, labels, centres)
        shift = np.sqrt(np.sum((moved - centres) ** 2))
        centres = moved
        if shift < 1e-9:
            break

    sizes = np.bincount(labels).tolist()
    print(f"{iteration} iterations, inertia {squares.sum():.6f}, cluster sizes {sizes}")
    print(f"time: {time.perf_counter() - start:.4f} s")

    if options.save:
        np.savez(options.save, centres=centres, labels=labels, squares=squares)


if __name__ == "__main__":
    main()
