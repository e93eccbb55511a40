"""Particles, oscillators, walkers and flocks."""

import numpy as np


def lorenz_ensemble(n):
    """Integrate many Lorenz systems with Runge and Kutta's method of fourth order."""
    start = np.random.default_rng(1).normal(size=(3, n))

    def velocity(state):
        x, y, z = state
        return np.array([10.0 * (y - x), x * (28.0 - z) - y, x * y - 8.0 / 3.0 * z])

    def run():
        state, dt = start, 0.01
        for _ in range(10):
            k1 = velocity(state)
            k2 = velocity(state + dt / 2 * k1)
            k3 = velocity(state + dt / 2 * k2)
            k4 = velocity(state + dt * k3)
            state = state + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        return state

    return run


def kuramoto(n):
    """Synchronize coupled oscillators, all pairs."""
    rng = np.random.default_rng(2)
    theta0, omega = rng.uniform(0, 2 * np.pi, n), rng.normal(size=n)

    def run():
        theta, order = theta0, []
        for _ in range(5):
            pull = np.sin(theta[np.newaxis, :] - theta[:, np.newaxis]).mean(axis=1)
            theta = np.mod(theta + 0.05 * (omega + 2.0 * pull), 2 * np.pi)
            order.append(np.abs(np.mean(np.exp(1j * theta))))
        return [theta, np.array(order)]

    return run


def random_walks(n):
    """Walk on a lattice from drawn steps; distances, returns to the start, first passages."""
    steps = np.random.default_rng(3).integers(0, 4, size=(n, 200))
    moves = np.array([[1, 0], [-1, 0], [0, 1], [0, -1]])

    def run():
        path = np.cumsum(moves[steps], axis=1)
        squared = (path**2).sum(axis=2)
        home = (squared == 0).sum(axis=1)
        far = squared > 100
        passage = np.where(far.any(axis=1), far.argmax(axis=1), -1)
        return [squared.mean(axis=0), home, passage]

    return run


def lennard_jones_cells(n):
    """Move atoms in a box; neighbours are found through a grid of cells."""
    rng = np.random.default_rng(4)
    cells = max(3, int(np.sqrt(n / 8)))
    box = 1.2 * cells
    start = (np.indices((cells, cells)).reshape(2, -1).T[:, None] + rng.random((1, 8, 2))).reshape(
        -1, 2
    ) * 1.2

    def forces(x):
        place = (x / 1.2).astype(int) % cells
        key = place[:, 0] * cells + place[:, 1]
        order = np.argsort(key, kind="stable")
        first = np.searchsorted(key[order], np.arange(cells * cells + 1))
        force = np.zeros_like(x)
        for cell in range(min(cells * cells, 900)):
            i, j = divmod(cell, cells)
            mine = order[first[cell] : first[cell + 1]]
            near = [((i + di) % cells) * cells + (j + dj) % cells for di in (-1, 0, 1) for dj in (-1, 0, 1)]
            others = np.concatenate([order[first[c] : first[c + 1]] for c in near])
            d = x[mine, None] - x[others]
            d -= box * np.round(d / box)
            r2 = (d**2).sum(axis=2)
            near_enough = (r2 > 0) & (r2 < 1.44)
            inv = np.where(near_enough, 0.01 / np.maximum(r2, 0.005), 0.0) ** 3
            force[mine] = ((24 * inv * (2 * inv - 1) / np.maximum(r2, 0.005))[:, :, None] * d).sum(axis=1)
        return force

    def run():
        x, v = start.copy(), np.zeros_like(start)
        for _ in range(2):
            v += 1e-4 * forces(x)
            x = (x + 1e-3 * v) % box
        return [x, v]

    return run


def sph(n):
    """Smoothed particles: densities and pressures from all pairs."""
    rng = np.random.default_rng(5)
    start, h = rng.random((n, 2)), 0.1

    def run():
        x, v = start.copy(), np.zeros_like(start)
        for _ in range(3):
            d = x[:, None, :] - x[None, :, :]
            r = np.sqrt((d**2).sum(axis=-1))
            q = np.clip(1.0 - r / h, 0.0, None)
            rho = (4.0 / (np.pi * h**2) * q**3).sum(axis=1) / n
            p = 0.1 * (rho / rho.mean()) ** 2
            with np.errstate(divide="ignore", invalid="ignore"):
                unit = np.where(r[..., None] > 0, d / r[..., None], 0.0)
            push = (p[:, None] + p[None, :]) / (2 * rho[None, :]) * 3 * q**2
            v += 0.001 * (push[..., None] * unit).sum(axis=1) - 0.0005 * v
            x += 0.01 * v
        return [x, rho]

    return run


def boids(n):
    """A flock: cohesion, separation and alignment with those in sight."""
    rng = np.random.default_rng(6)
    x0, v0 = rng.random((n, 2)) * 100, rng.normal(size=(n, 2))

    def run():
        x, v = x0.copy(), v0.copy()
        for _ in range(4):
            away = x[:, None] - x[None, :]
            distance = np.linalg.norm(away, axis=2)
            sees = (distance < 25) & (distance > 0)
            count = np.maximum(sees.sum(axis=1), 1)[:, None]
            center = sees @ x / count - x
            heading = sees @ v / count - v
            close = distance < 5
            avoid = (away * close[:, :, None]).sum(axis=1)
            v = v + 0.01 * center + 0.05 * heading + 0.1 * avoid
            speed = np.hypot(v[:, 0], v[:, 1])
            fast = speed > 2
            v[fast] *= (2 / speed[fast])[:, None]
            x = (x + v) % 100
        return [x, v]

    return run


def great_circles(n):
    """Distances between places on a globe, and each place's nearest."""
    rng = np.random.default_rng(7)
    lat, lon = np.radians(rng.uniform(-90, 90, n)), np.radians(rng.uniform(-180, 180, n))

    def haversine(lat1, lon1, lat2, lon2):
        a = np.sin((lat2 - lat1) / 2) ** 2 + np.cos(lat1) * np.cos(lat2) * np.sin((lon2 - lon1) / 2) ** 2
        return 6371.0 * 2 * np.arcsin(np.sqrt(np.clip(a, 0, 1)))

    def run():
        d = haversine(lat[:, None], lon[:, None], lat, lon)
        np.fill_diagonal(d, np.inf)
        return [d.argmin(axis=1), d.min(axis=1)]

    return run


def galton_board(n):
    """Follow balls through pins one after the other, in histograms."""
    turns = np.random.default_rng(8).random((30, n)) < 0.5

    def run():
        position, spread = np.zeros(n, dtype=int), []
        for turn in turns:
            position += np.where(turn, 1, -1)
            position[position > 12] = 12
            spread.append(np.bincount(position - position.min()).max())
        values, counts = np.unique(position, return_counts=True)
        return [values, counts, np.array(spread)]

    return run


def pendulum_chain(n):
    """Swing pendulums that springs couple, with Verlet's method; their energy over time."""
    theta0 = np.linspace(-1, 1, n) ** 3

    def run():
        theta, omega, dt = theta0.copy(), np.zeros(n), 0.01
        energy = np.empty(20)

        def torque(theta):
            t = -np.sin(theta)
            stretch = np.diff(theta)
            t[:-1] += 4.0 * stretch
            t[1:] -= 4.0 * stretch
            return t

        for step in range(20):
            omega += 0.5 * dt * torque(theta)
            theta += dt * omega
            omega += 0.5 * dt * torque(theta)
            energy[step] = 0.5 * (omega**2).sum() - np.cos(theta).sum() + 2.0 * (np.diff(theta) ** 2).sum()
        return [theta, energy]

    return run


PROGRAMS = {
    lorenz_ensemble: (100, 60_000),
    kuramoto: (40, 700),
    random_walks: (20, 10_000),
    lennard_jones_cells: (72, 7_200),
    sph: (40, 500),
    boids: (40, 500),
    great_circles: (60, 1500),
    galton_board: (200, 100_000),
    pendulum_chain: (200, 100_000),
}
