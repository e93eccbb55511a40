"""Programs of the paper on compiled NumPy: averages, norms, option prices and clusters."""

import math

import numpy as np


def avg(a):
    """Return the mean of a vector."""
    total = 0.0
    for i in range(len(a)):
        total += a[i]
    return total / len(a)


def norm(a):
    """Return the Euclidean norm of a vector."""
    total = 0.0
    for x in a:
        total += x * x
    return math.sqrt(total)


def black_scholes(price, strike, years, rate, volatility, call, put):
    """Compute the prices of European call and put options."""
    for i in range(price.shape[0]):
        spread = volatility * math.sqrt(years[i])
        d1 = (math.log(price[i] / strike[i]) + (rate + 0.5 * volatility * volatility) * years[i]) / spread
        d2 = d1 - spread
        n1 = 0.5 * (1.0 + math.erf(d1 / math.sqrt(2.0)))
        n2 = 0.5 * (1.0 + math.erf(d2 / math.sqrt(2.0)))
        discounted = strike[i] * math.exp(-rate * years[i])
        call[i] = price[i] * n1 - discounted * n2
        put[i] = discounted * (1.0 - n2) - price[i] * (1.0 - n1)


def black_scholes_polynomial(price, strike, years, rate, volatility, call, put):
    """Compute the prices of options, with Abramowitz and Stegun's polynomial (26.2.17) for the normal law."""
    for i in range(price.shape[0]):
        spread = volatility * math.sqrt(years[i])
        d1 = (math.log(price[i] / strike[i]) + (rate + 0.5 * volatility * volatility) * years[i]) / spread
        d2 = d1 - spread
        t1 = 1.0 / (1.0 + 0.2316419 * abs(d1))
        t2 = 1.0 / (1.0 + 0.2316419 * abs(d2))
        p1 = t1 * (-0.356563782 + t1 * (1.781477937 + t1 * (-1.821255978 + t1 * 1.330274429)))
        p1 = t1 * (0.319381530 + p1)
        p2 = t2 * (-0.356563782 + t2 * (1.781477937 + t2 * (-1.821255978 + t2 * 1.330274429)))
        p2 = t2 * (0.319381530 + p2)
        n1 = 1.0 - p1 * math.exp(-0.5 * d1 * d1) / math.sqrt(2.0 * math.pi)
        n2 = 1.0 - p2 * math.exp(-0.5 * d2 * d2) / math.sqrt(2.0 * math.pi)
        if d1 < 0.0:
            n1 = 1.0 - n1
        if d2 < 0.0:
            n2 = 1.0 - n2
        discounted = strike[i] * math.exp(-rate * years[i])
        call[i] = price[i] * n1 - discounted * n2
        put[i] = discounted * (1.0 - n2) - price[i] * (1.0 - n1)


def kmeans(points, start, steps, centers, sums, counts, labels):
    """Assign points to the nearest centers, move the centers to the means of their points, and repeat."""
    n, d = points.shape
    k = start.shape[0]
    for c in range(k):
        for j in range(d):
            centers[c, j] = start[c, j]
    for _ in range(steps):
        for c in range(k):
            counts[c] = 0
            for j in range(d):
                sums[c, j] = 0.0
        for i in range(n):
            nearest, least = 0, math.inf
            for c in range(k):
                distance = 0.0
                for j in range(d):
                    difference = points[i, j] - centers[c, j]
                    distance += difference * difference
                if distance < least:
                    nearest, least = c, distance
            labels[i] = nearest
            counts[nearest] += 1
            for j in range(d):
                sums[nearest, j] += points[i, j]
        for c in range(k):
            if counts[c] > 0:
                for j in range(d):
                    centers[c, j] = sums[c, j] / counts[c]


def make_vector(n, rng):
    """Return a vector of `n` normal numbers."""
    return (rng.normal(size=n),)


def make_options(n, rng):
    """Return `n` options, and arrays for the prices of calls and puts."""
    price, strike = rng.uniform(10, 50, n), rng.uniform(10, 50, n)
    return price, strike, rng.uniform(1, 2, n), 0.02, 0.3, np.zeros(n), np.zeros(n)


def make_clusters(n, rng):
    """Return `n` points of four coordinates, eight centers, and arrays for the result."""
    points = rng.random((n, 4))
    start = points[rng.integers(0, n, 8)]
    return points, start, 5, np.zeros((8, 4)), np.zeros((8, 4)), np.zeros(8, np.int64), np.zeros(n, np.int64)


# the sizes for compiled code alone, and for compiled code against CPython
PROGRAMS = {
    avg: (make_vector, 10_000_000, 3_000_000),
    norm: (make_vector, 10_000_000, 3_000_000),
    black_scholes: (make_options, 200_000, 100_000),
    black_scholes_polynomial: (make_options, 500_000, 100_000),
    kmeans: (make_clusters, 40_000, 3_000),
}
