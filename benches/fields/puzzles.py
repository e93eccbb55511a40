"""Games and puzzles."""

import numpy as np


def queens(n):
    """Count the ways to place n queens, with arrays of taken columns and diagonals."""

    def place(row, columns, left, right):
        if row == n:
            return 1
        free = np.flatnonzero(~(columns | left[row : row + n] | right[n - 1 - row : 2 * n - 1 - row]))
        total = 0
        for column in free:
            columns[column] = left[row + column] = right[n - 1 - row + column] = True
            total += place(row + 1, columns, left, right)
            columns[column] = left[row + column] = right[n - 1 - row + column] = False
        return total

    return lambda: place(0, np.zeros(n, bool), np.zeros(2 * n, bool), np.zeros(2 * n, bool))


def edit_distance(n):
    """The edit distance of two texts, by rows, and their longest common subsequence, cell by cell."""
    rng = np.random.default_rng(2)
    a, b = rng.integers(0, 4, n), rng.integers(0, 4, n)

    def common(a, b):
        table = np.zeros((len(a) + 1, len(b) + 1), dtype=int)
        for i in range(len(a)):
            for j in range(len(b)):
                if a[i] == b[j]:
                    table[i + 1, j + 1] = table[i, j] + 1
                else:
                    table[i + 1, j + 1] = max(table[i, j + 1], table[i + 1, j])
        return table[-1, -1]

    def run():
        row = np.arange(n + 1)
        for i, letter in enumerate(a):
            new = np.minimum(row[1:] + 1, row[:-1] + (b != letter))
            new = np.concatenate([[i + 1], new])
            row = np.minimum.accumulate(new - np.arange(n + 1)) + np.arange(n + 1)
        return [int(row[-1]), int(common(a, b))]

    return run


def knapsack(n):
    """What to pack: the best value for every weight, and the things chosen."""
    rng = np.random.default_rng(3)
    weights, values = rng.integers(1, 30, n), rng.integers(10, 100, n)
    capacity = 10 * n

    def run():
        best = np.zeros(capacity + 1, dtype=np.int64)
        taken = np.zeros((n, capacity + 1), dtype=bool)
        for i, (weight, value) in enumerate(zip(weights, values, strict=True)):
            with_it = best[:-weight] + value
            better = with_it > best[weight:]
            taken[i, weight:] = better
            best[weight:] = np.where(better, with_it, best[weight:])
        chosen, left = [], capacity
        for i in range(n - 1, -1, -1):
            if taken[i, left]:
                chosen.append(i)
                left -= int(weights[i])
        return [best[-1], chosen]

    return run


def sudoku(n):
    """Solve a sudoku of which n cells are open, by candidates and backtracking."""
    base = (np.arange(9) * 3 + np.arange(9) // 3)[:, None] + np.arange(9)
    solved = base % 9 + 1
    puzzle = solved.copy()
    puzzle.flat[np.random.default_rng(4).permutation(81)[:n]] = 0

    def candidates(grid, r, c):
        box = grid[r // 3 * 3 : r // 3 * 3 + 3, c // 3 * 3 : c // 3 * 3 + 3]
        used = np.concatenate([grid[r], grid[:, c], box.ravel()])
        return np.setdiff1d(np.arange(1, 10), used)

    def solve(grid):
        empty = np.argwhere(grid == 0)
        if len(empty) == 0:
            return True
        options = [candidates(grid, r, c) for r, c in empty]
        least = int(np.argmin([len(o) for o in options]))
        r, c = empty[least]
        for digit in options[least]:
            grid[r, c] = digit
            if solve(grid):
                return True
        grid[r, c] = 0
        return False

    def run():
        grid = puzzle.copy()
        return [solve(grid), grid]

    return run


def poisson_disk(n):
    """Throw points that keep their distance, one by one."""

    def run():
        rng = np.random.default_rng(5)
        points = np.empty((n, 2))
        count = tries = 0
        while count < n and tries < 30 * n:
            tries += 1
            candidate = rng.random(2)
            if count == 0 or np.min(np.sum((points[:count] - candidate) ** 2, axis=1)) > 0.3 / n:
                points[count] = candidate
                count += 1
        return [points[:count], tries]

    return run


def cellular(n):
    """Rules of Wolfram by a table, and the sand pile that topples."""
    rule = np.array([int(bit) for bit in np.binary_repr(110, 8)[::-1]], dtype=np.uint8)

    def run():
        state = np.zeros(n, dtype=np.uint8)
        state[n // 2] = 1
        history = [state]
        for _ in range(20):
            state = rule.take(4 * np.roll(state, 1) + 2 * state + np.roll(state, -1))
            history.append(state)
        sand = np.full((12, 12), 3)
        sand[6, 6] = 20
        while (over := sand >= 4).any():
            sand[over] -= 4
            sand[1:] += over[:-1]
            sand[:-1] += over[1:]
            sand[:, 1:] += over[:, :-1]
            sand[:, :-1] += over[:, 1:]
        return [np.array(history).sum(axis=1), sand]

    return run


def bits(n):
    """Parity, Gray codes and checksums of words, by shifts and tables."""
    words = np.random.default_rng(7).integers(0, 2**32, n, dtype=np.uint64)
    table = np.array([bin(i).count("1") for i in range(256)], dtype=np.uint8)
    collatz = np.vectorize(lambda k: k // 2 if k % 2 == 0 else 3 * k + 1, otypes=[np.int64])

    def run():
        gray = words ^ (words >> np.uint64(1))
        ones = sum(table[(gray >> np.uint64(shift)) & np.uint64(255)] for shift in (0, 8, 16, 24))
        unpacked = np.unpackbits(words.astype(">u4").view(np.uint8).reshape(-1, 4), axis=1)
        steps = np.arange(1, min(n, 5000) + 1)
        for _ in range(3):
            steps = collatz(steps)
        return [ones, unpacked.sum(axis=0), np.bitwise_xor.reduce(words), steps]

    return run


PROGRAMS = {
    queens: (5, 9),
    edit_distance: (16, 300),
    knapsack: (20, 1500),
    sudoku: (4, 50),
    poisson_disk: (30, 2000),
    cellular: (64, 1_500_000),
    bits: (100, 500_000),
}
