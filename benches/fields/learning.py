"""Machine learning and statistics."""

import numpy as np


def clusters(n, features=4, seed=1):
    """Points around three centres, with labels."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, n)
    return rng.normal(size=(n, features)) + 2.0 * labels[:, None], labels


def markov(n):
    """Forward probabilities and the best path of a hidden Markov model."""
    rng = np.random.default_rng(1)
    A, B = rng.dirichlet(np.ones(4), 4), rng.dirichlet(np.ones(6), 4)
    seen = rng.integers(0, 6, n)

    def run():
        alpha, likelihood = np.full(4, 0.25) * B[:, seen[0]], 0.0
        delta, back = np.log(alpha), np.zeros((n, 4), int)
        for t in range(1, n):
            alpha = (alpha @ A) * B[:, seen[t]]
            total = alpha.sum()
            alpha /= total
            likelihood += np.log(total)
            scores = delta[:, None] + np.log(A)
            back[t] = np.argmax(scores, axis=0)
            delta = scores.max(axis=0) + np.log(B[:, seen[t]])
        path = [int(np.argmax(delta))]
        for t in range(n - 1, 0, -1):
            path.append(int(back[t, path[-1]]))
        return [alpha, likelihood, path[::-1]]

    return run


def pca(n):
    """Whiten, take the main axes by the singular values, and rebuild."""
    x, _ = clusters(n, 8)

    def run():
        centred = (x - x.mean(axis=0)) / x.std(axis=0, ddof=1)
        _, s, vt = np.linalg.svd(centred, full_matrices=False)
        vt *= np.sign(vt[np.arange(len(vt)), np.abs(vt).argmax(axis=1)])[:, None]
        explained = np.cumsum(s**2) / np.sum(s**2)
        k = int(np.searchsorted(explained, 0.9)) + 1
        rebuilt = centred @ vt[:k].T @ vt[:k]
        return [explained, np.abs(rebuilt - centred).mean(axis=0)]

    return run


def logistic(n):
    """Logistic regression by gradient steps in batches."""
    x, labels = clusters(n, 5)
    y = (labels > 0).astype(float)

    def sigmoid(z):
        return np.where(z >= 0, 1 / (1 + np.exp(-np.abs(z))), np.exp(-np.abs(z)) / (1 + np.exp(-np.abs(z))))

    def run():
        rng = np.random.default_rng(2)
        w, bias = np.zeros(5), 0.0
        for _ in range(3):
            order = rng.permutation(n)
            for batch in np.array_split(order, 6):
                error = sigmoid(x[batch] @ w + bias) - y[batch]
                w -= 0.5 * (x[batch].T @ error / len(batch) + 0.01 * w)
                bias -= 0.5 * error.mean()
        p = np.clip(sigmoid(x @ w + bias), 1e-12, 1 - 1e-12)
        return [w, bias, -np.mean(y * np.log(p) + (1 - y) * np.log(1 - p)), np.mean((p > 0.5) == y)]

    return run


def mixture(n):
    """Expectation and maximization of a mixture of three Gaussians."""
    x, _ = clusters(n, 3)

    def run():
        means, covariances, weights = x[:3].copy(), np.stack([np.eye(3)] * 3), np.ones(3) / 3
        for _ in range(4):
            logs = np.empty((len(x), 3))
            for k in range(3):
                d = x - means[k]
                _, size = np.linalg.slogdet(covariances[k])
                distance = np.einsum("ij,jk,ik->i", d, np.linalg.inv(covariances[k]), d)
                logs[:, k] = np.log(weights[k]) - 0.5 * (distance + size + 3 * np.log(2 * np.pi))
            top = logs.max(axis=1, keepdims=True)
            share = np.exp(logs - top)
            share /= share.sum(axis=1, keepdims=True)
            counts = share.sum(axis=0)
            means = share.T @ x / counts[:, None]
            for k in range(3):
                d = x - means[k]
                covariances[k] = (share[:, k, None] * d).T @ d / counts[k] + 1e-6 * np.eye(3)
            weights = counts / len(x)
        return [means, covariances, weights]

    return run


def naive_bayes(n):
    """Fit a naive Bayes classifier, and tell how often it confuses what."""
    x, labels = clusters(n)

    def run():
        classes = np.unique(labels)
        mean = np.array([x[labels == c].mean(axis=0) for c in classes])
        spread = np.array([x[labels == c].var(axis=0) for c in classes]) + 1e-9
        prior = np.log(np.bincount(labels) / len(labels))
        logs = (
            -0.5 * (np.log(2 * np.pi * spread).sum(1) + ((x[:, None] - mean) ** 2 / spread).sum(-1)) + prior
        )
        guess = classes[np.argmax(logs, axis=1)]
        confusion = np.zeros((3, 3), int)
        np.add.at(confusion, (labels, guess), 1)
        precision = np.diag(confusion) / np.maximum(confusion.sum(axis=0), 1)
        return [confusion, precision, (guess == labels).mean()]

    return run


def stump(n):
    """AdaBoost with decision stumps."""
    x, labels = clusters(n)
    y = np.where(labels > 0, 1, -1)

    def best(weights):
        found = (np.inf, 0, 0.0)
        for j in range(x.shape[1]):
            order = np.argsort(x[:, j])
            left = np.cumsum((weights * y)[order])
            error = weights[y == -1].sum() + left
            i = np.argmin(error)
            if error[i] < found[0]:
                found = (error[i], j, x[order[i], j])
        return found

    def run():
        weights, score = np.full(n, 1 / n), np.zeros(n)
        for _ in range(5):
            error, j, cut = best(weights)
            error = min(max(error, 1e-9), 1 - 1e-9)
            alpha = 0.5 * np.log((1 - error) / error)
            guess = np.where(x[:, j] > cut, 1, -1)
            score += alpha * guess
            weights *= np.exp(-alpha * y * guess)
            weights /= weights.sum()
        return [score, (np.sign(score) == y).mean()]

    return run


def tsne(n):
    """A few steps of t-SNE with given affinities."""
    x, _ = clusters(n)

    def run():
        squares = (x**2).sum(1)
        distance = squares[:, None] + squares - 2 * x @ x.T
        p = np.exp(-distance / distance.mean())
        np.fill_diagonal(p, 0)
        p = np.maximum((p + p.T) / (2 * p.sum()), 1e-12)
        place, speed = x[:, :2] * 1e-2, np.zeros((n, 2))
        for _ in range(5):
            s = (place**2).sum(1)
            near = 1 / (1 + s[:, None] + s - 2 * place @ place.T)
            near[np.arange(n), np.arange(n)] = 0
            q = np.maximum(near / near.sum(), 1e-12)
            pull = (p - q) * near
            gradient = 4 * (pull.sum(1)[:, None] * place - pull @ place)
            speed = 0.8 * speed - 10 * gradient
            place = place + speed
            place -= place.mean(axis=0)
        return [place, np.sum(p * np.log(p / q))]

    return run


def neighbours(n):
    """Classify by the five nearest, with leave-one-out."""
    x, labels = clusters(n)

    def run():
        distance = np.sqrt(((x[:, None] - x[None]) ** 2).sum(-1))
        np.fill_diagonal(distance, np.inf)
        near = np.argpartition(distance, 5, axis=1)[:, :5]
        votes = np.apply_along_axis(np.bincount, 1, labels[near], minlength=3)
        return [votes, (votes.argmax(1) == labels).mean()]

    return run


def page_rank(n):
    """Rank pages by power iteration, and find how far they are by breadth-first search."""
    rng = np.random.default_rng(9)
    links = rng.random((n, n)) < 4 / n
    np.fill_diagonal(links, False)

    def run():
        out = links.sum(axis=1)
        step = np.where(out[:, None] > 0, links / np.maximum(out, 1)[:, None], 1 / n)
        rank = np.full(n, 1 / n)
        for _ in range(50):
            new = 0.15 / n + 0.85 * rank @ step
            if np.abs(new - rank).sum() < 1e-8:
                break
            rank = new
        depth, front = np.full(n, -1), np.arange(n) == 0
        level = 0
        while front.any():
            depth[front] = level
            front = links[front].any(axis=0) & (depth < 0)
            level += 1
        return [np.argsort(-rank, kind="stable")[:5], depth]

    return run


def bootstrap(n):
    """Intervals of a median and a difference, by bootstrap and permutations."""
    rng = np.random.default_rng(10)
    a, b = rng.exponential(1.0, n), rng.exponential(1.2, n)

    def run():
        draw = np.random.default_rng(11)
        medians = np.array([np.median(draw.choice(a, size=n)) for _ in range(30)])
        both, shift = np.concatenate([a, b]), abs(a.mean() - b.mean())
        more = 0
        for _ in range(30):
            mixed = draw.permutation(both)
            more += abs(mixed[:n].mean() - mixed[n:].mean()) >= shift
        grid = np.linspace(0, 4, 50)
        steps = [np.searchsorted(np.sort(v), grid, side="right") / n for v in (a, b)]
        return [np.percentile(medians, [2.5, 97.5]), more, np.abs(steps[0] - steps[1]).max()]

    return run


PROGRAMS = {
    markov: (15, 5000),
    pca: (60, 100_000),
    logistic: (120, 100_000),
    mixture: (60, 50_000),
    naive_bayes: (150, 150_000),
    stump: (100, 100_000),
    tsne: (30, 700),
    neighbours: (25, 1200),
    page_rank: (60, 1500),
    bootstrap: (30, 40_000),
}
