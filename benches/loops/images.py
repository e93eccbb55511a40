"""Programs on images: filters, corners, morphology and segmentation."""

import math

import numpy as np


def conv2d(image, kernel, out):
    """Convolve an image with a kernel of any size, where the kernel lies inside the image."""
    rows, columns = kernel.shape
    for i in range(image.shape[0] - rows + 1):
        for j in range(image.shape[1] - columns + 1):
            total = 0.0
            for k in range(rows):
                for m in range(columns):
                    total += image[i + k, j + m] * kernel[rows - 1 - k, columns - 1 - m]
            out[i, j] = total


def conv3x3(image, kernel, out):
    """Convolve an image with a kernel of three rows and three columns; the border is left as it is."""
    for i in range(1, image.shape[0] - 1):
        for j in range(1, image.shape[1] - 1):
            out[i, j] = (
                image[i - 1, j - 1] * kernel[0, 0]
                + image[i - 1, j] * kernel[0, 1]
                + image[i - 1, j + 1] * kernel[0, 2]
                + image[i, j - 1] * kernel[1, 0]
                + image[i, j] * kernel[1, 1]
                + image[i, j + 1] * kernel[1, 2]
                + image[i + 1, j - 1] * kernel[2, 0]
                + image[i + 1, j] * kernel[2, 1]
                + image[i + 1, j + 1] * kernel[2, 2]
            )


def growcut(image, colony, strength, radius, new_colony, new_strength):
    """Do one step of a cellular automaton that segments a colour image; returns the number of changes."""
    height, width, channels = image.shape
    changes = 0
    for i in range(height):
        for j in range(width):
            winner = colony[i, j]
            defense = strength[i, j]
            for ii in range(max(i - radius, 0), min(i + radius + 1, height)):
                for jj in range(max(j - radius, 0), min(j + radius + 1, width)):
                    if ii != i or jj != j:
                        total = 0.0
                        for c in range(channels):
                            difference = image[i, j, c] - image[ii, jj, c]
                            total += difference * difference
                        attack = (1.0 - math.sqrt(total / 3.0)) * strength[ii, jj]
                        if attack > defense:
                            defense = attack
                            winner = colony[ii, jj]
                            changes += 1
            new_colony[i, j] = winner
            new_strength[i, j] = defense
    return changes


def harris(image, k, dx, dy, out):
    """Compute the response of Harris's corner detector from central differences and 3 by 3 windows."""
    height, width = image.shape
    for i in range(1, height - 1):
        for j in range(1, width - 1):
            dx[i, j] = 0.5 * (image[i, j + 1] - image[i, j - 1])
            dy[i, j] = 0.5 * (image[i + 1, j] - image[i - 1, j])
    for i in range(2, height - 2):
        for j in range(2, width - 2):
            xx = xy = yy = 0.0
            for ii in range(i - 1, i + 2):
                for jj in range(j - 1, j + 2):
                    x, y = dx[ii, jj], dy[ii, jj]
                    xx += x * x
                    xy += x * y
                    yy += y * y
            trace = xx + yy
            out[i, j] = xx * yy - xy * xy - k * trace * trace


def dilate(image, rows, columns, out):
    """Replace each pixel by the greatest in a window around it, cut off at the border."""
    height, width = image.shape
    for i in range(height):
        for j in range(width):
            greatest = image[i, j]
            for ii in range(max(0, i - rows), min(height, i + rows + 1)):
                for jj in range(max(0, j - columns), min(width, j + columns + 1)):
                    if image[ii, jj] > greatest:
                        greatest = image[ii, jj]
            out[i, j] = greatest


def erode(image, rows, columns, out):
    """Replace each pixel by the least in a window around it, cut off at the border."""
    height, width = image.shape
    for i in range(height):
        for j in range(width):
            least = image[i, j]
            for ii in range(max(0, i - rows), min(height, i + rows + 1)):
                for jj in range(max(0, j - columns), min(width, j + columns + 1)):
                    least = min(least, image[ii, jj])
            out[i, j] = least


def local_maxima(data, out):
    """Mark the elements of a 4-D array that no neighbour exceeds; the array wraps around at its ends."""
    n0, n1, n2, n3 = data.shape
    for i in range(n0):
        for j in range(n1):
            for k in range(n2):
                for m in range(n3):
                    here = data[i, j, k, m]
                    greatest = True
                    for a in range(-1, 2):
                        for b in range(-1, 2):
                            for c in range(-1, 2):
                                for d in range(-1, 2):
                                    there = data[(i + a) % n0, (j + b) % n1, (k + c) % n2, (m + d) % n3]
                                    if there > here:
                                        greatest = False
                    out[i, j, k, m] = greatest


def make_conv2d(n, rng):
    """Return an image, a kernel of five rows and columns, and an array for the result."""
    return rng.random((n, n)), rng.random((5, 5)), np.zeros((n, n))


def make_conv3x3(n, rng):
    """Return an image, a kernel of three rows and columns, and an array for the result."""
    return rng.random((n, n)), rng.random((3, 3)), np.zeros((n, n))


def make_growcut(n, rng):
    """Return an image with three channels, colonies and their strengths, and arrays for the next ones."""
    colony, strength = rng.integers(0, 3, (n, n)), rng.random((n, n))
    return rng.random((n, n, 3)), colony, strength, 4, np.zeros_like(colony), np.zeros_like(strength)


def make_harris(n, rng):
    """Return an image, the detector's constant, and arrays for derivatives and the response."""
    return rng.random((n, n)), 0.04, np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n))


def make_dilate(n, rng):
    """Return an image of floats, the half sizes of a window, and an array for the result."""
    return rng.random((n, n)), 3, 3, np.zeros((n, n))


def make_erode(n, rng):
    """Return an image of bytes, the half sizes of a window, and an array for the result."""
    return rng.integers(0, 256, (n, n)).astype(np.uint8), 3, 3, np.zeros((n, n), np.uint8)


def make_local_maxima(n, rng):
    """Return a 4-D array with six elements in the last axis, and an array of bools for the result."""
    shape = (n, n, n, 6)
    return rng.normal(size=shape), np.zeros(shape, bool)


# the sizes for compiled code alone, and for compiled code against CPython
PROGRAMS = {
    conv2d: (make_conv2d, 900, 120),
    conv3x3: (make_conv3x3, 2_500, 350),
    growcut: (make_growcut, 250, 45),
    harris: (make_harris, 900, 250),
    dilate: (make_dilate, 500, 150),
    erode: (make_erode, 500, 120),
    local_maxima: (make_local_maxima, 28, 11),
}
