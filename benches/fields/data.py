"""Tables, text, dates and records."""

from datetime import date
from decimal import Decimal
from fractions import Fraction

import numpy as np


def group_by(n):
    """Mean, range and share of sales by shop, with sort, reduceat and bincount."""
    rng = np.random.default_rng(1)
    shops = rng.integers(0, max(4, n // 50), n)
    sales = rng.gamma(2.0, 30.0, n)

    def run():
        order = np.argsort(shops, kind="stable")
        keys, starts, counts = np.unique(shops[order], return_index=True, return_counts=True)
        values = sales[order]
        totals = np.add.reduceat(values, starts)
        spread = np.maximum.reduceat(values, starts) - np.minimum.reduceat(values, starts)
        share = np.bincount(shops, weights=sales)[keys] / sales.sum()
        return [keys, totals / counts, spread, share]

    return run


def word_count(n):
    """Clean a column of words and count them."""
    rng = np.random.default_rng(2)
    letters = np.array(list("abcdeABC"))
    parts = letters[rng.integers(0, 8, (n, 3))]
    words = np.char.add(
        np.char.add(parts[:, 0], parts[:, 1]), np.where(rng.random(n) < 0.2, " ", parts[:, 2])
    )

    def run():
        clean = np.char.lower(np.char.strip(words))
        names, counts = np.unique(clean, return_counts=True)
        vowels = np.char.count(names, "a") + np.char.count(names, "e")
        starts = np.char.startswith(names, "a")
        top = np.argsort(-counts, kind="stable")[:5]
        return [names[top], counts[top], vowels, int(counts[starts].sum())]

    return run


def log_lines(n):
    """Take apart lines of a log: level, code and length of the message."""
    rng = np.random.default_rng(3)
    levels = np.array(["INFO", "WARN", "ERROR"])[rng.integers(0, 3, n)]
    codes = rng.integers(100, 999, n)
    lines = np.array(
        [f"{level}:{code} something happened" for level, code in zip(levels, codes, strict=True)]
    )

    def run():
        level, _, rest = np.strings.partition(lines, ":")
        code = np.strings.slice(rest, 0, 3).astype(int)
        length = np.strings.str_len(lines)
        bad = (level == "ERROR") | ((level == "WARN") & (code > 800))
        found = np.strings.find(lines, "happened")
        return [code[bad], length.max(), np.unique(level[~bad]), found.min()]

    return run


def resample(n):
    """Daily means, a weekday profile and the longest gap of a series of measurements with times."""
    rng = np.random.default_rng(4)
    times = np.datetime64("2023-01-01T00:00", "m") + np.cumsum(rng.integers(1, 120, n)).astype(
        "timedelta64[m]"
    )
    values = np.sin(np.arange(n) / 30) + rng.normal(0, 0.1, n)

    def run():
        days = times.astype("datetime64[D]")
        firsts = np.flatnonzero(np.r_[True, days[1:] != days[:-1]])
        means = np.add.reduceat(values, firsts) / np.diff(np.r_[firsts, len(values)])
        weekday = (days.astype(int) + 3) % 7
        profile = np.bincount(weekday, values, 7) / np.maximum(np.bincount(weekday, minlength=7), 1)
        gap = np.diff(times).max()
        return [days[firsts], means, profile, int(gap / np.timedelta64(1, "m"))]

    return run


def business_days(n):
    """When invoices are due: business days, month ends and delays."""
    rng = np.random.default_rng(5)
    start = np.datetime64("2024-01-01") + rng.integers(0, 700, n).astype("timedelta64[D]")
    holidays = np.array(["2024-01-01", "2024-05-01", "2024-12-25", "2025-01-01"], "datetime64[D]")

    def run():
        due = np.busday_offset(start, 20, roll="forward", holidays=holidays)
        month_end = (due.astype("datetime64[M]") + 1).astype("datetime64[D]") - 1
        left = (month_end - due).astype(int)
        worked = np.busday_count(start, due, holidays=holidays)
        late = due > np.datetime64("2025-06-30")
        return [due[left == 0], worked, np.bincount(left), late.mean()]

    return run


def trades(n):
    """Records of trades: turnover, price weighted by volume, and the largest of each symbol."""
    rng = np.random.default_rng(6)
    book = np.zeros(n, dtype=[("symbol", "U4"), ("price", "f8"), ("size", "i4"), ("buy", "?")])
    book["symbol"] = np.array(["AAA", "BBB", "CCCC", "D"])[rng.integers(0, 4, n)]
    book["price"] = 100 + rng.normal(0, 2, n).cumsum() / 10
    book["size"] = rng.integers(1, 500, n)
    book["buy"] = rng.random(n) < 0.5

    def run():
        rows = []
        for symbol in np.unique(book["symbol"]):
            mine = book[book["symbol"] == symbol]
            turnover = mine["price"] * mine["size"]
            weighted = turnover.sum() / mine["size"].sum()
            best = mine[np.argmax(mine["size"])]
            net = np.where(mine["buy"], mine["size"], -mine["size"]).sum()
            rows.append([weighted, float(best["price"]), int(best["size"]), int(net)])
        return np.array(rows)

    return run


def atoms(n):
    """Centre of mass, gyration and bonds of a molecule in a structured array, atom by atom."""
    rng = np.random.default_rng(7)
    kind = np.dtype([("name", "U2"), ("mass", "f8"), ("place", "f8", 3)])
    molecule = np.zeros(n, kind)
    molecule["name"] = np.array(["H", "C", "O"])[rng.integers(0, 3, n)]
    molecule["mass"] = np.select([molecule["name"] == "H", molecule["name"] == "C"], [1.008, 12.011], 15.999)
    molecule["place"] = rng.random((n, 3)) * n ** (1 / 3)

    def run():
        mass = molecule["mass"]
        centre = (mass[:, None] * molecule["place"]).sum(0) / mass.sum()
        radius = np.sqrt((mass * ((molecule["place"] - centre) ** 2).sum(1)).sum() / mass.sum())
        bonds = 0
        for atom in molecule:
            reach = 0.6 if atom["name"] == "H" else 0.8
            near = np.linalg.norm(molecule["place"] - atom["place"], axis=1) < reach
            bonds += np.count_nonzero(near) - 1
        return [centre, radius, bonds]

    return run


def fractions(n):
    """Solve a triangular system exactly, with Fractions in an object array."""
    rows = [[Fraction(i * j % 7 + 1, i + j + 1) for j in range(n)] for i in range(n)]
    matrix = np.array(rows, dtype=object)
    right = np.array([Fraction(i + 1) for i in range(n)], dtype=object)

    def run():
        solution = right.copy()
        for i in range(n - 1, -1, -1):
            solution[i] = (solution[i] - (matrix[i, i + 1 :] * solution[i + 1 :]).sum()) / matrix[i, i]
        back = np.triu(matrix).dot(solution)
        return [float(max(solution)), bool((back == right).all())]

    return run


def ledger(n):
    """Accounts of Decimals: balances with interest, rounded to cents."""
    moves = np.array([Decimal((i * 37) % 1000 - 400) / 100 for i in range(n)], dtype=object)
    dates = np.array([date(2024, 1 + i % 12, 1 + i % 28) for i in range(n)], dtype=object)

    def run():
        balance = np.cumsum(moves)
        interest = np.where(balance > 0, balance * Decimal("0.015"), balance * Decimal("0.08"))
        cents = np.array([value.quantize(Decimal("0.01")) for value in interest], dtype=object)
        month = np.array([day.month for day in dates])
        sums = [sum(cents[month == m], Decimal(0)) for m in range(1, 13)]
        return [str(max(balance)), [str(s) for s in sums], int((balance < 0).sum())]

    return run


def join(n):
    """Join two tables on a key, the later one as of the time before."""
    rng = np.random.default_rng(8)
    keys = rng.permutation(2 * n)[:n]
    price = rng.random(n)
    orders = rng.integers(0, 2 * n, n)
    when = np.sort(rng.random(n))
    asked = rng.random(n)

    def run():
        order = np.argsort(keys)
        place = np.searchsorted(keys, orders, sorter=order)
        row = order[np.minimum(place, n - 1)]
        found = keys[row] == orders
        value = np.where(found, price[row], np.nan)
        before = np.searchsorted(when, asked, side="right") - 1
        age = np.where(before >= 0, asked - when[np.maximum(before, 0)], np.inf)
        return [np.nanmean(value), found.sum(), age, np.setdiff1d(orders, keys).size]

    return run


def run_lengths(n):
    """Encode rows of pixels as runs, decode them, and look for the longest."""
    rng = np.random.default_rng(9)
    rows = np.repeat(rng.integers(0, 4, (8, n // 4)), 4, axis=1).astype(np.uint8)

    def encode(row):
        ends = np.append(np.flatnonzero(row[1:] != row[:-1]), row.size - 1)
        return np.diff(ends, prepend=-1), row[ends]

    def run():
        longest = []
        for row in rows:
            lengths, values = encode(row)
            assert np.array_equal(np.repeat(values, lengths), row)
            longest.append([lengths.max(), values[lengths.argmax()]])
        return np.array(longest)

    return run


def missing(n):
    """Describe the columns of a table with holes, and fill them."""
    rng = np.random.default_rng(10)
    table = rng.normal(10, 3, (n, 5))
    table[rng.random((n, 5)) < 0.1] = np.nan

    def run():
        mean, spread = np.nanmean(table, axis=0), np.nanstd(table, axis=0)
        low, middle, high = np.nanpercentile(table, [25, 50, 75], axis=0)
        filled = np.where(np.isnan(table), middle, table)
        clipped = np.clip(filled, low - 1.5 * (high - low), high + 1.5 * (high - low))
        bands = np.select([clipped < low, clipped < middle, clipped < high], [0, 1, 2], 3)
        return [mean, spread, np.nanmin(table, axis=0), clipped.sum(0), np.corrcoef(filled.T), bands.mean(0)]

    return run


PROGRAMS = {
    group_by: (400, 1_000_000),
    word_count: (300, 150_000),
    log_lines: (200, 100_000),
    resample: (400, 2_000_000),
    business_days: (300, 1_000_000),
    trades: (300, 400_000),
    atoms: (30, 1500),
    fractions: (10, 120),
    ledger: (60, 30_000),
    join: (300, 100_000),
    run_lengths: (200, 3_000_000),
    missing: (200, 200_000),
}
