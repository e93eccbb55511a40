"""Programs of many steps on arrays of few elements: estimation, sampling, control, learning.

The second size of each program is also a number of steps; the arrays never become larger.
"""

import math

import numpy as np


def ensemble_sampler(n):
    """An affine-invariant ensemble sampler: 64 walkers in five dimensions, moved by halves."""
    walkers, dim = 64, 5
    rng = np.random.default_rng(1)
    half = rng.normal(size=(dim, dim))
    inverse = np.linalg.inv(half @ half.T + np.eye(dim))
    centre = rng.normal(size=dim)

    def log_probability(p):
        if np.any(np.isinf(p)):
            raise ValueError("a parameter is infinite")
        if np.any(np.isnan(p)):
            raise ValueError("a parameter is no number")
        shifted = p - centre
        found = -0.5 * np.einsum("ij,jk,ik->i", shifted, inverse, shifted)
        outside = np.any(np.abs(p) > 50.0, axis=1)
        found[outside] = -np.inf
        return found

    def run():
        draw = np.random.default_rng(2)
        coords = 0.1 * draw.normal(size=(walkers, dim))
        log_probs = log_probability(coords)
        accepted = np.zeros(walkers)
        chain = np.empty((n, walkers, dim))
        for step in range(n):
            inds = np.arange(walkers) % 2
            draw.shuffle(inds)
            for split in range(2):
                mine = inds == split
                s, c = coords[mine], coords[~mine]
                ns, nc = len(s), len(c)
                zz = ((2.0 - 1.0) * draw.random(ns) + 1) ** 2.0 / 2.0
                factors = (dim - 1.0) * np.log(zz)
                picked = draw.integers(nc, size=ns)
                q = c[picked] - (c[picked] - s) * zz[:, None]
                new = log_probability(q)
                difference = factors + new - log_probs[mine]
                accept = np.log(draw.random(ns)) < difference
                moved = np.nonzero(mine)[0][accept]
                coords[moved] = q[accept]
                log_probs[moved] = new[accept]
                accepted[moved] += 1
            chain[step] = coords
        return [chain[-1], log_probs, accepted / n, chain.mean(axis=(0, 1))]

    return run


def boltzmann_machine(n):
    """A restricted Boltzmann machine, trained by contrastive divergence on batches of ten."""
    visible, hidden, batch = 40, 12, 10
    rng = np.random.default_rng(3)
    data = (rng.random((20 * batch, visible)) < 0.3).astype(float)

    def sigmoid(x):
        return 1.0 / (1.0 + np.exp(-x))

    def run():
        draw = np.random.default_rng(4)
        w = 0.1 * draw.normal(size=(visible, hidden))
        a, b = np.zeros(visible), np.zeros(hidden)
        speed, errors = np.zeros_like(w), []
        for step in range(n):
            at = step % 20 * batch
            v0 = data[at : at + batch]
            h0 = sigmoid(np.dot(v0, w) + b)
            states = h0 > draw.random((batch, hidden))
            positive = np.dot(v0.T, h0)
            v1 = sigmoid(np.dot(states, w.T) + a)
            h1 = sigmoid(np.dot(v1, w) + b)
            negative = np.dot(v1.T, h1)
            speed = 0.5 * speed + 0.1 * ((positive - negative) / batch - 1e-4 * w)
            w += speed
            a += 0.1 * np.mean(v0 - v1, axis=0)
            b += 0.1 * np.mean(h0 - h1, axis=0)
            errors.append(np.sum((v0 - v1) ** 2))
        return [w, a, b, np.array(errors)]

    return run


def kalman_matrices(n):
    """Filters of one-dimensional motion by matrices of 2 x 2, and the smoother that runs back."""
    rng = np.random.default_rng(5)
    measured = np.cumsum(rng.normal(size=n)) + rng.normal(size=n)

    def run():
        F = np.array([[1.0, 0.1], [0.0, 1.0]])
        H = np.array([[1.0, 0.0]])
        Q, R = np.array([[0.01, 0.0], [0.0, 0.1]]), np.array([[1.0]])
        x, P = np.zeros((2, 1)), np.eye(2) * 10.0
        states, covariances = np.zeros((n, 2, 1)), np.zeros((n, 2, 2))
        likelihood = 0.0
        for step in range(n):
            x = np.dot(F, x)
            P = np.dot(F, P).dot(F.T) + Q
            y = measured[step] - np.dot(H, x)
            S = np.dot(H, P).dot(H.T) + R
            K = np.dot(P, H.T).dot(np.linalg.inv(S))
            x = x + np.dot(K, y)
            left = np.eye(2) - np.dot(K, H)
            P = np.dot(left, P).dot(left.T) + np.dot(K, R).dot(K.T)
            likelihood -= 0.5 * (math.log(2 * math.pi * S[0, 0]) + float(y[0, 0]) ** 2 / S[0, 0])
            states[step], covariances[step] = x, P
        smooth = states.copy()
        for step in range(n - 2, -1, -1):
            ahead = F @ covariances[step] @ F.T + Q
            gain = covariances[step] @ F.T @ np.linalg.inv(ahead)
            smooth[step] += gain @ (smooth[step + 1] - F @ states[step])
        return [states, covariances, smooth, likelihood]

    return run


def mixture_of_few(n):
    """Expectation and maximization for a mixture of three Gaussians in two dimensions, of 120 points."""
    rng = np.random.default_rng(6)
    points = rng.normal(size=(120, 2)) + 3.0 * rng.integers(0, 3, 120)[:, None]

    def density(mean, cov):
        shifted = points - mean
        inverse = np.linalg.inv(cov)
        norm = 1.0 / (2 * np.pi * np.sqrt(np.linalg.det(cov)))
        return norm * np.exp(-0.5 * np.sum(shifted @ inverse * shifted, axis=1))

    def run():
        means = points[[0, 40, 80]].copy()
        covs, weights = [np.eye(2) for _ in range(3)], np.full(3, 1 / 3)
        likelihoods = []
        for _ in range(n):
            parts = np.zeros((len(points), 3))
            for k in range(3):
                parts[:, k] = weights[k] * density(means[k], covs[k])
            total = parts.sum(axis=1)
            likelihoods.append(np.sum(np.log(total)))
            parts /= total[:, None]
            counts = parts.sum(axis=0)
            for k in range(3):
                means[k] = np.sum(parts[:, k, None] * points, axis=0) / counts[k]
                shifted = points - means[k]
                covs[k] = (parts[:, k, None] * shifted).T @ shifted / counts[k] + 1e-6 * np.eye(2)
            weights = counts / len(points)
        return [means, np.array(covs), weights, np.array(likelihoods)]

    return run


def temporal_differences(n):
    """Learning from rewards on a grid with cliffs: a table of values, and one of features with traces."""

    def run():
        draw = np.random.default_rng(7)
        values = np.zeros((4, 12, 4))
        weights, trace = np.zeros(16), np.zeros(16)
        centres = np.linspace(0.0, 1.0, 16)
        gained, row, column = 0.0, 3, 0
        for _ in range(n):
            if draw.random() < 0.1:
                action = int(draw.integers(4))
            else:
                best = values[row, column]
                action = int(draw.choice(np.flatnonzero(best == best.max())))
            r = min(max(row + (-1, 1, 0, 0)[action], 0), 3)
            c = min(max(column + (0, 0, -1, 1)[action], 0), 11)
            reward = -1.0
            if r == 3 and 0 < c < 11:
                reward, r, c = -100.0, 3, 0
            target = reward + 0.95 * np.max(values[r, c])
            values[row, column, action] += 0.5 * (target - values[row, column, action])
            now = np.exp(-50.0 * (centres - column / 11) ** 2)
            then = np.exp(-50.0 * (centres - c / 11) ** 2)
            delta = reward + 0.95 * np.dot(weights, then) - np.dot(weights, now)
            trace = 0.95 * 0.8 * trace + now
            weights += 0.01 * delta * trace
            gained += reward
            row, column = (3, 0) if (r, c) == (3, 11) else (r, c)
        return [values, weights, gained]

    return run


def course(n):
    """A winding road: positions, headings and curvatures."""
    along = np.linspace(0.0, 40.0, n)
    x, y = along, 3.0 * np.sin(along / 4.0)
    dx, dy = np.gradient(x), np.gradient(y)
    heading = np.arctan2(dy, dx)
    curvature = (dx * np.gradient(dy) - dy * np.gradient(dx)) / (dx**2 + dy**2) ** 1.5
    return x, y, heading, curvature


def front_wheel_controller(n):
    """Steering along a road by the error of the front axle, one step after the other."""
    cx, cy, heading, _ = course(200)

    def turned(angle):
        return (angle + np.pi) % (2 * np.pi) - np.pi

    def run():
        x, y, yaw, speed, last = 0.0, 1.0, 0.1, 2.0, 0
        path = []
        for _ in range(n):
            fx, fy = x + 2.9 * np.cos(yaw), y + 2.9 * np.sin(yaw)
            dx, dy = [fx - icx for icx in cx[last : last + 10]], [fy - icy for icy in cy[last : last + 10]]
            d = np.hypot(dx, dy)
            nearest = int(np.argmin(d))
            across = [-np.cos(yaw + np.pi / 2), -np.sin(yaw + np.pi / 2)]
            error = np.dot([dx[nearest], dy[nearest]], across)
            last = min(last + nearest, len(cx) - 20)
            steer = turned(heading[last] - yaw) + np.arctan2(0.5 * error, speed)
            steer = np.clip(steer, -0.5, 0.5)
            x += speed * np.cos(yaw) * 0.1
            y += speed * np.sin(yaw) * 0.1
            yaw = turned(yaw + speed / 2.9 * np.tan(steer) * 0.1)
            speed += 0.1 * (3.0 - speed)
            if last >= len(cx) - 21:
                x, y, yaw, last = 0.0, 1.0, 0.1, 0
            path.append((x, y, yaw, speed))
        return np.array(path)

    return run


def quadratic_regulator(n):
    """Steering by a linear quadratic regulator, whose Riccati equation is solved in each step."""
    cx, cy, heading, curvature = course(300)

    def riccati(A, B, Q, R):
        X = Q
        for _ in range(20):
            Xn = A.T @ X @ A - A.T @ X @ B @ np.linalg.inv(R + B.T @ X @ B) @ B.T @ X @ A + Q
            if (abs(Xn - X)).max() < 0.01:
                break
            X = Xn
        return np.linalg.inv(B.T @ Xn @ B + R) @ (B.T @ Xn @ A)

    def run():
        x, y, yaw, speed, e_before, th_before, path = 0.0, 0.5, 0.1, 3.0, 0.0, 0.0, []
        for _ in range(n):
            d = [(x - icx) ** 2 + (y - icy) ** 2 for icx, icy in zip(cx[:280:8], cy[:280:8], strict=True)]
            at = 8 * d.index(min(d))
            e = float(np.sqrt(min(d)))
            angle = (heading[at] - np.arctan2(cy[at] - y, cx[at] - x) + np.pi) % (2 * np.pi) - np.pi
            e = -e if angle < 0 else e
            th_e = (yaw - heading[at] + np.pi) % (2 * np.pi) - np.pi
            A = np.zeros((4, 4))
            A[0, 0] = 1.0
            A[0, 1] = 0.1
            A[1, 2] = speed
            A[2, 2] = 1.0
            A[2, 3] = 0.1
            B = np.zeros((4, 1))
            B[3, 0] = speed / 2.9
            K = riccati(A, B, np.eye(4), np.eye(1))
            state = np.zeros((4, 1))
            state[0, 0], state[1, 0] = e, (e - e_before) / 0.1
            state[2, 0], state[3, 0] = th_e, (th_e - th_before) / 0.1
            feedback = (-K @ state)[0, 0]
            steer = np.clip(math.atan2(2.9 * curvature[at], 1) + feedback, -0.6, 0.6)
            x, y = x + speed * math.cos(yaw) * 0.1, y + speed * math.sin(yaw) * 0.1
            yaw = yaw + speed / 2.9 * math.tan(steer) * 0.1
            e_before, th_before = e, th_e
            if x > 36:
                x, y, yaw = 0.0, 0.5, 0.1
            path.append((x, y, yaw, float(feedback)))
        return np.array(path)

    return run


def nested_loops(n):
    """Loops over elements, as a first version has them: a table of costs, and heat on a plate."""
    rng = np.random.default_rng(8)
    cost, start = rng.random((n, 12)), rng.random((n, 12))

    def run():
        best = np.zeros((n, 12))
        best[0] = cost[0]
        for i in range(1, n):
            for j in range(12):
                low, high = max(j - 1, 0), min(j + 2, 12)
                best[i, j] = cost[i, j] + np.min(best[i - 1, low:high])
        u, v = start.copy(), start.copy()
        for i in range(1, n - 1):
            for j in range(1, 11):
                v[i, j] = u[i, j] + 0.2 * (
                    u[i + 1, j] + u[i - 1, j] + u[i, j + 1] + u[i, j - 1] - 4 * u[i, j]
                )
        return [best, v]

    return run


PROGRAMS = {
    ensemble_sampler: (20, 1000),
    boltzmann_machine: (20, 1000),
    kalman_matrices: (20, 2500),
    mixture_of_few: (10, 1000),
    temporal_differences: (40, 8000),
    front_wheel_controller: (20, 4000),
    quadratic_regulator: (10, 500),
    nested_loops: (12, 2500),
}
