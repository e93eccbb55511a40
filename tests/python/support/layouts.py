"""Arrays in every memory layout that matters, made in the same way in NumPy and in numelt."""

import numpy

NATIVE = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
FLOATS = ["float32", "float64"]
COMPLEX = ["complex64", "complex128"]

# name -> (shape of the base, view of it)
LAYOUTS = {
    "scalar": ((), lambda x: x),
    "empty": ((0,), lambda x: x),
    "empty2": ((3, 0), lambda x: x),
    "vector": ((7,), lambda x: x),
    "long": ((1031,), lambda x: x),
    "matrix": ((5, 6), lambda x: x),
    "cube": ((2, 3, 4), lambda x: x),
    "strided": ((9, 8), lambda x: x[::2, 1::3]),
    "reversed": ((6, 5), lambda x: x[::-1, ::-1]),
    "transposed": ((4, 6), lambda x: x.T),
    "middle": ((5, 4, 6), lambda x: x[1:-1, :, 2]),
    "column": ((6, 1), lambda x: x),
    "one_row": ((1, 6), lambda x: x),
}


def data(dtype, shape, seed, domain="any"):
    """Return deterministic values of a dtype; `domain` keeps them where the function is defined."""
    rng = numpy.random.default_rng([seed, *map(int, shape)])
    dtype = numpy.dtype(dtype)
    if dtype.kind == "b":
        return numpy.asarray(rng.random(shape) < 0.5)
    if dtype.kind in "iu":
        low, high = {"positive": (1, 100), "small": (0, 7), "unit": (0, 2)}.get(domain, (-100, 100))
        if dtype.kind == "u":
            low = max(low, 0)
        return numpy.asarray(rng.integers(low, high, shape)).astype(dtype)
    if domain == "unit":
        values = rng.uniform(-1, 1, shape)
    elif domain == "positive":
        values = rng.uniform(0.01, 50, shape)
    elif domain == "small":
        values = rng.uniform(-5, 5, shape)
    else:
        values = rng.standard_normal(shape) * rng.choice([1e-3, 1.0, 50.0], shape)
    if dtype.kind == "c":
        values = values + 1j * rng.uniform(-2, 2, shape)
    return numpy.asarray(values, dtype=dtype)


def pair(np, dtype, layout, seed, domain="any"):
    """Return the same view in NumPy and in `np`."""
    shape, view = LAYOUTS[layout]
    base = data(dtype, shape, seed, domain)
    return view(base), view(np.array(base))


# name -> for n rows: the first row, and the extents and strides (in rows) of the two axes that replace them
OVERLAPPING = {
    "windows": lambda n: (0, (n - 1, 2), (1, 1)),
    # fewer windows for long arrays, because NumPy takes a minute for the sums of 32,000 of them
    "wide windows": lambda n: (0, (min(n // 2, 300), n // 2), (1, 1)),
    "every other": lambda n: (0, ((n - 1) // 2, 3), (2, 1)),
    "repeated": lambda n: (0, (3, n), (0, 1)),
    "repeats": lambda n: (0, (n, 2), (1, 0)),
    "one": lambda n: (1, (4, 3), (0, 0)),
    "turned": lambda n: (1, (n - 1, 2), (1, -1)),
    "backwards": lambda n: (n - 1, (n - 1, 2), (-1, -1)),
    # all elements are distinct, although no axis steps over everything that the other one reaches
    "interleaved": lambda n: (0, (2, 3), (3, 2)),
}


def overlapping(np, array, way):
    """Return a view in which several indices share an element; `None` if the array has too few rows."""
    if array.ndim == 0 or len(array) < (8 if way == "interleaved" else 3):
        return None
    first, lengths, rows = OVERLAPPING[way](len(array))
    steps = (rows[0] * array.strides[0], rows[1] * array.strides[0])
    shape, strides = (*lengths, *array.shape[1:]), (*steps, *array.strides[1:])
    return np.lib.stride_tricks.as_strided(array[first:], shape, strides)
