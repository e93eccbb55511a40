"""Programs on numbers and sequences: fractals, statistics, optimization and smoothing."""

import math

import numpy as np


def collatz(n):
    """Return the number below `n` whose Collatz sequence is longest, and the length."""
    best, longest = 1, 1
    for start in range(1, n):
        number, length = start, 1
        while number != 1:
            if number % 2 == 0:
                number //= 2
            else:
                number = 3 * number + 1
            length += 1
        if length > longest:
            best, longest = start, length
    return best, longest


def julia(c, limit, out):
    """Count the steps after which the points of a square leave a Julia set, in complex numbers."""
    height, width = out.shape
    for i in range(height):
        for j in range(width):
            z = complex(-1.5 + 3.0 * j / width, -1.5 + 3.0 * i / height)
            count = 0
            while count < limit and z.real * z.real + z.imag * z.imag <= 4.0:
                z = z * z + c
                count += 1
            out[i, j] = count


def mandelbrot(limit, out):
    """Count the steps after which the points of a rectangle leave the Mandelbrot set, in real numbers."""
    height, width = out.shape
    for i in range(height):
        y0 = -1.25 + 2.5 * i / height
        for j in range(width):
            x0 = -2.0 + 2.5 * j / width
            x = y = 0.0
            count = 0
            while count < limit and x * x + y * y <= 4.0:
                x, y = x * x - y * y + x0, 2.0 * x * y + y0
                count += 1
            out[i, j] = count


def rosenbrock(x, gradient):
    """Return Rosenbrock's function of a vector, and write its gradient."""
    n = len(x)
    value = 0.0
    for i in range(n):
        gradient[i] = 0.0
    for i in range(n - 1):
        rest = x[i + 1] - x[i] * x[i]
        value += 100.0 * rest**2 + (1.0 - x[i]) ** 2
        gradient[i] += -400.0 * x[i] * rest - 2.0 * (1.0 - x[i])
        gradient[i + 1] += 200.0 * rest
    return value


def regression(x, y):
    """Return the slope and the intercept of the line through points by least squares."""
    n = len(x)
    sum_x = sum_y = 0.0
    for i in range(n):
        sum_x += x[i]
        sum_y += y[i]
    mean_x, mean_y = sum_x / n, sum_y / n
    above = below = 0.0
    for i in range(n):
        above += (x[i] - mean_x) * (y[i] - mean_y)
        below += (x[i] - mean_x) ** 2
    slope = above / below
    return slope, mean_y - slope * mean_x


def smoothing(x, alpha, out):
    """Smooth a sequence exponentially."""
    out[0] = x[0]
    for i in range(1, len(x)):
        out[i] = alpha * x[i] + (1 - alpha) * out[i - 1]


def moving_average(x, half, out):
    """Smooth a sequence by the mean of a window, which is cut off at the ends."""
    n = len(x)
    for i in range(n):
        first, last = max(0, i - half), min(n, i + half + 1)
        total = 0.0
        for j in range(first, last):
            total += x[j]
        out[i] = total / (last - first)


def wald(velocity, threshold, sigma, normal, uniform, out):
    """Draw from Wald's distribution (the inverse Gaussian one) by means of normal and uniform numbers."""
    mu = threshold / velocity
    shape = threshold**2 / sigma**2
    for i in range(len(normal)):
        y = normal[i] ** 2
        root = math.sqrt(4.0 * mu * shape * y + mu**2 * y**2)
        x = mu + mu**2 * y / (2.0 * shape) - mu / (2.0 * shape) * root
        if uniform[i] <= mu / (mu + x):
            out[i] = x
        else:
            out[i] = mu**2 / x


def make_collatz(n, rng):
    """Return the bound itself."""
    return (n,)


def make_julia(n, rng):
    """Return the set's constant, the most steps, and an array for the counts."""
    return complex(-0.8, 0.156), 100, np.zeros((n, n), np.int64)


def make_mandelbrot(n, rng):
    """Return the most steps, and an array for the counts."""
    return 100, np.zeros((n, n), np.int64)


def make_rosenbrock(n, rng):
    """Return a vector, and an array for the gradient."""
    return rng.normal(size=n), np.zeros(n)


def make_regression(n, rng):
    """Return the coordinates of points near a line."""
    x = rng.random(n)
    return x, 3.0 * x + 1.0 + 0.1 * rng.normal(size=n)


def make_smoothing(n, rng):
    """Return a sequence in single precision, the weight of what is new, and an array for the result."""
    return rng.normal(size=n).astype(np.float32), 0.01, np.zeros(n, np.float32)


def make_moving_average(n, rng):
    """Return a sequence, half the size of the window, and an array for the result."""
    return rng.normal(size=n), 5, np.zeros(n)


def make_wald(n, rng):
    """Return the parameters of the distribution, random numbers, and an array for the result."""
    return 1.5, 2.0, 1.0, rng.normal(size=n), rng.random(n), np.zeros(n)


# the sizes for compiled code alone, and for compiled code against CPython
PROGRAMS = {
    collatz: (make_collatz, 60_000, 50_000),
    julia: (make_julia, 400, 250),
    mandelbrot: (make_mandelbrot, 300, 250),
    rosenbrock: (make_rosenbrock, 2_000_000, 200_000),
    regression: (make_regression, 3_000_000, 500_000),
    smoothing: (make_smoothing, 3_000_000, 700_000),
    moving_average: (make_moving_average, 1_500_000, 200_000),
    wald: (make_wald, 1_000_000, 200_000),
}
