"""Compares numelt with NumPy at all array sizes up to 10^8 elements: performance must not drop at any size.

The programs are chains of dependent elementwise operations on arrays of one and of two axes (with two axes,
one operand is a row that is broadcast). An element is read at the end, or after each operation. The size
doubles until memory or time is exhausted.
"""

import time

import numpy

import timing

LENGTHS = (1, 3, 10, 40)
MOST = 100_000_000
# four arrays of the largest size must fit into this share of the free memory
PART_OF_MEMORY = 0.5
# the most seconds that one call of NumPy may take
MOST_SECONDS = 0.8
NAMES = {
    (1, False): "1-D",
    (2, False): "2-D",
    (1, True): "1-D, every result read",
    (2, True): "2-D, every result read",
}


def chain(np, length, n, axes, read):
    """Return a callable that runs `length` dependent operations on about n elements, and their number."""
    if axes == 1:
        x, y = np.linspace(0.5, 1.5, n), np.linspace(1.5, 0.5, n)
    else:
        rows = max(1, int(n**0.5))
        columns = n // rows
        n = rows * columns
        x, y = np.linspace(0.5, 1.5, n).reshape(rows, columns), np.linspace(1.5, 0.5, columns)

    first = (0,) * axes

    def run():
        z = x
        for i in range(length):
            z = z * y if i % 2 else z + x
            if read:
                z[first]
        return z[first]

    timing.force((x, y))
    return run, n


def most_elements(most):
    """Return the largest size that memory allows."""
    try:
        with open("/proc/meminfo") as lines:
            free = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration):
        free = 4 << 30
    return min(most, int(PART_OF_MEMORY * free / (4 * 8)))


def curve(candidate, length, axes, read, most, rounds):
    """Measure one chain at all sizes; returns a row of figures per size."""
    rows, n = [], 1
    while n <= most:
        runs, count = {}, n
        for name, module in (("numpy", numpy), ("candidate", candidate)):
            runs[name], count = chain(module, length, n, axes, read)
        if runs["candidate"]() != runs["numpy"]():
            raise AssertionError(f"wrong result: {length} operations, {count} elements, {axes} axes")
        slow = timing.once(runs["numpy"])
        timing.settle(runs["candidate"], *((2, 0.03) if slow < 0.05 else (1, 0.0)))
        least = 0.0005 if slow < 0.005 else 0.0
        times = timing.measure(runs, rounds if slow < 0.2 else 3, least)
        ratio = times["numpy"] / times["candidate"]
        if ratio < 1:  # a disturbance by other work on the machine must not look like a drop
            again = timing.measure(runs, 2 * rounds if slow < 0.2 else 3, 2 * least)
            if again["numpy"] / again["candidate"] > ratio:
                times, ratio = again, again["numpy"] / again["candidate"]
        rows.append(
            {
                "operations": length,
                "axes": axes,
                "read": read,
                "n": count,
                "numpy_us": times["numpy"] * 1e6,
                "candidate_us": times["candidate"] * 1e6,
                "ratio": ratio,
            }
        )
        if 2 * times["numpy"] > MOST_SECONDS:
            break
        n *= 2
    return rows


def measure(candidate, most=MOST, rounds=7):
    """Measure all curves."""
    most, rows = most_elements(most), []
    for axes, read in NAMES:
        for length in LENGTHS:
            start = time.perf_counter()
            found = curve(candidate, length, axes, read, most, rounds)
            rows += found
            low = min(found, key=lambda row: row["ratio"])
            print(
                f"{NAMES[axes, read]}, {length} operations: lowest x{low['ratio']:.2f} at {low['n']:,},"
                f" up to {found[-1]['n']:,} elements, {time.perf_counter() - start:.1f} s",
                flush=True,
            )
    return rows


def text(rows):
    """Render the lowest ratio of each curve, and where it is."""
    lines = []
    for axes, read in NAMES:
        for length in LENGTHS:
            own = [r for r in rows if (r["axes"], r["read"], r["operations"]) == (axes, read, length)]
            if own:
                low = min(own, key=lambda row: row["ratio"])
                average = timing.mean([r["ratio"] for r in own])
                high = max(r["ratio"] for r in own)
                cells = f"{low['ratio']:.2f}", f"{low['n']:,}", f"{average:.2f}", f"{high:.1f}"
                lines.append((NAMES[axes, read], length, *cells, f"{own[-1]['n']:,}"))
    head = ("arrays", "operations", "lowest", "at n", "geometric mean", "highest", "largest n")
    return timing.table(head, lines)


def plot(rows, path):
    """Draw the curves."""
    pyplot = timing.plotter()
    figure, grid = pyplot.subplots(2, 2, figsize=(10, 7), sharex=True, sharey=True)
    for ax, (axes, read) in zip(grid.flat, NAMES, strict=True):
        for length in LENGTHS:
            own = [r for r in rows if (r["axes"], r["read"], r["operations"]) == (axes, read, length)]
            ax.plot([r["n"] for r in own], [r["ratio"] for r in own], ".-", label=f"{length} operations")
        ax.axhline(1.0, color="black", linewidth=0.8)
        ax.axhline(0.9, color="black", linewidth=0.8, linestyle=":")
        ax.set(xscale="log", yscale="log")
        ax.set_title(NAMES[axes, read], loc="left", fontsize=10)
        ax.grid(alpha=0.3)
    grid[0, 0].legend(fontsize=8)
    for ax in grid[1]:
        ax.set_xlabel("elements")
    for ax in grid[:, 0]:
        ax.set_ylabel("times NumPy's speed")
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
