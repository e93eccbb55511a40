"""Programs of physics: waves, diffusion, particles and rotations."""

import math

import numpy as np


def diffuse(start, steps, kappa, now, then):
    """Let heat diffuse on a grid whose border stays as it is; returns the mean at the end."""
    height, width = start.shape
    for i in range(height):
        for j in range(width):
            now[i, j] = start[i, j]
            then[i, j] = start[i, j]
    for _ in range(steps):
        for i in range(1, height - 1):
            for j in range(1, width - 1):
                around = now[i - 1, j] + now[i + 1, j] + now[i, j - 1] + now[i, j + 1]
                then[i, j] = now[i, j] + kappa * (around - 4.0 * now[i, j])
        for i in range(1, height - 1):
            for j in range(1, width - 1):
                now[i, j] = then[i, j]
    total = 0.0
    for i in range(height):
        for j in range(width):
            total += now[i, j]
    return total / (height * width)


def fdtd(source, ex, ey, hz):
    """Propagate an electromagnetic field in two dimensions by finite differences in time."""
    height, width = hz.shape
    for i in range(height):
        for j in range(width):
            ex[i, j] = 0.0
            ey[i, j] = 0.0
            hz[i, j] = 0.0
    for t in range(len(source)):
        for j in range(width):
            ey[0, j] = source[t]
        for i in range(1, height):
            for j in range(width):
                ey[i, j] -= 0.5 * (hz[i, j] - hz[i - 1, j])
        for i in range(height):
            for j in range(1, width):
                ex[i, j] -= 0.5 * (hz[i, j] - hz[i, j - 1])
        for i in range(height - 1):
            for j in range(width - 1):
                hz[i, j] -= 0.7 * (ex[i, j + 1] - ex[i, j] + ey[i + 1, j] - ey[i, j])


def pulse_propagation(offset, intensity, phase, field, angle, out):
    """Rotate magnetization by a shaped pulse, for every frequency offset."""
    for f in range(offset.shape[0]):
        x, y, z = 0.0, 0.0, 1.0
        tilt = offset[f] / field
        for p in range(intensity.shape[0]):
            strength = intensity[p]
            size = math.sqrt(strength * strength + tilt * tilt)
            if size > 0.0:
                # the axis of the rotation, then Rodrigues' formula
                ax = strength * math.cos(phase[p]) / size
                ay = strength * math.sin(phase[p]) / size
                az = tilt / size
                cosine = math.cos(angle * size)
                sine = math.sin(angle * size)
                along = (ax * x + ay * y + az * z) * (1.0 - cosine)
                new_x = x * cosine + (ay * z - az * y) * sine + ax * along
                new_y = y * cosine + (az * x - ax * z) * sine + ay * along
                z = z * cosine + (ax * y - ay * x) * sine + az * along
                x, y = new_x, new_y
        out[0, f] = x
        out[1, f] = y
        out[2, f] = z


def sph_render(xs, ys, zs, widths, values, image):
    """Render particles of smoothed hydrodynamics where they meet the plane z = 0 of the unit square."""
    nx, ny = image.shape
    for i in range(nx):
        for j in range(ny):
            image[i, j] = 0.0
    dx, dy = 1.0 / nx, 1.0 / ny
    for p in range(len(xs)):
        x, y, z, h = xs[p], ys[p], zs[p], widths[p]
        if abs(z) >= 2.0 * h:
            continue
        scale = values[p] / (math.pi * h * h * h)
        first_i, last_i = max(0, int((x - 2.0 * h) / dx)), min(nx - 1, int((x + 2.0 * h) / dx))
        first_j, last_j = max(0, int((y - 2.0 * h) / dy)), min(ny - 1, int((y + 2.0 * h) / dy))
        for i in range(first_i, last_i + 1):
            for j in range(first_j, last_j + 1):
                px, py = (i + 0.5) * dx - x, (j + 0.5) * dy - y
                d = math.sqrt(px * px + py * py + z * z) / h
                if d < 1.0:
                    image[i, j] += scale * (1.0 - 1.5 * d * d + 0.75 * d * d * d)
                elif d < 2.0:
                    rest = 2.0 - d
                    image[i, j] += scale * (0.25 * rest * rest * rest)


def tensor_rotation(tensors, rotation, out):
    """Rotate tensors of rank four by the same matrix, written as the definition says."""
    for n in range(tensors.shape[0]):
        for i in range(3):
            for j in range(3):
                for k in range(3):
                    for m in range(3):
                        total = 0.0
                        for ii in range(3):
                            for jj in range(3):
                                for kk in range(3):
                                    for mm in range(3):
                                        factor = rotation[i, ii] * rotation[j, jj]
                                        factor *= rotation[k, kk] * rotation[m, mm]
                                        total += factor * tensors[n, ii, jj, kk, mm]
                        out[n, i, j, k, m] = total


def nbody(mass, start, start_velocity, steps, dt, position, velocity):
    """Move bodies that attract each other; returns the energy at the end."""
    n = len(mass)
    for i in range(n):
        for c in range(3):
            position[i, c] = start[i, c]
            velocity[i, c] = start_velocity[i, c]
    for _ in range(steps):
        for i in range(n):
            for j in range(i + 1, n):
                dx = position[i, 0] - position[j, 0]
                dy = position[i, 1] - position[j, 1]
                dz = position[i, 2] - position[j, 2]
                square = dx * dx + dy * dy + dz * dz + 0.01
                pull = dt / (square * math.sqrt(square))
                velocity[i, 0] -= dx * mass[j] * pull
                velocity[i, 1] -= dy * mass[j] * pull
                velocity[i, 2] -= dz * mass[j] * pull
                velocity[j, 0] += dx * mass[i] * pull
                velocity[j, 1] += dy * mass[i] * pull
                velocity[j, 2] += dz * mass[i] * pull
        for i in range(n):
            for c in range(3):
                position[i, c] += dt * velocity[i, c]
    energy = 0.0
    for i in range(n):
        for c in range(3):
            energy += 0.5 * mass[i] * velocity[i, c] ** 2
        for j in range(i + 1, n):
            square = 0.01
            for c in range(3):
                square += (position[i, c] - position[j, c]) ** 2
            energy -= mass[i] * mass[j] / math.sqrt(square)
    return energy


def make_diffuse(n, rng):
    """Return a grid, the number of steps, the diffusivity, and two arrays for grids."""
    return rng.random((n, n)), 10, 0.1, np.zeros((n, n)), np.zeros((n, n))


def make_fdtd(n, rng):
    """Return the source at ten times, and arrays for the three components of the field."""
    return rng.random(10), np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n))


def make_pulse(n, rng):
    """Return `n` frequency offsets, a pulse of 200 points, two constants, and an array for the result."""
    return (
        np.linspace(-5000.0, 5000.0, n),
        rng.random(200),
        np.pi * rng.integers(0, 2, 200),
        800.0,
        0.01,
        (np.zeros((3, n))),
    )


def make_sph(n, rng):
    """Return the positions, widths and values of `n` particles, and an image."""
    x, y, z = rng.random(n), rng.random(n), 0.1 * rng.random(n)
    return x, y, z, rng.uniform(0.02, 0.06, n), rng.random(n), np.zeros((100, 100))


def make_tensors(n, rng):
    """Return `n` tensors of rank four, a rotation, and an array for the result."""
    rotation = np.linalg.qr(rng.normal(size=(3, 3)))[0].copy()
    return rng.random((n, 3, 3, 3, 3)), rotation, np.zeros((n, 3, 3, 3, 3))


def make_nbody(n, rng):
    """Return `n` bodies, the number and length of steps, and arrays for positions and velocities."""
    start, velocity = rng.normal(size=(n, 3)), 0.1 * rng.normal(size=(n, 3))
    return rng.random(n), start, velocity, 10, 0.001, np.zeros((n, 3)), np.zeros((n, 3))


# the sizes for compiled code alone, and for compiled code against CPython
PROGRAMS = {
    diffuse: (make_diffuse, 1_000, 150),
    fdtd: (make_fdtd, 800, 130),
    pulse_propagation: (make_pulse, 2_000, 400),
    sph_render: (make_sph, 10_000, 1_000),
    tensor_rotation: (make_tensors, 3_000, 30),
    nbody: (make_nbody, 500, 120),
}
