"""Tests for leaks: runs small programs of all kinds repeatedly; the memory of the process must not grow.

In: the number of programs. Out: resident memory, the number of Python objects, and numelt's buffers, at
intervals. Run it as a script for the long version (`python benches/leaks.py 100000`);
`tests/python/engine/test_leaks.py` runs a short one.
"""

import argparse
import copy
import gc
import pickle
import random
import re
import threading
from pathlib import Path

import numpy

import numelt as np
from numelt import _core

draw = random.Random()


def creating():
    """Make, slice and drop arrays of changing sizes."""
    a = np.arange(float(draw.randint(1, 300)))
    b = a[::2]
    c = b + 1
    d = c[::-1]
    del a, b
    return float(d.sum())


def dropping():
    """Record a chain of varying length whose result is never read."""
    a = np.ones(100)
    for _ in range(draw.randint(1, 80)):
        a = a + 1


def reductions():
    """Reduce arrays of changing shapes and dtypes."""
    kind = draw.choice(["f4", "f8", "i4", "i8", "u1", "c16", "?"])
    a = np.ones((draw.randint(1, 20), draw.randint(1, 20)), dtype=kind)
    return a.sum(axis=0).sum().item(), np.mean(a), a.max(), np.any(a), a.std()


def in_place():
    """Overwrite arrays and parts of them."""
    a = np.zeros(draw.randint(1, 200))
    a += 1
    a *= 3
    a[2:] -= 1
    a[:1] = 7
    return float(a.sum())


def fallbacks():
    """Run operations that are not native, and print."""
    a = np.arange(10) * 0.1
    return (
        np.polyfit(a[:5], a[5:], 1),
        np.apply_along_axis(sum, 0, a),
        np.piecewise(a, [a < 0.5], [0, 1]),
        str(a),
        np.array(["a", "bb"]) == "a",
        np.zeros(3, dtype=[("x", "f8"), ("y", "i4")])["x"],
        np.array([{}, [], None], dtype=object),
    )


def streams():
    """Draw random numbers."""
    generator = np.random.default_rng(draw.randint(0, 9))
    uniform = generator.random(draw.randint(1, 100)).sum()
    return uniform, generator.normal(size=5)[0], generator.integers(0, 5, 7), np.random.rand(3)


def exceptions():
    """Make calls for which NumPy raises errors."""
    wrong = (
        lambda: np.ones(3) + np.ones(4),
        lambda: np.ones(3).reshape(7),
        lambda: np.ones(3)[9],
        lambda: np.linalg.inv(np.zeros((2, 2))),
        lambda: np.ones(3).sum(axis=4),
        lambda: np.array([[1], [1, 2]]),
        lambda: np.concatenate([]),
    )
    for call in wrong:
        try:
            call()
        except (ValueError, IndexError):
            continue
    with np.errstate(all="raise"):
        try:
            return float((np.ones(3) / 0)[0])
        except FloatingPointError:
            return None


def threads():
    """Compute in two threads."""
    found = []

    def work(i):
        found.append(float((np.arange(50.0) * i + 1).sum()))

    workers = [threading.Thread(target=work, args=(i,)) for i in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def shapes():
    """Run programs for which no plan is known yet."""
    rows, columns = draw.randint(1, 400), draw.randint(1, 8)
    a = np.ones((rows, columns))
    b = np.sin(a) * 2 + a.T.copy().T
    for step in range(draw.randint(1, 6)):
        b = b + step if step % 2 else b * a
    return b[rows // 2, columns - 1]


def larger():
    """Compute on arrays large enough for code to be compiled."""
    n = draw.randint(1, 40) * 1000
    a = np.arange(n) * 1.5
    b = np.cumsum(a)
    c = np.sort(b[::-1])
    above = c > c.mean()
    return float(c[above].sum()), float(np.where(above, c, 0.0).max())


def settings():
    """Change a setting to another value and back."""
    before = np.config.threads
    np.config.threads = draw.choice([1, 2])
    total = float((np.ones(100) * 2).sum())
    np.config.threads = before
    return total


def exports():
    """Export memory to other libraries, and adopt memory from them."""
    a = np.ones(10)
    view = numpy.asarray(a)
    again = np.asarray(view)
    window = memoryview(a)
    taken = np.asarray(numpy.ones(100))
    del a
    return float(again.sum()) + window[0] + float(taken.sum())


def scalars():
    """Compute with deferred scalars."""
    s = np.ones(5).sum()
    root = np.sqrt(s * 2 + 1)
    return float(s), root == 3, root.astype("f4"), hash(root), root.item()


def picking():
    """Read and assign elements by indices and masks."""
    a = np.arange(100.0)
    places = np.array([1, 5, 7])
    a[places] += 1
    a[a > 50] = 0
    b = a.reshape(10, 10)[places][:, places]
    return float(np.stack([b, b]).sum()), np.nonzero(a)[0].size, np.unique(a).size


def looking():
    """Explain and inspect."""
    text = str(np.explain(np.ones(20) * 2 + 1))
    with np.inspect():
        np.flush()
    return len(text)


def algebra():
    """Call libraries."""
    a = np.arange(36.0).reshape(6, 6) + 9 * np.eye(6)
    return a @ a, np.linalg.solve(a, a[0]), np.fft.fft(a), np.einsum("ij,jk", a, a), np.dot(a[0], a[1])


def copies():
    """Pickle, copy, convert, iterate."""
    a = np.ones(9)
    return pickle.loads(pickle.dumps(a)), copy.deepcopy(a), a.tolist(), list(a)


KINDS = (
    creating, dropping, reductions, in_place, fallbacks, streams, exceptions, threads, shapes, larger,
    settings, exports, scalars, picking, looking, algebra, copies,
)  # fmt: skip


def iterate(count, seed):
    """Run `count` programs, drawn at random."""
    draw.seed(seed)
    for _ in range(count):
        draw.choice(KINDS)()


def repeat(kind, count):
    """Run one kind of program `count` times, the same programs in each call."""
    draw.seed(count)
    for _ in range(count):
        kind()


def levels():
    """Return what the process holds: resident bytes, Python objects, and bytes of numelt's buffers in use."""
    np.flush()
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    live = int(re.search(r"live: (\d+)", _core.stats()["pool"])[1])
    return {"resident": pages * 4096, "objects": len(gc.get_objects()), "live": live}


def main():
    """Run the long version; exits with an error if something grew."""
    parser = argparse.ArgumentParser(description="Run small programs of all kinds and watch what is held.")
    parser.add_argument("count", type=int, nargs="?", default=100_000)
    count = parser.parse_args().count
    iterate(count // 10, seed=0)
    first = levels()
    print(f"{'programs':>9} {'resident, MB':>13} {'objects':>9} {'buffers in use':>15}")
    for part in range(10):
        iterate(count // 10, seed=part + 1)
        now = levels()
        row = f"{now['resident'] / 2**20:13.1f} {now['objects']:9,} {now['live']:15,}"
        print(f"{(part + 1) * (count // 10):9,} {row}", flush=True)
    grown = now["resident"] - first["resident"]
    print(f"{grown / 2**20:+.1f} MB since a tenth of them had run before")
    if grown > 8 << 20:
        raise SystemExit("memory grows")


if __name__ == "__main__":
    main()
