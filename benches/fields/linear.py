"""Linear algebra as loops over rows: factorizations, solvers, products, eigenvalues."""

import numpy as np


def _positive(n, seed):
    a = np.random.default_rng(seed).random((n, n))
    return a @ a.T / n + np.eye(n)


def cholesky_rows(n):
    """Factor a positive matrix row by row."""
    start = _positive(n, 1)

    def run():
        a = start.copy()
        a[0, 0] = np.sqrt(a[0, 0])
        for i in range(1, n):
            for j in range(i):
                a[i, j] -= np.dot(a[i, :j], a[j, :j])
                a[i, j] /= a[j, j]
            a[i, i] -= np.dot(a[i, :i], a[i, :i])
            a[i, i] = np.sqrt(a[i, i])
        return np.tril(a)

    return run


def gram_schmidt(n):
    """Make the columns of a matrix orthogonal."""
    start = np.random.default_rng(2).random((n + 8, n))

    def run():
        a = start.copy()
        q, r = np.zeros_like(a), np.zeros((n, n))
        for k in range(n):
            r[k, k] = np.sqrt(np.dot(a[:, k], a[:, k]))
            q[:, k] = a[:, k] / r[k, k]
            for j in range(k + 1, n):
                r[k, j] = np.dot(q[:, k], a[:, j])
                a[:, j] -= q[:, k] * r[k, j]
        return [q, r]

    return run


def durbin(n):
    """Solve a symmetric Toeplitz system."""
    r = np.arange(n + 1, 1, -1) / (2.0 * n)

    def run():
        y = np.zeros(n)
        alpha, beta = -r[0], 1.0
        y[0] = -r[0]
        for k in range(1, n):
            beta *= 1.0 - alpha * alpha
            alpha = -(r[k] + np.dot(np.flip(r[:k]), y[:k])) / beta
            y[:k] += alpha * np.flip(y[:k])
            y[k] = alpha
        return y

    return run


def syrk_rows(n):
    """Update a symmetric matrix by rows."""
    rng = np.random.default_rng(3)
    start, a = rng.random((n, n)), rng.random((n, n))

    def run():
        c = start.copy()
        for i in range(n):
            c[i, : i + 1] *= 1.2
            for k in range(n):
                c[i, : i + 1] += 1.5 * a[i, k] * a[: i + 1, k]
        return c

    return run


def trmm_rows(n):
    """Multiply by a triangular matrix by rows."""
    rng = np.random.default_rng(4)
    a, start = rng.random((n, n)), rng.random((n, n))

    def run():
        b = start.copy()
        for i in range(n):
            for j in range(n):
                b[i, j] += np.dot(a[i + 1 :, i], b[i + 1 :, j])
        b *= 1.5
        return b

    return run


def symm_rows(n):
    """Multiply by a symmetric matrix that is stored by half."""
    rng = np.random.default_rng(5)
    a, b = rng.random((n, n)), rng.random((n, n))

    def run():
        c = np.zeros((n, n))
        for i in range(n):
            row = 1.5 * b[i]
            c[:i] += a[i, :i, np.newaxis] * row
            c[i] += row * a[i, i] + 1.5 * (a[i, :i] @ b[:i])
        return c

    return run


def doitgen(n):
    """Multiply the last axis of a tensor by a matrix, slice by slice."""
    rng = np.random.default_rng(6)
    start, c = rng.random((n, n, n)), rng.random((n, n))

    def run():
        a = start.copy()
        for r in range(n):
            for q in range(n):
                a[r, q, :] = a[r, q, :] @ c
        return a

    return run


def covariance_loop(n):
    """Find the covariances of a table's columns, one row of the matrix after the other."""
    data = np.random.default_rng(7).random((2 * n, n))

    def run():
        centered = data - data.mean(axis=0)
        cov = np.zeros((n, n))
        for i in range(n):
            cov[i:, i] = cov[i, i:] = centered[:, i] @ centered[:, i:] / (len(data) - 1.0)
        return cov

    return run


def floyd_warshall(n):
    """Find all shortest paths of a dense graph."""
    rng = np.random.default_rng(8)
    start = rng.integers(1, 1000, size=(n, n))
    start[rng.random((n, n)) < 0.5] = 100_000

    def run():
        path = start.copy()
        for k in range(n):
            path = np.minimum(path, path[:, k, None] + path[None, k, :])
        return path

    return run


def conjugate_gradients(n):
    """Solve Laplace's equation on a square without a matrix."""
    b = np.random.default_rng(9).random((n, n))

    def laplace(u):
        out = 4.0 * u
        out[1:] -= u[:-1]
        out[:-1] -= u[1:]
        out[:, 1:] -= u[:, :-1]
        out[:, :-1] -= u[:, 1:]
        return out

    def run():
        x = np.zeros_like(b)
        r = b - laplace(x)
        p, rr = r, np.sum(r * r)
        for _ in range(25):
            ap = laplace(p)
            alpha = rr / np.sum(p * ap)
            x = x + alpha * p
            r = r - alpha * ap
            new = np.sum(r * r)
            if np.sqrt(new) < 1e-12:
                break
            p = r + (new / rr) * p
            rr = new
        return x

    return run


def lanczos(n):
    """Approximate the spectrum of a symmetric matrix from a Krylov space."""
    a = _positive(n, 10)

    def run():
        alphas, betas = [], [0.0]
        v = np.zeros((21, n))
        v[0] = 1.0 / np.sqrt(n)
        for j in range(min(20, n)):
            w = a @ v[j] - betas[-1] * v[j - 1]
            alphas.append(np.dot(w, v[j]))
            w -= alphas[-1] * v[j]
            w -= v[: j + 1].T @ (v[: j + 1] @ w)
            betas.append(np.linalg.norm(w))
            v[j + 1] = w / betas[-1]
        t = np.diag(alphas) + np.diag(betas[1:-1], 1) + np.diag(betas[1:-1], -1)
        return np.linalg.eigvalsh(t)[-4:]

    return run


def jacobi_eigenvalues(n):
    """Find eigenvalues by rotating the largest element off the diagonal away."""
    start = _positive(n, 11)

    def run():
        a = start.copy()
        for _ in range(2 * n):
            off = np.abs(np.triu(a, 1))
            k, m = np.unravel_index(np.argmax(off), off.shape)
            if off[k, m] < 1e-9:
                break
            theta = 0.5 * np.arctan2(2 * a[k, m], a[m, m] - a[k, k])
            c, s = np.cos(theta), np.sin(theta)
            row_k, row_l = a[k].copy(), a[m].copy()
            a[k], a[m] = c * row_k - s * row_l, s * row_k + c * row_l
            col_k, col_l = a[:, k].copy(), a[:, m].copy()
            a[:, k], a[:, m] = c * col_k - s * col_l, s * col_k + c * col_l
        return np.sort(np.diag(a))

    return run


def crank_nicolson(n):
    """Step the heat equation implicitly; Thomas's algorithm with all rods side by side."""
    rods = 16
    u0 = np.random.default_rng(12).random((n, rods))
    r = 0.4

    def thomas(lower, main, upper, d):
        c, x = np.empty(n), d.copy()
        c[0] = upper / main
        x[0] /= main
        for i in range(1, n):
            m = main - lower * c[i - 1]
            c[i] = upper / m
            x[i] = (x[i] - lower * x[i - 1]) / m
        for i in range(n - 2, -1, -1):
            x[i] -= c[i] * x[i + 1]
        return x

    def run():
        u = u0
        for _ in range(3):
            d = (1 - 2 * r) * u
            d[1:] += r * u[:-1]
            d[:-1] += r * u[1:]
            u = thomas(-r, 1 + 2 * r, -r, d)
        return u

    return run


def hermitian_forms(n):
    """Evaluate many quadratic forms of a Hermitian matrix, and the part of each that a phase leaves."""
    rng = np.random.default_rng(13)
    h = rng.random((12, 12)) + 1j * rng.random((12, 12))
    h = h + h.conj().T
    x = rng.random((n, 12)) + 1j * rng.random((n, 12))

    def run():
        forms = np.einsum("ni,ij,nj->n", x.conj(), h, x).real
        norms = (x * x.conj()).real.sum(axis=1)
        phased = x * np.exp(1j * np.pi * forms / norms)[:, None]
        return [forms / norms, np.abs(phased.sum(axis=1)), np.angle(phased[:, 0])]

    return run


PROGRAMS = {
    cholesky_rows: (20, 300),
    gram_schmidt: (16, 220),
    durbin: (60, 8000),
    syrk_rows: (12, 200),
    trmm_rows: (16, 240),
    symm_rows: (24, 500),
    doitgen: (10, 120),
    covariance_loop: (24, 500),
    floyd_warshall: (24, 300),
    conjugate_gradients: (16, 700),
    lanczos: (60, 2500),
    jacobi_eigenvalues: (8, 120),
    crank_nicolson: (30, 8000),
    hermitian_forms: (100, 100_000),
}
