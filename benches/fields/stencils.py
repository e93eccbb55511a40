"""Grids that are swept step by step: heat, flow, weather, fields, cells."""

import numpy as np


def fdtd_2d(n):
    """Propagate an electromagnetic wave in two dimensions."""
    rng = np.random.default_rng(1)
    ex0, ey0, hz0 = rng.random((n, n)), rng.random((n, n)), rng.random((n, n))

    def run():
        ex, ey, hz = ex0.copy(), ey0.copy(), hz0.copy()
        for t in range(10):
            ey[0, :] = t
            ey[1:, :] -= 0.5 * (hz[1:, :] - hz[:-1, :])
            ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
            hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])
        return [ex, ey, hz]

    return run


def adi(n):
    """Diffuse heat by alternating directions, each line implicit."""
    rng = np.random.default_rng(2)
    u0 = rng.random((n, n))
    a, b, d = -2.0, 5.0, -2.0

    def sweep(u):
        """Solve along the rows of u's transpose."""
        v = np.ones((n, n))
        p, q = np.zeros((n, n)), np.zeros((n, n))
        q[1:-1, 0] = v[0, 1:-1]
        for j in range(1, n - 1):
            p[1:-1, j] = -a / (a * p[1:-1, j - 1] + b)
            right = -d * u[j, :-2] + (1.0 + 2.0 * d) * u[j, 1:-1] - d * u[j, 2:]
            q[1:-1, j] = (right - a * q[1:-1, j - 1]) / (a * p[1:-1, j - 1] + b)
        for j in range(n - 2, 0, -1):
            v[j, 1:-1] = p[1:-1, j] * v[j + 1, 1:-1] + q[1:-1, j]
        return v

    def run():
        return sweep(sweep(u0).T.copy())

    return run


def seidel_rows(n):
    """Relax a plate row by row, the new rows being used at once."""
    rng = np.random.default_rng(3)
    grid = rng.random((n, n))

    def run():
        a = grid.copy()
        for i in range(1, n - 1):
            a[i, 1:-1] += (
                a[i - 1, :-2]
                + a[i - 1, 1:-1]
                + a[i - 1, 2:]
                + a[i, 2:]
                + a[i + 1, :-2]
                + a[i + 1, 1:-1]
                + a[i + 1, 2:]
            )
            for j in range(1, min(n - 1, 9)):
                a[i, j] += a[i, j - 1]
            a[i, 1:-1] /= 9.0
        return a

    return run


def horizontal_diffusion(n):
    """Smooth a layered atmosphere with limited fluxes, as weather models do."""
    rng = np.random.default_rng(4)
    field, coeff = rng.random((n + 4, n + 4, 16)), rng.random((n, n, 16))

    def run():
        inner = field[1 : n + 3, 1 : n + 3]
        lap = 4.0 * inner - (
            field[2 : n + 4, 1 : n + 3]
            + field[0 : n + 2, 1 : n + 3]
            + field[1 : n + 3, 2 : n + 4]
            + field[1 : n + 3, 0 : n + 2]
        )
        res = lap[1:, 1 : n + 1] - lap[:-1, 1 : n + 1]
        flx = np.where(res * (field[2 : n + 3, 2 : n + 2] - field[1 : n + 2, 2 : n + 2]) > 0, 0, res)
        res = lap[1 : n + 1, 1:] - lap[1 : n + 1, :-1]
        fly = np.where(res * (field[2 : n + 2, 2 : n + 3] - field[2 : n + 2, 1 : n + 2]) > 0, 0, res)
        return field[2 : n + 2, 2 : n + 2] - coeff * (flx[1:] - flx[:-1] + fly[:, 1:] - fly[:, :-1])

    return run


def vertical_advection(n):
    """Advect a column model implicitly: a tridiagonal system per column, one layer after another."""
    layers = 20
    rng = np.random.default_rng(5)
    u, w = rng.random((layers, n, n)), rng.random((layers, n, n)) - 0.5

    def run():
        c, d = np.zeros_like(u), np.zeros_like(u)
        for k in range(layers):
            up = 0.25 * w[k] if k > 0 else np.zeros((n, n))
            down = 0.25 * w[k + 1] if k < layers - 1 else np.zeros((n, n))
            before = u[k - 1] if k > 0 else u[k]
            after = u[k + 1] if k < layers - 1 else u[k]
            right = 3.0 * u[k] + up * (u[k] - before) - down * (after - u[k])
            divided = 1.0 / (3.0 + up - down + (up * c[k - 1] if k > 0 else 0.0))
            c[k] = down * divided
            d[k] = (right + (up * d[k - 1] if k > 0 else 0.0)) * divided
        x = np.zeros_like(u)
        x[-1] = d[-1]
        for k in range(layers - 2, -1, -1):
            x[k] = d[k] - c[k] * x[k + 1]
        return x

    return run


def cavity_flow(n):
    """Drive a fluid by the lid of its box: pressure by relaxation, then velocities."""
    dx = dy = 2 / (n - 1)
    rho, nu, dt = 1.0, 0.1, 0.1 * dx * dx

    def pressure(p, b):
        for _ in range(10):
            pn = p.copy()
            p[1:-1, 1:-1] = (
                (pn[1:-1, 2:] + pn[1:-1, :-2]) * dy**2 + (pn[2:, 1:-1] + pn[:-2, 1:-1]) * dx**2
            ) / (2 * (dx**2 + dy**2)) - dx**2 * dy**2 / (2 * (dx**2 + dy**2)) * b[1:-1, 1:-1]
            p[:, -1] = p[:, -2]
            p[0, :] = p[1, :]
            p[:, 0] = p[:, 1]
            p[-1, :] = 0
        return p

    def run():
        u, v, p, b = np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n))
        for _ in range(4):
            un, vn = u.copy(), v.copy()
            ux, vy = (u[1:-1, 2:] - u[1:-1, :-2]) / (2 * dx), (v[2:, 1:-1] - v[:-2, 1:-1]) / (2 * dy)
            uy, vx = (u[2:, 1:-1] - u[:-2, 1:-1]) / (2 * dy), (v[1:-1, 2:] - v[1:-1, :-2]) / (2 * dx)
            b[1:-1, 1:-1] = rho * ((ux + vy) / dt - ux**2 - 2 * uy * vx - vy**2)
            p = pressure(p, b)
            for new, old, grad in (
                (u, un, (p[1:-1, 2:] - p[1:-1, :-2]) / dx),
                (v, vn, (p[2:, 1:-1] - p[:-2, 1:-1]) / dy),
            ):
                here = old[1:-1, 1:-1]
                new[1:-1, 1:-1] = (
                    here
                    - un[1:-1, 1:-1] * dt / dx * (here - old[1:-1, :-2])
                    - vn[1:-1, 1:-1] * dt / dy * (here - old[:-2, 1:-1])
                    - dt / (2 * rho) * grad
                    + nu * dt / dx**2 * (old[1:-1, 2:] - 2 * here + old[1:-1, :-2])
                    + nu * dt / dy**2 * (old[2:, 1:-1] - 2 * here + old[:-2, 1:-1])
                )
            u[0, :] = u[:, 0] = u[:, -1] = 0
            u[-1, :] = 1
            v[0, :] = v[-1, :] = v[:, 0] = v[:, -1] = 0
        return [u, v, p]

    return run


def multigrid(n):
    """Solve Poisson's equation in one dimension by V cycles."""
    x = np.linspace(0, 1, n + 1)
    f = np.sin(3 * np.pi * x) + x

    def smooth(u, f, h, times=2):
        for _ in range(times):
            u[1:-1:2] = 0.5 * (u[:-2:2] + u[2::2] + h * h * f[1:-1:2])
            u[2:-1:2] = 0.5 * (u[1:-2:2] + u[3::2] + h * h * f[2:-1:2])

    def cycle(u, f, h):
        smooth(u, f, h)
        if len(u) > 3:
            r = np.zeros_like(u)
            r[1:-1] = f[1:-1] + (u[:-2] - 2 * u[1:-1] + u[2:]) / h**2
            coarse = np.zeros(len(u) // 2 + 1)
            coarse[1:-1] = 0.25 * (r[1:-2:2] + 2 * r[2:-1:2] + r[3::2])
            e = cycle(np.zeros_like(coarse), coarse, 2 * h)
            u[::2] += e
            u[1::2] += 0.5 * (e[:-1] + e[1:])
        smooth(u, f, h)
        return u

    def run():
        u = np.zeros(n + 1)
        for _ in range(3):
            u = cycle(u, f, 1.0 / n)
        return u

    return run


def ising(n):
    """Flip the spins of a magnet, black and white fields of the board in turn."""
    rng = np.random.default_rng(6)
    start = rng.choice([-1, 1], size=(n, n))
    draws = rng.random((6, n, n))
    black = np.indices((n, n)).sum(axis=0) % 2 == 0

    def run():
        spins = start.copy()
        energies = []
        for draw in draws:
            for mask in (black, ~black):
                near = (
                    np.roll(spins, 1, 0)
                    + np.roll(spins, -1, 0)
                    + np.roll(spins, 1, 1)
                    + np.roll(spins, -1, 1)
                )
                flip = mask & (draw < np.exp(-2 * 0.44 * spins * near))
                spins[flip] *= -1
            energies.append(float(-(spins * np.roll(spins, 1, 0)).mean()))
        return [spins, energies]

    return run


def percolation(n):
    """Let water seep through a porous block until nothing moves."""
    rng = np.random.default_rng(7)
    open_ = rng.random((n, n)) < 0.65

    def run():
        wet = np.zeros_like(open_)
        wet[0] = open_[0]
        for _ in range(4 * n):
            grown = wet.copy()
            grown[1:] |= wet[:-1]
            grown[:-1] |= wet[1:]
            grown[:, 1:] |= wet[:, :-1]
            grown[:, :-1] |= wet[:, 1:]
            grown &= open_
            if np.array_equal(grown, wet):
                break
            wet = grown
        return [wet, bool(wet[-1].any())]

    return run


def gray_scott(n):
    """Let two chemicals react and diffuse."""
    start = np.zeros((n, n))
    start[n // 3 : n // 2, n // 3 : n // 2] = 0.5

    def laplacian(z):
        return -4 * z + np.roll(z, 1, 0) + np.roll(z, -1, 0) + np.roll(z, 1, 1) + np.roll(z, -1, 1)

    def run():
        u, v = 1.0 - start, 0.5 * start
        for _ in range(8):
            uvv = u * v * v
            u = u + 0.16 * laplacian(u) - uvv + 0.035 * (1 - u)
            v = v + 0.08 * laplacian(v) + uvv - 0.1 * v
        return [u, v]

    return run


PROGRAMS = {
    fdtd_2d: (24, 900),
    adi: (20, 500),
    seidel_rows: (16, 2000),
    horizontal_diffusion: (12, 300),
    vertical_advection: (8, 300),
    cavity_flow: (20, 400),
    multigrid: (64, 1_048_576),
    ising: (16, 500),
    percolation: (16, 500),
    gray_scott: (24, 700),
}
