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


PROGRAMS = {queens: (5, 7)}
