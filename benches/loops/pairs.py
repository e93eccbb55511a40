"""Programs on all pairs: distances, matrix products and sums over sources."""

import math

import numpy as np


def all_pairs(a, b, out):
    """Compute the Euclidean distance of every point in `a` to every point in `b`."""
    for i in range(a.shape[0]):
        for j in range(b.shape[0]):
            total = 0.0
            for k in range(a.shape[1]):
                difference = a[i, k] - b[j, k]
                total += difference * difference
            out[i, j] = math.sqrt(total)


def arc_distance(latitude, longitude, out):
    """Compute the angles between all pairs of points on a sphere by the haversine formula."""
    n = len(latitude)
    for i in range(n):
        for j in range(n):
            across = math.sin(0.5 * (latitude[i] - latitude[j]))
            along = math.sin(0.5 * (longitude[i] - longitude[j]))
            h = across * across + math.cos(latitude[i]) * math.cos(latitude[j]) * along * along
            out[i, j] = 2.0 * math.atan2(math.sqrt(h), math.sqrt(1.0 - h))


def periodic_distance(x, y, z, length, out):
    """Compute the distances of all pairs of points in a box whose opposite sides are the same."""
    n = len(x)
    for i in range(n):
        for j in range(i + 1, n):
            dx = abs(x[i] - x[j])
            dy = abs(y[i] - y[j])
            dz = abs(z[i] - z[j])
            if dx > 0.5 * length:
                dx = length - dx
            if dy > 0.5 * length:
                dy = length - dy
            if dz > 0.5 * length:
                dz = length - dz
            distance = math.sqrt(dx * dx + dy * dy + dz * dz)
            out[i, j] = distance
            out[j, i] = distance


def summation(points, sources, weights, potential, field):
    """Sum the potentials and the moments of weighted sources at points."""
    for i in range(points.shape[0]):
        total = fx = fy = fz = 0.0
        for j in range(sources.shape[0]):
            dx = points[i, 0] - sources[j, 0]
            dy = points[i, 1] - sources[j, 1]
            dz = points[i, 2] - sources[j, 2]
            total += weights[j] / math.sqrt(dx * dx + dy * dy + dz * dz)
            fx += weights[j] * dx
            fy += weights[j] * dy
            fz += weights[j] * dz
        potential[i] = total
        field[i, 0] = fx
        field[i, 1] = fy
        field[i, 2] = fz


def matmul(a, b, out):
    """Multiply two matrices."""
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            total = 0.0
            for k in range(a.shape[1]):
                total += a[i, k] * b[k, j]
            out[i, j] = total


def matmul_tropical(a, b, out):
    """Multiply two matrices with the minimum for the sum and the sum for the product."""
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            least = math.inf
            for k in range(a.shape[1]):
                total = a[i, k] + b[k, j]
                if total < least:
                    least = total
            out[i, j] = least


def make_all_pairs(n, rng):
    """Return two sets of `n` points with six coordinates, and an array for the distances."""
    return rng.random((n, 6)), rng.random((n, 6)), np.zeros((n, n))


def make_sphere(n, rng):
    """Return the latitudes and longitudes of `n` points, and an array for the angles."""
    return rng.uniform(-1.5, 1.5, n), rng.uniform(-3.1, 3.1, n), np.zeros((n, n))


def make_box(n, rng):
    """Return the coordinates of `n` points, the length of the box, and an array for the distances."""
    return rng.random(n), rng.random(n), rng.random(n), 1.0, np.zeros((n, n))


def make_summation(n, rng):
    """Return `n` points and as many weighted sources, and arrays for potentials and moments."""
    return rng.normal(size=(n, 3)), rng.normal(size=(n, 3)), rng.normal(size=n), np.zeros(n), np.zeros((n, 3))


def make_matrices(n, rng):
    """Return two square matrices, and an array for the product."""
    return rng.random((n, n)), rng.random((n, n)), np.zeros((n, n))


# the sizes for compiled code alone, and for compiled code against CPython
PROGRAMS = {
    all_pairs: (make_all_pairs, 1_200, 300),
    arc_distance: (make_sphere, 600, 500),
    periodic_distance: (make_box, 1_500, 700),
    summation: (make_summation, 1_500, 400),
    matmul: (make_matrices, 250, 100),
    matmul_tropical: (make_matrices, 250, 100),
}
