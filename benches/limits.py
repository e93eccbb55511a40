"""What the machine can do at most: bandwidth and arithmetic, measured with NumPy on one thread and on all.

copy: one array read, one written (`numpy.copyto`, which is memcpy). add: two read, one written (`numpy.add`
into an array). read: one array (`numpy.max`). product: multiplications and additions of NumPy's matrix
product.
"""

import threading
import time

import numpy

import timing

# far beyond any cache
ELEMENTS = 24 << 20


def copy(a, b, c):
    """Return the bytes of one pass."""
    numpy.copyto(a, b)
    return 2 * a.nbytes


def add(a, b, c):
    """Return the bytes of one pass."""
    numpy.add(b, c, out=a)
    return 3 * a.nbytes


def read(a, b, c):
    """Return the bytes of one pass."""
    b.max()
    return b.nbytes


def bandwidth(passes, threads, rounds=6):
    """Return the best bytes per second that `threads` threads reach together."""
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
    """Return the best operations per second of a matrix product, on NumPy's own threads."""
    a = numpy.ones((n, n))
    return max(2 * n**3 / timing.once(lambda: a @ a) for _ in range(rounds))


def measure():
    """Return bytes and operations per second."""
    counts = {"1": 1, "all": timing.cores()}
    found = {f"{p.__name__}_{name}": bandwidth(p, n) for p in (copy, add, read) for name, n in counts.items()}
    return {**found, "product": product()}


def text(found):
    """Render the ceilings."""
    rows = [
        (name, *(f"{found[f'{name}_{threads}'] / 1e9:.1f}" for threads in ("1", "all")))
        for name in ("copy", "add", "read")
    ]
    ceilings = timing.table(("GB/s", "1 thread", f"{timing.cores()} threads"), rows)
    return f"{ceilings}\n\nMatrix product: {found['product'] / 1e9:.0f} billion operations a second."
