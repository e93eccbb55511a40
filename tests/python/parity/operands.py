"""The operands of the calls in the tables: the same arrays in NumPy and in numelt, in every layout.

A call names its operands by letters. With `n` elements of the case's dtype:

======  ====================================================================================================
x, y    vectors
A, B    matrices, as square as `n` allows
C       an array of three axes
i       integers, positions in `x`
m, M    truth values, as many as `x` has, and in the shape of `A`
s       a scalar of NumPy's
z       an array without axes
w       a vector of float64, whatever the dtype
======  ====================================================================================================
"""

import math

import numpy

import numelt

NATIVE = [
    "?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16",
]  # fmt: skip
NOT_NATIVE = ["q", "g", ">i4", ">f8", "O", "U2", "S2", "M8[D]", "m8[h]"]
INTEGERS = NATIVE[1:9]
FLOATS = ["f4", "f8"]
REAL = [*NATIVE[:9], *FLOATS]
COMPLEX = ["c8", "c16"]
FEW = ["?", "i1", "u2", "i8", "f2", "f4", "f8", "c16"]
ALL = [*NATIVE, *NOT_NATIVE]

# the names of operands
LETTERS = frozenset("xyABCimMszw")

# special values in arrays of floats, besides ordinary numbers
SPECIAL = [-0.0, 0.0, numpy.nan, numpy.inf, -numpy.inf, 5e-324]


class Derived(numpy.ndarray):
    """A class over NumPy's arrays."""


class Ours(numelt.ndarray):
    """The same class over numelt's arrays."""


Ours.__name__ = Ours.__qualname__ = "Derived"

# Layouts in which elements share memory, or which are read-only. Calls that write to them raise errors, or
# are undefined in NumPy itself.
READ_ONLY = ("broadcast", "read-only")
OVERLAPPING = ("windows",)
LAYOUTS = (
    "dense", "Fortran", "strided", "reversed", "negative steps", "offset", "broadcast", "windows",
    "read-only",
    "derived", "lent", "waiting", "0-d", "empty",
)  # fmt: skip


def values(dtype, count, seed, domain="any"):
    """Return `count` numbers of a dtype, the same ones in every run."""
    rng = numpy.random.default_rng([seed, count])
    kind = numpy.dtype(dtype)
    if kind.kind in "USM":
        numbers = rng.integers(0, 30, count)
        return numbers.astype("i8").astype(kind) if kind.kind == "M" else numbers.astype(kind)
    low, high = {"positive": (1, 60), "small": (0, 7), "unit": (0, 2)}.get(domain, (-60, 60))
    if kind.kind in "?buimO" or kind.char in "qQ":
        if kind.kind == "b":
            return rng.random(count) < 0.5
        made = rng.integers(max(low, 0) if kind.kind == "u" else low, high, count)
        return made.astype(kind)
    ends = {"positive": (0.01, 50), "small": (-5, 5), "unit": (-1, 1)}.get(domain, (-50, 50))
    made = rng.uniform(*ends, count)
    if kind.kind == "c":
        made = made + 1j * rng.uniform(-2, 2, count)
    with numpy.errstate(all="ignore"):
        made = made.astype(kind)
    if domain == "any" and count > 4:
        with numpy.errstate(all="ignore"):
            special = numpy.array(SPECIAL).astype(kind)
        made[rng.integers(0, count, min(6, count // 2))] = special[: min(6, count // 2)]
    return made


def rows_of(count):
    """Return the shape of a matrix of `count` elements that is as close to a square as possible."""
    rows = next((r for r in range(math.isqrt(count), 1, -1) if count % r == 0), min(count, 1))
    return rows, count // rows if rows else 0


def arranged(np, flat, shape, layout):
    """Return the elements of `flat` in a shape and a layout, as an array of the library `np`."""
    if layout == "0-d":
        return np.array(flat[:1].reshape(()))
    if layout == "empty":
        return np.array(flat[:0].reshape((0,) * (len(shape) > 0) + shape[1:]))
    whole = flat.reshape(shape)
    if layout == "Fortran":
        return np.array(numpy.asfortranarray(whole))
    if layout == "strided":
        return np.array(numpy.repeat(whole, 2, axis=-1))[..., ::2]
    if layout == "reversed":
        turned = (slice(None, None, -1),) * len(shape)
        return np.array(whole[turned].copy())[turned]
    if layout == "negative steps":
        return np.array(numpy.repeat(whole[::-1], 3, axis=0))[::-3]
    if layout == "offset":
        return np.array(numpy.concatenate([flat[:1], flat]))[1:].reshape(shape)
    if layout == "broadcast":
        return np.broadcast_to(np.array(whole[:1]), shape)
    if layout == "windows":
        return windows(np, flat, shape)
    made = np.array(whole)
    if layout == "read-only":
        made.flags.writeable = False
    elif layout == "derived":
        made = made.view(Ours if np is numelt else Derived)
    elif layout == "lent":
        return numelt.asarray(whole.copy()) if np is numelt else whole.copy()
    elif layout == "waiting" and whole.dtype.kind in "iuc":
        made = made + made.dtype.type(0)
    return made


def windows(np, flat, shape):
    """Return an array whose rows overlap; a vector is reversed and takes every other element."""
    if len(shape) < 2 or not flat.size:
        return np.array(numpy.repeat(flat[::-1], 2))[::-2]
    base = np.array(flat)
    step = base.itemsize
    return np.lib.stride_tricks.as_strided(base, shape, (step, step))


def operands(np, names, dtype, n, layout, domain):
    """Return the operands that a call names."""
    if layout == "0-d":  # it has one element, whatever `n` is
        n = 1
    shape = rows_of(n)
    made = {}
    shapes = {"x": (n,), "y": (n,), "A": shape, "B": shape, "C": (shape[0], *rows_of(shape[1]))}
    for at, (name, extents) in enumerate(shapes.items()):
        if name in names:
            made[name] = arranged(np, values(dtype, n, at, domain), extents, layout)
    count = {"0-d": 1, "empty": 0}.get(layout, n)
    plain = layout if layout in ("strided", "reversed", "negative steps", "0-d", "empty") else "dense"
    if "i" in names:
        at = numpy.random.default_rng(n).integers(-count, max(count, 1), n) if count else numpy.zeros(n, int)
        made["i"] = arranged(np, at, (n,), plain)
    if "m" in names:
        made["m"] = arranged(np, numpy.random.default_rng(n + 1).random(n) < 0.4, (n,), plain)
    if "M" in names:
        made["M"] = arranged(np, numpy.random.default_rng(n + 2).random(n) < 0.4, shape, plain)
    if "w" in names:
        made["w"] = arranged(np, values("f8", n, 9, domain), (n,), plain)
    one = values(dtype, 1, 5, "small")
    if "s" in names:
        made["s"] = one[0]
    if "z" in names:
        made["z"] = np.array(one.reshape(()))
    return made
