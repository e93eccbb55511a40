"""Write tables of what Python programs compute, with which the Rust tests compare their results.

The script writes:

- examples/rust/tests/results.txt: for each program of `examples/` under numelt, with the options that the
  demo's tests give it, a checksum of each of its results.
- crates/array/tests/numpy/promotion.txt: for each operation and pair of dtypes, and for each dtype beside a
  Python number, the dtype of NumPy's result or the word `refused`.
- crates/array/tests/numpy/streams.txt: for each seed and method of NumPy's `Generator`, a checksum over many
  numbers and the last one as its bits.
"""

import tempfile
import warnings
import zlib
from pathlib import Path

import numpy as np

import demo

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "crates/array/tests/numpy"
RESULTS = ROOT / "examples/rust/tests/results.txt"
CODES = ("?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16")
DTYPES = [np.dtype(code) for code in CODES]
BINARY = (
    "add subtract multiply divide floor_divide remainder power maximum copysign arctan2 equal less "
    "logical_and bitwise_and left_shift gcd"
)
UNARY = "negative absolute sqrt sin square reciprocal floor rint isnan logical_not invert sign conjugate"
FOLDS = "sum prod min max mean any argmax cumsum"
WEAK = {"bool": True, "int": 2, "float": 0.5, "complex": 1j}


def answer(function, *operands):
    """Return the name of a result's dtype, or `refused`."""
    try:
        return np.asarray(function(*operands)).dtype.name
    except TypeError:
        return "refused"


def promotion():
    """Yield the lines of the table of dtypes."""
    ones = [np.ones(2, dtype) for dtype in DTYPES]
    for name in BINARY.split():
        function = getattr(np, name)
        for a in ones:
            yield f"{name} {a.dtype.name}: {' '.join(answer(function, a, b) for b in ones)}"
            yield f"{name} {a.dtype.name} weak: {' '.join(answer(function, a, b) for b in WEAK.values())}"
    for name in UNARY.split():
        yield f"{name}: {' '.join(answer(getattr(np, name), a) for a in ones)}"
    for name in FOLDS.split():
        yield f"{name}: {' '.join(answer(getattr(np, name), a) for a in ones)}"


DRAWS = {
    "random": lambda rng, n: rng.random(n),
    "uniform": lambda rng, n: rng.uniform(-3.0, 5.5, n),
    "integers_10": lambda rng, n: rng.integers(0, 10, n),
    "integers_odd": lambda rng, n: rng.integers(-7, 2**31, n),
    "integers_32": lambda rng, n: rng.integers(-(2**31), 2**31, n),
    "integers_wide": lambda rng, n: rng.integers(-(2**62), 2**62, n),
    "integers_all": lambda rng, n: rng.integers(-(2**63), 2**63 - 1, n, endpoint=True),
    "integers_one": lambda rng, n: rng.integers(4, 5, n),
    "standard_normal": lambda rng, n: rng.standard_normal(n),
    "normal": lambda rng, n: rng.normal(2.0, 0.25, n),
    "standard_exponential": lambda rng, n: rng.standard_exponential(n),
    "exponential": lambda rng, n: rng.exponential(3.0, n),
    "permutation": lambda rng, n: rng.permutation(n),
    "choice": lambda rng, n: rng.choice(np.arange(77), n),
    "spawned": lambda rng, n: rng.spawn(2)[1].random(n),
}


def streams():
    """Yield the lines of the table of streams.

    An odd number of 32-bit draws comes before other draws, because the generator keeps half a word.
    """
    for seed in (0, 1, 12345678901234567890123):
        rng = np.random.default_rng(seed)
        for name, draw in DRAWS.items():
            for n in (1, 3, 5001):
                words = np.ascontiguousarray(draw(rng, n)).view(np.uint64)
                factors = np.arange(1, 2 * n, 2, dtype=np.uint64)
                yield f"{seed} {name} {n} {int((words * factors).sum()):x} {int(words[-1]):x}"


def results(folder):
    """Yield the lines of the table of programs' results; `folder` is for their files."""
    for name in demo.PROGRAMS:
        run, _ = demo.run_numelt(name, demo.QUICK[name], folder)
        yield f"{name} {' '.join(demo.QUICK[name])}"
        for key, array in run.arrays.items():
            shape = ",".join(map(str, array.shape))
            yield f"  {key} {array.dtype.name} ({shape}) {zlib.crc32(array.tobytes()):08x}"


def main():
    """Write the tables."""
    with tempfile.TemporaryDirectory() as folder:
        RESULTS.write_text("\n".join(results(Path(folder))) + "\n")
    FOLDER.mkdir(parents=True, exist_ok=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (FOLDER / "promotion.txt").write_text("\n".join(promotion()) + "\n")
    (FOLDER / "streams.txt").write_text("\n".join(streams()) + "\n")


if __name__ == "__main__":
    main()
