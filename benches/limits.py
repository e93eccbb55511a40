"""Measures the machine's limits with NumPy: memory bandwidth and arithmetic, on one thread and on all.

copy: reads one array and writes one (`numpy.copyto`, which is memcpy). add: reads two and writes one
(`numpy.add` into an array). read: reads one array (`numpy.max`). product: the multiplications and additions
of NumPy's matrix product.
"""

import threading
import time

import numpy

import timing

# much larger than any cache
ELEMENTS = 24 << 20


def copy(a, b, c):
    """Copy an array; return how many bytes were read and written."""
    numpy.copyto(a, b)
    return 2 * a.nbytes


def add(a, b, c):
    """Add two arrays; return how many bytes were read and written."""
    numpy.add(b, c, out=a)
    return 3 * a.nbytes


def read(a, b, c):
    """Read an array; return how many bytes were read."""
    b.max()
    return b.nbytes


def bandwidth(passes, threads, rounds=6):
    """Return the highest number of bytes per second that `threads` threads reach together."""
    arrays = [tuple(numpy.ones(ELEMENTS // threads) for _ in range(3)) for _ in range(threads)]
    best, bytes_moved = 0.0, sum(passes(*a) for a in arrays)
    for _ in range(rounds):
        workers = [threading.Thread(target=passes, args=a) for a in arrays]
        start = time.perf_counter()
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        best = max(best, bytes_moved / (time.perf_counter() - start))
    return best


def product(n=1200, rounds=4):
    """Return the highest number of operations per second of a matrix product, on NumPy's own threads."""
    a = numpy.ones((n, n))
    return max(2 * n**3 / timing.once(lambda: a @ a) for _ in range(rounds))


def measure():
    """Return bytes and operations per second."""
    counts = {"1": 1, "all": timing.cores()}
    found = {f"{p.__name__}_{name}": bandwidth(p, n) for p in (copy, add, read) for name, n in counts.items()}
    return {**found, "product": product()}


def text(found):
    """Render the limits."""
    rows = [
        (name, *(f"{found[f'{name}_{threads}'] / 1e9:.1f}" for threads in ("1", "all")))
        for name in ("copy", "add", "read")
    ]
    ceilings = timing.table(("GB/s", "1 thread", f"{timing.cores()} threads"), rows)
    return f"{ceilings}\n\nMatrix product: {found['product'] / 1e9:.0f} billion operations a second."
