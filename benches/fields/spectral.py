"""Waves, transforms and complex numbers."""

import numpy as np


def kuramoto_sivashinsky(n):
    """Integrate a chaotic flame front in Fourier space with an exponential Euler step."""
    x = 32 * np.pi * np.arange(n) / n
    u0 = np.cos(x / 16) * (1 + np.sin(x / 16))
    k = np.fft.rfftfreq(n, d=1 / n) / 16

    def run():
        h = 0.01
        linear = k**2 - k**4
        grow = np.exp(h * linear)
        phi = np.where(linear == 0, h, (grow - 1) / np.where(linear == 0, 1, linear))
        v = np.fft.rfft(u0)
        for _ in range(10):
            u = np.fft.irfft(v, n)
            v = grow * v - 0.5j * k * phi * np.fft.rfft(u * u)
        return np.fft.irfft(v, n)

    return run


def burgers(n):
    """Steepen a wave: Burgers' equation with Runge and Kutta's second order and spectral derivatives."""
    x = np.linspace(0, 2 * np.pi, n, endpoint=False)
    k = 1j * np.fft.fftfreq(n, 1 / n)

    def rate(u):
        hat = np.fft.fft(u)
        ux, uxx = np.fft.ifft(k * hat).real, np.fft.ifft(k**2 * hat).real
        return 0.01 * uxx - u * ux

    def run():
        u, dt = np.sin(x) + 0.5, min(1e-4, 100.0 / n**2)
        for _ in range(4):
            half = u + dt / 2 * rate(u)
            u = u + dt * rate(half)
        return u

    return run


def fft_radix2(n):
    """Transform by hand: butterflies over strided halves, stage by stage."""
    rng = np.random.default_rng(3)
    x = rng.random(n) + 1j * rng.random(n)

    def run():
        y = x.reshape(1, -1)
        while y.shape[0] < n:
            even, odd = y[:, : y.shape[1] // 2], y[:, y.shape[1] // 2 :]
            factor = np.exp(-1j * np.pi * np.arange(y.shape[0]) / y.shape[0])[:, None]
            y = np.vstack([even + factor * odd, even - factor * odd])
        return y.ravel()

    return run


def mandelbrot_fancy(n):
    """Mandelbrot's set, points that escape being dropped from index lists."""
    x, y = np.linspace(-2, 0.5, n), np.linspace(-1.25, 1.25, n)

    def run():
        xi, yi = np.mgrid[0:n, 0:n]
        c = x[xi] + 1j * y[yi]
        counts = np.zeros(c.shape, dtype=np.int64)
        xi.shape = yi.shape = c.shape = n * n
        z = np.copy(c)
        for i in range(30):
            if not len(z):
                break
            z = z * z + c
            out = np.abs(z) > 2.0
            counts[xi[out], yi[out]] = i + 1
            keep = ~out
            xi, yi, z, c = xi[keep], yi[keep], z[keep], c[keep]
        return counts

    return run


def mandelbrot_masks(n):
    """Mandelbrot's set, all points at every step, counted under a mask."""
    x, y = np.linspace(-2, 0.5, n), np.linspace(-1.25, 1.25, n)

    def run():
        c = x + y[:, None] * 1j
        z, counts = np.zeros(c.shape, dtype=np.complex128), np.zeros(c.shape, dtype=int)
        for i in range(20):
            inside = np.less(abs(z), 2.0)
            counts[inside] = i
            z[inside] = z[inside] ** 2 + c[inside]
        counts[counts == 19] = 0
        return counts

    return run


def julia_compact(n):
    """Julia's set, with the points that are left kept together."""
    grid = np.linspace(-1.5, 1.5, n)
    z0 = (grid[None, :] + 1j * grid[:, None]).ravel()

    def run():
        z, left = z0.copy(), np.arange(z0.size)
        steps = np.full(z0.size, 30, dtype=np.uint8)
        for i in range(30):
            z = z**2 + (-0.8 + 0.156j)
            gone = z.real**2 + z.imag**2 > 4
            steps[left[gone]] = i
            z, left = z[~gone], left[~gone]
        return steps.reshape(n, n)

    return run


def contour_integral(n):
    """Moments of a matrix polynomial's inverse along a circle."""
    rng = np.random.default_rng(7)
    size = 6
    h = rng.random((3, size, size)) + 1j * rng.random((3, size, size))
    y = rng.random((size, 2))

    def run():
        p0, p1 = np.zeros((size, 2), complex), np.zeros((size, 2), complex)
        for z in 3.0 * np.exp(2j * np.pi * (np.arange(n) + 0.5) / n):
            t = np.zeros((size, size), complex)
            for power in range(3):
                t += z ** (power - 1) * h[power]
            x = np.linalg.inv(t) @ y
            p0 += x
            p1 += z * x
        return [p0 / n, p1 / n]

    return run


def azimuthal(n):
    """Average a detector's image over rings."""
    rng = np.random.default_rng(8)
    image, radius = rng.random(n), rng.random(n)

    def run():
        npt = 50
        rmax = radius.max()
        width = 2.0 * radius.std() / npt
        on_rings = np.empty(npt)
        for i in range(npt):
            near = np.logical_and((rmax * i / npt) <= radius, radius < (rmax * (i + 1) / npt))
            on_rings[i] = image[near].mean() if near.any() else 0.0
        return [on_rings, width]

    return run


def schroedinger(n):
    """Send a wave packet against a wall by split steps."""
    x = np.linspace(-10, 10, n, endpoint=False)
    k = 2 * np.pi * np.fft.fftfreq(n, x[1] - x[0])
    wall = np.where(np.abs(x) < 0.5, 5.0, 0.0)

    def run():
        psi = np.exp(-((x + 5) ** 2) + 3j * x)
        psi /= np.sqrt((np.abs(psi) ** 2).sum())
        potential, kinetic = np.exp(-0.005j * wall), np.exp(-0.005j * k**2)
        places = []
        for _ in range(8):
            psi = potential * np.fft.ifft(kinetic * np.fft.fft(potential * psi))
            places.append(float((x * np.abs(psi) ** 2).sum()))
        return [psi, np.array(places)]

    return run


def periodogram(n):
    """Lomb's periodogram of uneven samples, a loop over frequencies."""
    rng = np.random.default_rng(10)
    t = np.sort(rng.uniform(0, 100, n))
    y = np.sin(2 * np.pi * 0.3 * t) + rng.normal(size=n)

    def run():
        power = []
        for f in np.linspace(0.05, 1.0, 40):
            w = 2 * np.pi * f
            tau = np.arctan2(np.sin(2 * w * t).sum(), np.cos(2 * w * t).sum()) / (2 * w)
            c, s = np.cos(w * (t - tau)), np.sin(w * (t - tau))
            power.append(0.5 * ((y @ c) ** 2 / (c @ c) + (y @ s) ** 2 / (s @ s)))
        return np.array(power)

    return run


PROGRAMS = {
    kuramoto_sivashinsky: (64, 100_000),
    burgers: (64, 50_000),
    fft_radix2: (64, 524_288),
    mandelbrot_fancy: (24, 600),
    mandelbrot_masks: (24, 600),
    julia_compact: (24, 1200),
    contour_integral: (16, 2000),
    azimuthal: (400, 400_000),
    schroedinger: (128, 60_000),
    periodogram: (100, 15_000),
}
