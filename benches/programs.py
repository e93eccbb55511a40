"""Array programs with which papers measure fusion, as plain NumPy code.

Each program is a function `name(np, n)`, where `np` is the array module and `n` a measure of the size. It
makes the input and returns a function without arguments that runs the program once and returns its results.
`PROGRAMS` lists all of them with two sizes: one that is small enough for tests, and one whose arrays exceed
the caches.
"""

import math

import numpy


def _random(np, seed, *shape):
    return np.array(numpy.random.default_rng(seed).random(shape))


def poly(np, n):
    """Expand (x + y)**2 without expanding it by hand."""
    x, y = _random(np, 1, n), _random(np, 2, n)
    return lambda: x * x + 2 * x * y + y * y


def pythagorean(np, n):
    """Add the squares of sine and cosine."""
    x = _random(np, 1, n)
    return lambda: np.sin(x) ** 2 + np.cos(x) ** 2


def black_scholes(np, n):
    """Price options in closed form, for five maturities."""
    price = 58.0 + 4.0 * _random(np, 1, n)
    strike, rate, volatility = 65.0, 0.08, 0.3

    def normal(x):
        k = 1.0 / (1.0 + 0.2316419 * np.absolute(x))
        poly = (
            0.31938153 * k - 0.356563782 * k**2 + 1.781477937 * k**3 - 1.821255978 * k**4 + 1.330274429 * k**5
        )
        tail = 1.0 - np.exp(-x * x / 2.0) * poly / math.sqrt(2 * math.pi)
        below = x < 0
        return tail * ~below + (1.0 - tail) * below

    def run():
        means = []
        for day in range(1, 6):
            t = day / 365.0
            spread = volatility * math.sqrt(t)
            d1 = (np.log(price / strike) + (rate + volatility**2 / 2.0) * t) / spread
            value = price * normal(d1) - strike * math.exp(-rate * t) * normal(d1 - spread)
            means.append(np.sum(value) / n)
        return [float(mean) for mean in means]

    return run


def heat_equation(np, n):
    """Relax a plate, reading the change after every step."""

    def run():
        grid = np.zeros((n + 2, n + 2))
        grid[:, 0] = grid[:, -1] = grid[-1, :] = -273.15
        grid[0, :] = 40.0
        middle = grid[1:-1, 1:-1]
        for _ in range(3):
            new = 0.2 * (middle + grid[:-2, 1:-1] + grid[2:, 1:-1] + grid[1:-1, :-2] + grid[1:-1, 2:])
            change = float(np.sum(np.abs(new - middle)))
            middle[:] = new
            if change < 1e-12:
                break
        return grid

    return run


def shallow_water(np, n):
    """Let a block of water fall into a basin: two half steps and a full one (Lax and Wendroff)."""
    g, dt = 9.8, 0.02

    def run():
        h, u, v = np.ones((n + 2, n + 2)), np.zeros((n + 2, n + 2)), np.zeros((n + 2, n + 2))
        h[n // 4 : n // 2, n // 4 : n // 2] += 0.5
        for _ in range(2):
            for field, x_sign, y_sign in ((h, 1, 1), (u, -1, 1), (v, 1, -1)):
                field[:, 0], field[:, -1] = y_sign * field[:, 1], y_sign * field[:, -2]
                field[0, :], field[-1, :] = x_sign * field[1, :], x_sign * field[-2, :]
            down, up = (slice(None, -1), slice(1, -1)), (slice(1, None), slice(1, -1))
            left, right = (slice(1, -1), slice(None, -1)), (slice(1, -1), slice(1, None))

            def along(q, p, s):
                return q[s] ** 2 / p[s] + g / 2 * p[s] ** 2

            def across(q, r, p, s):
                return q[s] * r[s] / p[s]

            def half(q, a, b, fa, fb):
                return (q[b] + q[a]) / 2 - dt / 2 * (fb - fa)

            hx = half(h, down, up, u[down], u[up])
            ux = half(u, down, up, along(u, h, down), along(u, h, up))
            vx = half(v, down, up, across(u, v, h, down), across(u, v, h, up))
            hy = half(h, left, right, v[left], v[right])
            uy = half(u, left, right, across(v, u, h, left), across(v, u, h, right))
            vy = half(v, left, right, along(v, h, left), along(v, h, right))
            x0, x1 = (slice(None, -1),), (slice(1, None),)
            y0, y1 = (slice(None), slice(None, -1)), (slice(None), slice(1, None))
            inner = (slice(1, -1), slice(1, -1))
            h[inner] -= dt * (ux[x1] - ux[x0]) + dt * (vy[y1] - vy[y0])
            u[inner] -= dt * (along(ux, hx, x1) - along(ux, hx, x0)) + dt * (
                across(vy, uy, hy, y1) - across(vy, uy, hy, y0)
            )
            v[inner] -= dt * (across(ux, vx, hx, x1) - across(ux, vx, hx, x0)) + dt * (
                along(vy, hy, y1) - along(vy, hy, y0)
            )
        return h

    return run


def nbody(np, n):
    """Move bodies by the attraction of all others, from tables of all pairs."""
    mass, *start = (_random(np, seed, n) for seed in range(1, 5))

    def run():
        place = [s.copy() for s in start]
        speed = [np.zeros(n) for _ in start]
        for _ in range(2):
            apart = [p[None, :] - p[:, None] for p in place]
            pull = mass[None, :] * (apart[0] ** 2 + apart[1] ** 2 + apart[2] ** 2 + 1e-3) ** -1.5
            for v, d in zip(speed, apart, strict=True):
                v += 0.01 * np.sum(pull * d, axis=1)
            for p, v in zip(place, speed, strict=True):
                p += 0.01 * v
        return place[0] + place[1] + place[2]

    return run


def nbody_nice(np, n):
    """Move many asteroids by the attraction of a few planets, which do not feel them."""
    planets = 8
    mass, *at = (_random(np, seed, planets) for seed in range(1, 5))
    start = [_random(np, seed, n) for seed in range(5, 8)]

    def run():
        place = [s.copy() for s in start]
        speed = [np.zeros(n) for _ in start]
        for _ in range(2):
            apart = [a[:, None] - p[None, :] for a, p in zip(at, place, strict=True)]
            pull = mass[:, None] / np.sqrt(apart[0] ** 2 + apart[1] ** 2 + apart[2] ** 2 + 1e-3) ** 3
            for v, d in zip(speed, apart, strict=True):
                v += 0.01 * np.sum(pull * d, axis=0)
            for p, v in zip(place, speed, strict=True):
                p += 0.01 * v
        return place[0] + place[1] + place[2]

    return run


def game_of_life(np, n):
    """Count neighbours, then decide who lives."""
    world = np.array((numpy.random.default_rng(1).random((n + 2, n + 2)) < 0.3).astype("int64"))

    def run():
        w = world.copy()
        cells = w[1:-1, 1:-1]
        for _ in range(3):
            around = w[:-2, :-2] + w[:-2, 1:-1] + w[:-2, 2:] + w[1:-1, :-2] + w[1:-1, 2:]
            around = around + w[2:, :-2] + w[2:, 1:-1] + w[2:, 2:]
            cells[:] = (around == 3) | ((cells == 1) & (around == 2))
        return w

    return run


def leibnitz_pi(np, n):
    """Sum the series of pi, two terms at a time."""

    def run():
        k = np.arange(n, dtype=np.float64)
        return 4.0 * float(np.sum(1.0 / (4 * k + 1) - 1.0 / (4 * k + 3)))

    return run


def monte_carlo_pi(np, n):
    """Count random points in a quarter of a disc."""

    def run():
        rng = np.random.default_rng(3)
        x, y = rng.random(n), rng.random(n)
        return 4.0 * float(np.sum(x * x + y * y <= 1.0)) / n

    return run


def rosenbrock(np, n):
    """Evaluate Rosenbrock's function of many variables."""
    x = np.arange(n, dtype=np.float64) / n
    return lambda: float(np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2))


def stencil27(np, n):
    """Average each cell of a cube with its 26 neighbours."""
    cube = np.ones((n + 2, n + 2, n + 2))
    cube[0] = 0.0
    parts = (slice(None, -2), slice(1, -1), slice(2, None))

    def run():
        w = cube.copy()
        for _ in range(2):
            total = 0
            for i in parts:
                for j in parts:
                    for k in parts:
                        total = total + w[i, j, k]
            w[1:-1, 1:-1, 1:-1] = total / 27.0
        return w

    return run


def sor(np, n):
    """Over-relax the cells of each colour in turn."""

    def run():
        g = np.zeros((n + 2, n + 2))
        g[0, :] = 40.0
        g[:, 0] = -273.15
        for _ in range(2):
            for r, c in ((1, 1), (2, 2), (1, 2), (2, 1)):
                own = g[r:-1:2, c:-1:2]
                around = g[r - 1 : -2 : 2, c:-1:2] + g[r + 1 :: 2, c:-1:2]
                around = around + g[r:-1:2, c - 1 : -2 : 2] + g[r:-1:2, c + 1 :: 2]
                own[:] = own + 1.5 * (0.25 * around - own)
        return g

    return run


def gauss(np, n):
    """Eliminate below the diagonal, one column at a time."""
    start = _random(np, 4, n, n) + n * np.eye(n)

    def run():
        a = start.copy()
        for c in range(1, n):
            a[c:, c - 1 :] -= (a[c:, c - 1] / a[c - 1, c - 1 : c])[:, None] * a[c - 1, c - 1 :]
        a /= np.diagonal(a)[:, None]
        return a

    return run


def lu(np, n):
    """Factorize a matrix and multiply the factors again."""
    start = _random(np, 5, n, n) + n * np.eye(n)

    def run():
        upper, lower = start.copy(), np.eye(n)
        for c in range(1, n):
            lower[c:, c - 1] = upper[c:, c - 1] / upper[c - 1, c - 1 : c]
            upper[c:, c - 1 :] -= lower[c:, c - 1][:, None] * upper[c - 1, c - 1 :]
        return lower @ upper

    return run


def kmeans(np, n):
    """Assign points to the nearest of five centres and move those to the means."""
    points, k = _random(np, 6, n, 8), 5

    def run():
        centres = points[:k].copy()
        for _ in range(2):
            away = np.sum((points[:, None, :] - centres[None, :, :]) ** 2, axis=2)
            nearest = np.argmin(away, axis=1)
            centres = np.stack([points[nearest == j].mean(axis=0) for j in range(k)])
        return centres

    return run


def knn(np, n):
    """Find how far away the nearest point is."""
    points, queries = _random(np, 7, n, 3), _random(np, 8, 50, 3)
    return lambda: np.sqrt(np.min(np.sum((queries[:, None, :] - points[None, :, :]) ** 2, axis=2), axis=1))


def rnn(np, n):
    """Run a recurrent network forwards."""
    batch, steps = 16, 4
    wx, wh = 0.05 * _random(np, 9, n, n), 0.05 * _random(np, 10, n, n)
    inputs = _random(np, 11, steps, batch, n)

    def run():
        state = np.zeros((batch, n))
        for x in inputs:
            state = np.tanh(x @ wx + state @ wh + 0.1)
        return 1.0 / (1.0 + np.exp(-state))

    return run


def snakes_and_ladders(np, n):
    """Raise a matrix of transitions to a power."""
    p = _random(np, 12, n, n)
    p = p / p.sum(axis=1, keepdims=True)

    def run():
        q = p
        for _ in range(3):
            q = np.dot(q, p)
        return q

    return run


def lattice_boltzmann(np, n):
    """Collide and stream nine populations on a torus."""
    cx, cy = (0, 1, 0, -1, 0, 1, -1, -1, 1), (0, 0, 1, 0, -1, 1, 1, -1, -1)
    weights = (4 / 9,) + (1 / 9,) * 4 + (1 / 36,) * 4
    start = 0.01 * _random(np, 13, 9, n, n) + 1.0 / 9

    def run():
        f = start.copy()
        for _ in range(2):
            rho = np.sum(f, axis=0)
            ux = (f[1] + f[5] + f[8] - f[3] - f[6] - f[7]) / rho
            uy = (f[2] + f[5] + f[6] - f[4] - f[7] - f[8]) / rho
            square = 1.5 * (ux**2 + uy**2)
            new = np.empty_like(f)
            for i in range(9):
                along = 3.0 * (cx[i] * ux + cy[i] * uy)
                rest = weights[i] * rho * (1.0 + along + 0.5 * along**2 - square)
                new[i] = np.roll(np.roll(f[i] - 0.6 * (f[i] - rest), cx[i], axis=0), cy[i], axis=1)
            f = new
        return f

    return run


def softmax_rows(np, n):
    """Normalize the exponentials of each row."""
    x = _random(np, 14, n, 300)

    def run():
        e = np.exp(x - np.max(x, axis=1, keepdims=True))
        return e / np.sum(e, axis=1, keepdims=True)

    return run


def moments(np, n):
    """Describe a sample: mean, deviation, extremes, skewness."""
    x = _random(np, 15, n)

    def run():
        mean, deviation = np.mean(x), np.std(x)
        skew = np.sum(((x - mean) / deviation) ** 3) / n
        return [float(part) for part in (mean, deviation, np.min(x), np.max(x), skew)]

    return run


# function: (size for tests, size for measurements)
PROGRAMS = {
    poly: (100_000, 4_000_000),
    pythagorean: (100_000, 2_000_000),
    black_scholes: (50_000, 1_000_000),
    heat_equation: (300, 2000),
    shallow_water: (200, 1200),
    nbody: (300, 1500),
    nbody_nice: (20_000, 500_000),
    game_of_life: (250, 2000),
    leibnitz_pi: (100_000, 5_000_000),
    monte_carlo_pi: (100_000, 3_000_000),
    rosenbrock: (100_000, 5_000_000),
    stencil27: (40, 120),
    sor: (300, 2000),
    gauss: (24, 300),
    lu: (24, 300),
    kmeans: (5_000, 100_000),
    knn: (5_000, 20_000),
    rnn: (128, 512),
    snakes_and_ladders: (100, 600),
    lattice_boltzmann: (150, 700),
    softmax_rows: (300, 4000),
    moments: (100_000, 5_000_000),
}
