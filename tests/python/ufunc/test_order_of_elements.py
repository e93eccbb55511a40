"""Results that depend on the order in which NumPy reads: complex64 products, floats beyond uint32."""

import operator
import warnings

import numpy
import pytest

import numelt

from ..support.compare import as_numpy

SIZES = [2, 3, 5, 8, 33, 1000, 5003]


def same_bits(ours, theirs, context):
    ours, theirs = numpy.asarray(as_numpy(ours)), numpy.asarray(theirs)
    assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape), context
    assert ours.tobytes() == theirs.tobytes(), context


def complex64(size, seed):
    rng = numpy.random.default_rng(seed)
    return (rng.standard_normal(size) + 1j * rng.standard_normal(size)).astype("c8")


PRODUCTS = {
    "forwards": lambda np, a, b: a * b,
    "backwards": lambda np, a, b: a[::-1] * b,
    "second backwards": lambda np, a, b: a * b[::-1],
    "both backwards": lambda np, a, b: a[::-1] * b[::-1],
    "steps": lambda np, a, b: a[::-2] * b[::2],
    "by a number": lambda np, a, b: a[::-1] * (1.25 - 0.5j),
    "by an element": lambda np, a, b: a[::-1] * b[0],
    "by one element": lambda np, a, b: a[::-1] * b[:1],
    "square": lambda np, a, b: np.square(a[::-1]),
    "power": lambda np, a, b: a[::-1] ** 2,
    "into": lambda np, a, b: np.multiply(a[::-1], b, out=np.empty_like(b)),
    "into backwards": lambda np, a, b: np.multiply(a[::-1], b[::-1], out=np.empty_like(b)[::-1]),
    "in place": lambda np, a, b: operator.imul(b, a[::-1]),
    "in place on itself": lambda np, a, b: operator.imul(a, a[::-1]),
    "in place backwards": lambda np, a, b: operator.imul(b[::-1], a),
    "rows": lambda np, a, b: a.reshape(1, -1)[:, ::-1] * b,
    "fused": lambda np, a, b: (a[::-1] * b + a) * 2,
    "c16": lambda np, a, b: a.astype("c16")[::-1] * b.astype("c16"),
}


@pytest.mark.core
@pytest.mark.parametrize("product", PRODUCTS)
@pytest.mark.parametrize("size", SIZES)
def test_complex_products(product, size):
    results = []
    for np in (numpy, numelt):
        a, b = np.array(complex64(size, 1)), np.array(complex64(size, 2))
        results.append(PRODUCTS[product](np, a, b))
    same_bits(*reversed(results), product)


@pytest.mark.core
def test_complex_products_of_planes():
    views = [
        lambda a: a,
        lambda a: a[::-1],
        lambda a: a[:, ::-1],
        lambda a: a[::-1, ::-1],
        lambda a: a[:1],
        lambda a: a[:, :1],
    ]
    orders = [numpy.ascontiguousarray, numpy.asfortranarray]
    for shape in ((40, 50), (2, 1000), (2, 4096), (2, 4097), (3, 700), (3, 1, 5000), (2, 3, 4)):
        for order in orders if len(shape) == 2 else orders[:1]:
            x, y = order(complex64(shape, 3)), order(complex64(shape, 4))
            for i, left in enumerate(views):
                for j, right in enumerate(views):
                    ours = left(numelt.array(x)) * right(numelt.array(y))
                    same_bits(ours, left(x) * right(y), (shape, order, i, j))
                same_bits(left(numelt.array(x)) * numelt.array(y)[0], left(x) * y[0], (shape, order, i))


@pytest.mark.core
@pytest.mark.parametrize("axis", [None, 0, 1, 2, (0, 1), (1, 2), (0, 2)])
def test_products_of_all_numbers_along_axes(axis):
    """Where the axes that stay run backwards, NumPy multiplies by its loop for negative strides."""
    views = [
        lambda a: a[::-1],
        lambda a: a[:, ::-1],
        lambda a: a[..., ::-1],
        lambda a: a[::-1, :, ::-1],
        lambda a: a.T[..., ::-1],
        lambda a: a.T[::-1],
        lambda a: a[..., ::-2],
    ]
    values = complex64((3, 5, 7), 5) + numpy.complex64(1)
    for i, view in enumerate(views):
        same_bits(view(numelt.array(values)).prod(axis=axis), view(values).prod(axis=axis), i)


def test_complex_products_warn_in_their_own_name():
    for np in (numpy, numelt):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("default")
            a = np.full(50, 1e30 + 0j, "c8")
            numpy.asarray(a[::-1] * a)
        assert {str(w.message) for w in caught} >= {"overflow encountered in multiply"}
        assert all("multiply" in str(w.message) for w in caught)


BEYOND = [-1.0, 1e10, -1e10, 3e9, 1e20, -1e20, numpy.nan, numpy.inf, 2.0**31, 2.0**32, 1.5, 7e4, 2.0**32 + 1]

ASSIGNMENTS = {
    "all": lambda np, x: put(np.zeros(x.shape, "u4"), ..., x),
    "slice": lambda np, x: put(np.zeros(x.shape[0] + 3, "u4"), slice(2, -1), x),
    "copyto": lambda np, x: copied(np, np.zeros(x.shape, "u4"), x),
    "steps": lambda np, x: put(np.zeros(2 * x.shape[0], "u4"), slice(None, None, 2), x),
    "from steps": lambda np, x: put(np.zeros(len(x[::2]), "u4"), ..., x[::2]),
    "backwards": lambda np, x: put(np.zeros(x.shape, "u4"), slice(None, None, -1), x),
    "to rows": lambda np, x: put(np.zeros((3, x.shape[0]), "u4"), ..., x),
    "to columns": lambda np, x: put(np.zeros((x.shape[0], 3), "u4"), ..., x[:, None]),
    "part of rows": lambda np, x: put(np.zeros((2, x.shape[0] + 1), "u4"), (..., slice(1, None)), x),
    "fortran": lambda np, x: put(np.zeros((x.shape[0], 2), "u4", order="F"), ..., np.stack([x, x]).T),
    "planes": lambda np, x: put(np.zeros((2, x.shape[0]), "u4"), ..., np.stack([x, x])),
}


def put(target, where, values):
    target[where] = values
    return target


def copied(np, target, values):
    np.copyto(target, values, casting="unsafe")
    return target


@pytest.mark.core
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("assignment", ASSIGNMENTS)
@pytest.mark.parametrize("size", [1, 3, 4, 7, 8, 33, 1030, 5003])
def test_floats_stored_as_uint32(assignment, size, dtype):
    x = numpy.resize(numpy.array(BEYOND), size).astype(dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = [ASSIGNMENTS[assignment](np, np.array(x)) for np in (numelt, numpy)]
        same_bits(*results, assignment)


@pytest.mark.parametrize("np", [numpy, numelt])
def test_ranges_from_minus_zero(np):
    for dtype in (None, "f4", "f2", "f8"):
        made = np.arange(-0.0, 3, dtype=dtype)
        assert numpy.signbit(numpy.asarray(made)).tolist() == [True, False, False]
    assert np.arange(-0.0).size == 0
    assert np.arange(-0.0, -1.0).size == 0


def test_fields_of_elements():
    z = numpy.arange(6) * (1 + 2j)
    for np in (numelt, numpy):
        a = np.array(z.reshape(2, 3))
        part = a.getfield("f8", 8)
        assert part.base is not None
        part[0] = 7
        assert a[0].imag.tolist() == [7, 7, 7]
        a.T.setfield([1, 2], "f8")
        assert a.real.tolist() == [[1, 1, 1], [2, 2, 2]]
        a[:, ::2].setfield(9, np.float64, 8)
        assert a.imag.tolist() == [[9, 7, 9], [9, 8, 9]]
    for call in (
        lambda np, a: a.getfield("f8", 12),
        lambda np, a: a.getfield("f8", -8),
        lambda np, a: a.getfield("i4", 6).tolist(),
        lambda np, a: a.getfield("S4", 6).shape,
        lambda np, a: a.getfield("f4", 4).tolist(),
        lambda np, a: np.broadcast_to(a, (2, 6)).setfield(1, "f8"),
        lambda np, a: a.getfield("O", 0),
    ):
        outcomes = []
        for np in (numpy, numelt):
            try:
                outcomes.append(call(np, np.array(z)))
            except (ValueError, TypeError, RuntimeError) as error:
                outcomes.append((type(error), str(error)))
        assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize("dtype", ["?", "u1", "i2", "u4", "i8", "f2", "f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("size", [0, 1, 6, 2000])
def test_byteswap(dtype, size):
    x = numpy.arange(2 * size).astype(dtype).reshape(2, size)
    for view in (lambda a: a, lambda a: a.T, lambda a: a[:, ::-2]):
        with numpy.errstate(all="ignore"):
            ours, theirs = view(numelt.array(x)).byteswap(), view(x).byteswap()
        assert ours.strides == theirs.strides
        assert ours.tobytes() == theirs.tobytes()
        a = numelt.array(x)
        same = view(a)
        assert same.byteswap(inplace=True) is same
        b = x.copy()
        view(b).byteswap(inplace=True)
        assert a.tobytes() == b.tobytes()
    locked = numelt.array(x)
    locked.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        locked.byteswap(inplace=True)


@pytest.mark.parametrize(
    "key",
    [
        (slice(0.0, None), 0.0),
        (slice(0.0, None), 0),
        (0, slice(None, 1.5)),
        (slice(0.0, None), [0]),
        (slice(0.0, None), 7),
        slice(0.0, None),
        (True,) * 64,
        (True,) * 80,
        (False,) * 63,
        (numpy.array([0]),) * 64,
        (None,) * 70,
    ],
)
def test_keys_that_are_refused(key):
    outcomes = []
    for np in (numpy, numelt):
        for act in (lambda a: a[key].shape, lambda a: a.__setitem__(key, 1.0)):
            try:
                outcomes.append(act(np.ones((1, 1))))
            except (IndexError, TypeError, ValueError) as error:
                outcomes.append((type(error), str(error)))
    assert outcomes[:2] == outcomes[2:]
