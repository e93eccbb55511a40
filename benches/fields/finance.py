"""Markets, and a few of the sky and the earth."""

import numpy as np


def garch(n):
    """The likelihood of a GARCH model over a small grid of parameters."""
    returns = np.random.default_rng(1).normal(0, 0.01, n)

    def likelihood(omega, alpha, beta):
        variance = np.empty(n)
        variance[0] = returns.var()
        for t in range(1, n):
            variance[t] = omega + alpha * returns[t - 1] ** 2 + beta * variance[t - 1]
        return -0.5 * np.sum(np.log(2 * np.pi * variance) + returns**2 / variance)

    def run():
        grid = [(1e-6, a, b) for a in (0.05, 0.1) for b in (0.8, 0.85)]
        values = np.array([likelihood(*parameters) for parameters in grid])
        return [values, grid[int(np.argmax(values))]]

    return run


def option_tree(n):
    """An American put on a binomial tree."""

    def run():
        dt = 1.0 / n
        up = np.exp(0.2 * np.sqrt(dt))
        p = (np.exp(0.03 * dt) - 1 / up) / (up - 1 / up)
        prices = 100.0 * up ** np.arange(n, -n - 1, -2)
        value = np.maximum(105.0 - prices, 0)
        for _ in range(n):
            prices = prices[:-1] / up
            value = np.exp(-0.03 * dt) * (p * value[:-1] + (1 - p) * value[1:])
            value = np.maximum(value, 105.0 - prices)
        return float(value[0])

    return run


def back_test(n):
    """Cross two moving averages, hold what goes up, and pay for trades."""
    rng = np.random.default_rng(3)
    prices = 100 * np.exp(np.cumsum(rng.normal(0.0002, 0.01, (n, 4)), axis=0))

    def average(x, width):
        sums = np.cumsum(np.vstack([np.zeros(x.shape[1]), x]), axis=0)
        return (sums[width:] - sums[:-width]) / width

    def run():
        fast, slow = average(prices, 5)[15:], average(prices, 20)
        hold = (fast > slow).astype(float)
        weights = hold / np.maximum(hold.sum(axis=1, keepdims=True), 1)
        returns = np.diff(prices[19:], axis=0) / prices[19:-1]
        gains = (weights[:-1] * returns).sum(1) - 0.0005 * np.abs(np.diff(weights, axis=0)).sum(1)
        wealth = np.cumprod(1 + gains)
        fall = (1 - wealth / np.maximum.accumulate(wealth)).max()
        months = np.array_split(gains, 12)
        return [wealth, fall, gains.mean() / gains.std() * np.sqrt(252), np.array([m.sum() for m in months])]

    return run


def risk(n):
    """Value at risk, the frontier of three assets, and prices of bonds."""
    rng = np.random.default_rng(4)
    returns = rng.multivariate_normal([0.01, 0.02, 0.015], np.diag([0.01, 0.04, 0.02]), n)

    def run():
        mean, cov = returns.mean(axis=0), np.cov(returns, rowvar=False)
        weights = np.linalg.solve(cov, mean)
        weights /= weights.sum()
        loss = -np.sort(returns @ weights)
        worst = np.quantile(loss, 0.95)
        times = np.arange(1, 21) / 2
        yields = np.linspace(0.01, 0.08, 15)
        bonds = np.array([np.sum(2.5 * np.exp(-y * times)) + 100 * np.exp(-y * times[-1]) for y in yields])
        duration = -np.gradient(bonds, yields) / bonds
        return [weights, worst, loss[loss >= worst].mean(), bonds, duration, np.polyfit(yields, bonds, 2)]

    return run


def distances(n):
    """Distances between towns on the sphere, and the next of each."""
    rng = np.random.default_rng(5)
    latitude, longitude = rng.uniform(-60, 60, n), rng.uniform(-180, 180, n)

    def run():
        phi, lam = np.radians(latitude), np.radians(longitude)
        a = np.sin((phi[:, None] - phi) / 2) ** 2
        a = a + np.cos(phi)[:, None] * np.cos(phi) * np.sin((lam[:, None] - lam) / 2) ** 2
        distance = 2 * 6371 * np.arcsin(np.sqrt(a))
        np.fill_diagonal(distance, np.inf)
        return [distance.argmin(axis=1), distance.min(axis=1), np.median(distance[np.isfinite(distance)])]

    return run


def kepler(n):
    """Solve Kepler's equation by Newton steps on what has not converged, and place the planets."""
    rng = np.random.default_rng(6)
    mean, e = rng.uniform(0, 2 * np.pi, n), rng.uniform(0, 0.9, n)

    def run():
        anomaly = np.where(e < 0.8, mean, np.pi)
        active = np.ones(n, bool)
        for _ in range(30):
            E = anomaly[active]
            step = (E - e[active] * np.sin(E) - mean[active]) / (1 - e[active] * np.cos(E))
            anomaly[active] = E - step
            active[active] = np.abs(step) > 1e-10
            if not active.any():
                break
        x, y = np.cos(anomaly) - e, np.sqrt(1 - e**2) * np.sin(anomaly)
        return [x, y, np.mod(np.arctan2(y, x), 2 * np.pi)]

    return run


def curves(n):
    """Fit splines and polynomials by least squares, and find their roots."""
    x = np.linspace(-1, 1, n)
    y = np.sin(4 * x) + np.random.default_rng(7).normal(0, 0.05, n)

    def run():
        coefficients = np.polynomial.chebyshev.chebfit(x, y, 7)
        p = np.poly1d(np.polyfit(x, y, 5))
        roots = p.roots
        real = np.sort(roots[np.abs(roots.imag) < 1e-9].real)
        knots = np.linspace(-0.8, 0.8, 5)
        basis = np.column_stack([x**k for k in range(4)] + [np.maximum(x - t, 0) ** 3 for t in knots])
        solution, *_ = np.linalg.lstsq(basis, y, rcond=None)
        steps = np.piecewise(x, [x < -0.5, x > 0.5], [-1.0, 1.0, lambda v: 2 * v])
        return [coefficients, p(x), real, basis @ solution, np.trapezoid(y * steps, x)]

    return run


PROGRAMS = {
    garch: (60, 30_000),
    option_tree: (30, 3000),
    back_test: (100, 400_000),
    risk: (200, 1_000_000),
    distances: (30, 1200),
    kepler: (200, 500_000),
    curves: (60, 100_000),
}
