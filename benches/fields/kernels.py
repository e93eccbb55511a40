"""Kernels of learning, biology, filters and codes."""

import numpy as np


def deriche(n):
    """Detect edges with Deriche's recursive filter, along rows and columns."""
    image = np.random.default_rng(1).random((n, n))
    k = (1 - np.exp(-0.25)) ** 2 / (1 + 0.5 * np.exp(-0.25) - np.exp(-0.5))
    a1, a2, a3, a4 = k, k * np.exp(-0.25) * -0.75, k * np.exp(-0.25) * 1.25, -k * np.exp(-0.5)
    b1, b2 = 2 ** (-0.25), -np.exp(-0.5)

    def along(img):
        y1, y2 = np.empty_like(img), np.empty_like(img)
        y1[:, 0] = a1 * img[:, 0]
        y1[:, 1] = a1 * img[:, 1] + a2 * img[:, 0] + b1 * y1[:, 0]
        for j in range(2, n):
            y1[:, j] = a1 * img[:, j] + a2 * img[:, j - 1] + b1 * y1[:, j - 1] + b2 * y1[:, j - 2]
        y2[:, -1] = 0.0
        y2[:, -2] = a3 * img[:, -1]
        for j in range(n - 3, -1, -1):
            y2[:, j] = a3 * img[:, j + 1] + a4 * img[:, j + 2] + b1 * y2[:, j + 1] + b2 * y2[:, j + 2]
        return y1 + y2

    return lambda: along(along(image).T).T


def nussinov(n):
    """Fold a strand of RNA: most pairs by dynamic programming."""
    seq = np.random.default_rng(2).integers(0, 4, n)

    def run():
        table = np.zeros((n, n), np.int32)
        for i in range(n - 1, -1, -1):
            for j in range(i + 1, n):
                best = max(table[i, j - 1], table[i + 1, j])
                pair = 1 if seq[i] + seq[j] == 3 and i < j - 1 else 0
                best = max(best, table[i + 1, j - 1] + pair)
                if j - i > 2:
                    best = max(best, (table[i, i + 1 : j - 1] + table[i + 2 : j, j]).max())
                table[i, j] = best
        return table

    return run


def smith_waterman(n):
    """Align two sequences, one antidiagonal after the other."""
    rng = np.random.default_rng(3)
    a, b = rng.integers(0, 4, n), rng.integers(0, 4, n)

    def run():
        before, last, best = np.zeros(n + 1, int), np.zeros(n + 1, int), 0
        for d in range(2, 2 * n + 1):
            i = np.arange(max(1, d - n), min(n, d - 1) + 1)
            score = np.where(a[i - 1] == b[d - i - 1], 3, -1)
            now = np.zeros(n + 1, int)
            now[i] = np.maximum(0, np.maximum(before[i - 1] + score, np.maximum(last[i - 1], last[i]) - 2))
            best = max(best, now[i].max())
            before, last = last, now
        return best

    return run


def conv2d_bias(n):
    """Convolve a batch of images with filters, window by window."""
    rng = np.random.default_rng(4)
    images, weights = rng.random((4, n, n, 3), np.float32), rng.random((3, 3, 3, 8), np.float32)
    bias = rng.random(8, np.float32)

    def run():
        out = np.empty((4, n - 2, n - 2, 8), np.float32)
        for i in range(n - 2):
            for j in range(n - 2):
                window = images[:, i : i + 3, j : j + 3, :, None]
                out[:, i, j, :] = np.sum(window * weights, axis=(1, 2, 3))
        return np.maximum(out + bias, 0)

    return run


def mlp_training(n):
    """Train two layers by gradient descent."""
    rng = np.random.default_rng(5)
    x, labels = rng.normal(size=(n, 16)), rng.integers(0, 4, n)
    w1, w2 = 0.1 * rng.normal(size=(16, 32)), 0.1 * rng.normal(size=(32, 4))

    def run():
        a, b, losses = w1.copy(), w2.copy(), []
        for _ in range(5):
            hidden = np.maximum(x @ a, 0)
            scores = hidden @ b
            scores -= scores.max(axis=1, keepdims=True)
            p = np.exp(scores)
            p /= p.sum(axis=1, keepdims=True)
            losses.append(-np.log(p[np.arange(n), labels]).mean())
            p[np.arange(n), labels] -= 1
            p /= n
            back = p @ b.T
            back[hidden <= 0] = 0
            b -= 0.5 * hidden.T @ p
            a -= 0.5 * x.T @ back
        return [a, b, np.array(losses)]

    return run


def lstm(n):
    """Run a recurrent cell with gates over a sequence."""
    rng = np.random.default_rng(6)
    steps = 12
    xs = rng.normal(size=(steps, n, 8))
    w, u, b = rng.normal(size=(8, 64)), rng.normal(size=(16, 64)), rng.normal(size=64)

    def sigmoid(z):
        return 1.0 / (1.0 + np.exp(-z))

    def run():
        h, c = np.zeros((n, 16)), np.zeros((n, 16))
        for x in xs:
            i, f, g, o = np.split(x @ w + h @ u + b, 4, axis=1)
            c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
            h = sigmoid(o) * np.tanh(c)
        return [h, c]

    return run


def crc16(n):
    """Checksums of many messages side by side, bit by bit."""
    messages = np.random.default_rng(7).integers(0, 256, size=(n, 16), dtype=np.uint8)

    def run():
        crc = np.full(n, 0xFFFF, dtype=np.uint16)
        for byte in messages.T:
            crc ^= byte.astype(np.uint16) << 8
            for _ in range(8):
                carry = (crc & 0x8000) != 0
                crc = (crc << 1) & 0xFFFF
                crc[carry] ^= 0x1021
        return crc

    return run


def crc16_one(n):
    """The checksum of one message, byte by byte."""
    data = np.random.default_rng(8).integers(0, 256, n, dtype=np.uint8)

    def run():
        crc = 0xFFFF
        for byte in data:
            now = 0xFF & int(byte)
            for _ in range(8):
                crc = (crc >> 1) ^ 0x8408 if (crc & 1) ^ (now & 1) else crc >> 1
                now >>= 1
        crc = ~crc & 0xFFFF
        return (crc << 8) | ((crc >> 8) & 0xFF)

    return run


def attention(n):
    """One head of attention with a causal mask, and a layer norm."""
    rng = np.random.default_rng(9)
    x, wq, wk, wv = rng.normal(size=(n, 32)), *(0.2 * rng.normal(size=(3, 32, 32)))

    def softmax(z):
        e = np.exp(z - z.max(axis=-1, keepdims=True))
        return e / e.sum(axis=-1, keepdims=True)

    def run():
        q, k, v = x @ wq, x @ wk, x @ wv
        scores = q @ k.T / np.sqrt(q.shape[1])
        scores[np.triu_indices(n, 1)] = -np.inf
        y = x + softmax(scores) @ v
        return (y - y.mean(axis=1, keepdims=True)) / np.sqrt(y.var(axis=1, keepdims=True) + 1e-5)

    return run


def viterbi(n):
    """The likeliest path through a hidden chain."""
    rng = np.random.default_rng(10)
    states = 12
    move, emit = np.log(rng.random((states, states))), np.log(rng.random((states, 6)))
    seen = rng.integers(0, 6, n)

    def run():
        best, back = emit[:, seen[0]], np.zeros((n, states), int)
        for t in range(1, n):
            scores = best[:, None] + move
            back[t] = scores.argmax(axis=0)
            best = scores.max(axis=0) + emit[:, seen[t]]
        path = [int(best.argmax())]
        for t in range(n - 1, 0, -1):
            path.append(int(back[t, path[-1]]))
        return [np.array(path[::-1]), best.max()]

    return run


PROGRAMS = {
    deriche: (24, 600),
    nussinov: (14, 120),
    smith_waterman: (20, 2000),
    conv2d_bias: (10, 120),
    mlp_training: (32, 8_000),
    lstm: (8, 2000),
    crc16: (64, 20_000),
    crc16_one: (100, 40_000),
    attention: (32, 1200),
    viterbi: (40, 8000),
}
