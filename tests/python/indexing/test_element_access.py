"""Programs that access single elements: NumPy's scalars on the left, assignments, small products."""

import bisect
import operator
import warnings

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

import numelt

from ..support.compare import assert_same

pytestmark = pytest.mark.quick


NATIVE = [
    "?", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64",
    "float16", "float32", "float64", "complex64", "complex128",
]  # fmt: skip
OPERATORS = [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow,
    operator.lt, operator.le, operator.eq, operator.ne, operator.gt, operator.ge, operator.and_,
    operator.or_, operator.xor, operator.lshift,
]  # fmt: skip


SHAPES = [((7,), (7,)), ((3, 7), (7,)), ((7,), (7, 4)), ((3, 7), (7, 4)), ((2, 3, 7), (7, 4)), ((0,), (0,))]


def outcome(function):
    """Return the result of a call, or the class and text of its exception."""
    try:
        return function()
    except (TypeError, ValueError, OverflowError, IndexError) as error:
        return type(error), str(error)


def check(function):
    """Assert that `function` of the module has the same result in both packages."""
    ours, numpys = outcome(lambda: function(numelt)), outcome(lambda: function(numpy))
    if isinstance(numpys, tuple):
        assert ours == numpys
    else:
        assert_same(ours, numpys)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("scalar", NATIVE)
@pytest.mark.parametrize("array", NATIVE)
def test_scalar_of_numpys_on_the_left(scalar, array):
    left = numpy.dtype(scalar).type(3)
    for act in OPERATORS:
        check(lambda np, act=act: act(left, np.array([1, 2, 0, 1], dtype=array)))
        check(lambda np, act=act: act(left, np.array([1, 2, 0, 1], dtype=array).max()))


def test_scalar_on_the_left_is_recorded():
    array = numelt.arange(5.0)
    with numelt.inspect() as reports:
        result = numpy.float64(2.0) * array + 1.0
        total = numpy.float64(2.0) * array.sum()
        assert_same(result, 2.0 * numpy.arange(5.0) + 1.0)
        assert float(total) == 20.0
    assert len(reports.flushes) == 1


@pytest.mark.filterwarnings("ignore")
@given(
    target=st.sampled_from(NATIVE),
    value=st.one_of(
        st.integers(-300, 300),
        st.floats(),
        st.booleans(),
        st.complex_numbers(),
        st.integers(-(2**70), 2**70),
        st.sampled_from(NATIVE).map(lambda kind: numpy.dtype(kind).type(1)),
        st.just("text"),
        st.just([1, 2]),
        st.just([7]),
        st.none(),
    ),
    row=st.integers(-4, 4),
    column=st.integers(-3, 3),
    transposed=st.booleans(),
)
def test_store_of_one_element(target, value, row, column, transposed):
    def store(np):
        array = np.zeros((4, 3), dtype=target)
        view = array.T[::-1] if transposed else array
        view[row, column] = value
        return array

    check(store)


def test_store_sees_pending_work_and_is_seen_by_it():
    def program(np):
        a = np.arange(6.0)
        b = a * 2
        a[2] = 100.0  # after b has read a
        c = a + b
        a[3] = c[2] + a[2]
        a[0] = a.sum()
        return a + 0, b + 0, c + 0

    for ours, numpys in zip(program(numelt), program(numpy), strict=True):
        assert_same(ours, numpys)


def test_store_into_read_only():
    array = numelt.arange(3.0)
    array.flags.writeable = False
    with pytest.raises(ValueError, match="assignment destination is read-only"):
        array[1] = 2.0


@given(
    kind=st.sampled_from(["float32", "float64", "complex64", "complex128", "int32", "int64", "?", "float16"]),
    shapes=st.sampled_from(SHAPES),
    steps=st.tuples(st.sampled_from([1, 2, -1]), st.sampled_from([1, 2, -1])),
    pending=st.booleans(),
)  # fmt: skip
def test_small_products(kind, shapes, steps, pending):
    """Whole numbers, so that the order of the sum does not matter."""

    def product(np):
        operands = []
        for place, (shape, step) in enumerate(zip(shapes, steps, strict=True)):
            full = np.array(numpy.arange(1 + 2 * int(numpy.prod(shape)))[1:] % (5 + place), dtype=kind)
            operands.append(full[::2].reshape(shape)[::step][::step])
        a, b = operands
        if pending:
            a = a + a
        return a @ b

    check(product)


def test_product_that_overflows_warns_like_numpy():
    a = numelt.array([1e200, 1.0])
    with pytest.warns(RuntimeWarning, match="overflow encountered in matmul"):
        assert float(a @ a) == numpy.inf


@given(
    items=st.lists(
        st.one_of(
            st.integers(-(2**62), 2**62),
            st.floats(),
            st.booleans(),
            st.floats().map(numpy.float64),
            st.integers(-(2**62), 2**62).map(numpy.int64),
            st.floats(width=32).map(numpy.float32),
        ),
        min_size=1,
        max_size=5,
    ),
    dtype=st.sampled_from([None, "float32", "float64", "int64", "int8", "complex128"]),
    nested=st.booleans(),
)
@pytest.mark.filterwarnings("ignore")
def test_arrays_from_scalars(items, dtype, nested):
    values = [items, items] if nested else items
    check(lambda np: np.array(values, dtype=dtype))


def test_arrays_from_results():
    def program(np):
        a = np.arange(6.0)
        return np.array([a.sum(), a.max(), a[2], 1.0]), np.array([[a.argmax(), 3], [a[4] > 2, 7]])

    for ours, numpys in zip(program(numelt), program(numpy), strict=True):
        assert_same(ours, numpys)


@pytest.mark.parametrize("name", ["vstack", "hstack", "column_stack", "dstack"])
@given(
    shapes=st.lists(
        st.sampled_from([(3,), (2,), (2, 3), (1, 3), (2, 3, 2), (), (0,)]), min_size=1, max_size=3
    ),
    kinds=st.lists(st.sampled_from(["float64", "int32"]), min_size=3, max_size=3),
    transposed=st.booleans(),
)
def test_stacks(name, shapes, kinds, transposed):
    def program(np):
        parts = [np.ones(shape, dtype=kind) for shape, kind in zip(shapes, kinds, strict=False)]
        return getattr(np, name)([part.T for part in parts] if transposed else parts)

    check(program)


FOREIGN = {
    "records": lambda np: np.array([(1.5, 2), (2.5, 3)], dtype=[("x", "f8"), ("y", "i4")]),
    "texts": lambda np: np.array(["a", "bc"]),
    "dates": lambda np: np.array(["2024-01-01", "2024-03-01"], dtype="datetime64[D]"),
    "objects": lambda np: np.array([1, "x"], dtype=object),
    "big end": lambda np: np.array([1.0, 2.0], dtype=">f8"),
    "long": lambda np: np.array([1.0, 2.0], dtype="longdouble"),
}


@pytest.mark.parametrize("kind", FOREIGN)
@pytest.mark.parametrize(
    "act",
    [
        lambda np, a: a[0],
        lambda np, a: a[::-1],
        lambda np, a: a["x"],
        lambda np, a: a["x"] * 2,
        lambda np, a: a == a,
        lambda np, a: a == a[0],
        lambda np, a: a - a[0],
        lambda np, a: a * 2,
        lambda np, a: a + "z",
        lambda np, a: a < None,
        lambda np, a: a[np.array([True, False])],
        lambda np, a: a[[1, 0]],
        lambda np, a: a[5],
        lambda np, a: a.copy(),
    ],
)
def test_operators_of_other_dtypes(kind, act):
    def program(np):
        return act(np, FOREIGN[kind](np))

    check(program)


def test_fields_are_views_and_counted():
    a = FOREIGN["records"](numelt)
    field = a["x"]
    field *= 10
    a["y"][0] = 7
    a["x"] += 1
    assert a.tolist() == [(16.0, 7), (26.0, 3)]
    calls = {(f.function, f.filename == __file__) for f in numelt.coverage().fallbacks}
    assert ("ndarray.__getitem__", True) in calls


@pytest.mark.parametrize("kind", NATIVE)
def test_arrays_are_sequences(kind):
    def program(np):
        a = np.array([0, 1, 1, 3], dtype=kind)
        last = bisect.bisect(a, a[2]) if a.dtype.kind != "c" else None
        return list(reversed(a)), last, len(a), operator.countOf(a, 1), a.tolist().index(a[3])

    check(lambda np: np.array(program(np)[0]))
    assert program(numelt)[1:] == program(numpy)[1:]


@pytest.mark.parametrize("kind", NATIVE)
@pytest.mark.parametrize("convert", [int, float, complex, bool, str, repr, hash, round, abs, operator.index])
def test_conversions_of_results(kind, convert):
    def program(np):
        return convert(np.array([2, 1], dtype=kind).max())

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # complex numbers lose their imaginary part
        ours, numpys = outcome(lambda: program(numelt)), outcome(lambda: program(numpy))
    assert ours == numpys
    if not isinstance(numpys, (tuple, numpy.generic)):
        assert type(ours) is type(numpys)


def test_reading_elements_leaves_their_other_readers_pending(recorded):
    a = numelt.arange(12.0).reshape(3, 4)
    numelt.flush()
    row = a[1, :3] * 2
    pending = numelt._core.pending()
    assert pending > 0
    assert a[2, 3] == 11.0
    assert a[2].dot(a[2]) == 366.0
    assert numelt._core.pending() == pending
    a[1, 0] = 50.0
    assert row.tolist() == [8.0, 10.0, 12.0]


def test_small_products_run_at_once_whatever_the_error_state_was():
    with numelt.errstate(divide="ignore"):
        pass
    a = numelt.array([1.0, 2.0, 3.0])
    numelt.flush()
    assert type(a @ a) is numpy.float64
    assert type(numelt.dot(a[:0], a[:0])) is numpy.float64
    assert numelt._core.pending() == 0
    with numelt.errstate(over="raise"), pytest.raises(FloatingPointError):
        float(numelt.dot(a * 1e200, a * 1e200))
    big = a * 1e200
    numelt.flush()
    with pytest.warns(RuntimeWarning, match="overflow encountered in dot"):
        float(numelt.dot(big, big))


def test_triangular_loops_agree():
    def programs(np):
        a = np.array(numpy.random.default_rng(3).random((9, 9)) + 9 * numpy.eye(9))
        x = np.zeros(9)
        for i in range(9):
            x[i] = (1.0 - a[i, :i] @ x[:i]) / a[i, i]
            a[: i + 1, i] += x[i] * a[i, : i + 1]
            a[i, i] -= np.dot(a[i, :i], a[:i, i])
        b = a.copy()
        for i in range(9):
            for k in range(9):
                b[i, : i + 1] += a[i, k] * a[: i + 1, k]
        return x, a, b

    for ours, numpys in zip(programs(numelt), programs(numpy), strict=True):
        assert_same(ours, numpys)


def test_long_loops_repeat_the_same_cuts():
    def program(np):
        u = np.linspace(0.0, 1.0, 40)
        v = np.zeros(40)
        for _ in range(500):
            v[1:-1] = 0.5 * (u[2:] + u[:-2]) - u[1:-1]
            u[1:-1] += 0.1 * v[1:-1]
        return u

    expected = program(numpy)
    for _ in range(4):
        assert_same(program(numelt), expected)


def test_flat_of_many_axes():
    assert len(numelt.ones((1,) * 32).flat) == 1
    with pytest.raises(RuntimeError, match="32 dimensions but the array has 33"):
        _ = numelt.ones((1,) * 33).flat


def test_buffer_of_an_array_is_an_array_over_its_memory():
    x = numelt.arange(6.0).reshape(2, 3)
    y = numelt.asarray(memoryview(x))
    assert y is not x
    assert numelt.shares_memory(x, y)
    assert not numelt.shares_memory(x, numelt.array(memoryview(x)))


SETS = [
    "np.arange(5)[np.array(2)] = [1, 2, 3]",
    "np.arange(5.0)[np.array(2)] = [1, 2, 3]",
    "np.arange(5)[2] = (1, 2)",
    "np.arange(5)[np.array(2)] = np.arange(3)",
    "np.arange(5)[np.int64(2)] = [1]",
    "np.zeros((5, 2))[np.array(2)] = [1, 2]",
    "np.zeros((5, 2))[np.array(2)] = [1, 2, 3]",
    "np.zeros((5, 2))[np.array(2), 1] = [1, 2]",
    "np.zeros((5, 2))[np.array(2), np.array(1)] = [1]",
    "np.zeros(())[()] = [1, 2]",
    "np.zeros(())[...] = [1, 2]",
    "np.zeros(())[...] = [1]",
    "np.zeros(3)[:] = [[1, 2, 3]]",
    "np.zeros(3)[...] = [[[1]]]",
    "np.zeros(3)[:1] = [[1]]",
    "np.zeros((3, 3))[0] = [[1, 2, 3]]",
    "np.zeros((3, 3))[:, 0] = ([1, 2, 3],)",
    "np.zeros((3, 3))[0] = np.array([[1, 2, 3]])",
    "np.zeros((3, 3))[:] = [[1, 2, 3]]",
    "np.zeros((3, 3))[None] = [[[1, 2, 3]]]",
    "np.zeros((3, 3))[1:, None] = [[[1, 2, 3]]]",
    "np.zeros(3)[[0, 1, 2]] = [[1, 2, 3]]",
    "np.zeros(3)[np.ones(3) > 0] = [[1, 2, 3]]",
    "np.zeros(3)[np.array(True)] = [1, 2, 3, 4]",
]


@pytest.mark.parametrize("statement", SETS)
def test_sequences_are_stored_or_refused(statement):
    results = []
    for np in (numelt, numpy):
        made, _, rest = statement.partition("[")
        array = eval(made, {"np": np})
        try:
            exec("array[" + rest, {"np": np, "array": array})
            results.append(array.tolist())
        except (TypeError, ValueError) as error:
            results.append((type(error), str(error)))
    assert results[0] == results[1]


ITEM_KEYS = [
    (), (0,), (3,), (-1,), (-13,), (100,), (True,), ((0,),), (0, 1), (0, 1, 1), ((0, 1, 1),), (1.0,), ([1],),
    (numpy.int64(2),), ("a",), (1 << 70,), (-1, -1, -1), (0, 3, 0),
]  # fmt: skip
CUBES = {
    "cube": lambda a: a,
    "reversed": lambda a: a[::-1, :, ::-1],
    "transposed": lambda a: a.T,
    "strided": lambda a: a[:, ::2, 1::2],
    "one": lambda a: a[:1, :1, :1],
    "vector": lambda a: a[0, 0],
    "0-d": lambda a: a[0, 0, 0, ...],
    "empty": lambda a: a[:0, 0],
}


@pytest.mark.core
@pytest.mark.parametrize("layout", CUBES)
def test_item_counts_elements_in_c_order(layout):
    cube = numpy.arange(24.0).reshape(2, 3, 4)
    for key in ITEM_KEYS:
        found = []
        for array in map(CUBES[layout], (numelt.array(cube), cube)):
            try:
                value = array.item(*key)
                found.append((type(value), value))
            except Exception as error:
                found.append((type(error), str(error)))
        assert found[0] == found[1], key


@pytest.mark.core
@pytest.mark.parametrize("dtype", NATIVE)
@pytest.mark.parametrize("n", [0, 1, 3, 1000, 2048, 2049])
def test_new_arrays_of_every_size_of_element(dtype, n):
    for _ in range(20):
        assert_same(numelt.full(n, 1, dtype), numpy.full(n, 1, dtype))
        assert_same(numelt.zeros((n, 2), dtype), numpy.zeros((n, 2), dtype))
    assert_same(numelt.full(n, 2.5), numpy.full(n, 2.5))
    assert_same(numelt.full(n, 1 + 2j), numpy.full(n, 1 + 2j))


@pytest.mark.core
@pytest.mark.parametrize("n", [0, 1, 3, 64, 65, 1000, 2048, 2049])
def test_ranges_of_every_length(n):
    for _ in range(20):
        assert_same(numelt.arange(n), numpy.arange(n))
        assert_same(numelt.arange(float(n)), numpy.arange(float(n)))
    assert_same(numelt.arange(5, 5 - n, -1), numpy.arange(5, 5 - n, -1))
    assert_same(numelt.arange(n, dtype=float), numpy.arange(n, dtype=float))
    assert_same(numelt.arange(0.5, n, 0.25), numpy.arange(0.5, n, 0.25))


@pytest.mark.core
@pytest.mark.parametrize(
    "ends", [(2**53, 2**53 + 5), (2**60, 2**60 + 9, 3), (-(2**60), 2**60, 2**59), (2**62, 2**62 + 3)]
)
def test_ranges_of_large_ints(ends):
    assert_same(numelt.arange(*ends), numpy.arange(*ends))
    assert_same(numelt.arange(*ends, dtype=float), numpy.arange(*ends, dtype=float))


@pytest.mark.core
@pytest.mark.parametrize(
    "value",
    [[1, 2, 3], [[1.5], [2]], (True, False, True), [1, 2], "x", ["a", "b", "c"], 1j, True, None, 2**70, 7.9],
)
@pytest.mark.parametrize("dtype", [None, int, "f4", bool, complex, object])
def test_full_of_values_and_sequences(value, dtype):
    found = []
    for np in (numelt, numpy):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found.append(("value", np.full((2, 3), value, dtype)))
        except Exception as error:
            found.append((type(error), str(error)))
    assert found[0][0] == found[1][0], found
    if found[1][0] == "value":
        assert_same(found[0][1], found[1][1])
    else:
        assert found[0] == found[1]


AXES_OF = {
    "diag": [(), (1,), (-1,), (7,), (-7,), ("a",), (1.0,), (numpy.int64(1),)],
    "atleast_1d": [()], "atleast_2d": [()], "atleast_3d": [()], "trace": [(), (1,), (-2,)],
    "take": [([0, 0],), ([-1],), ([True, 0],), ([0.0],), ([99],), ([],)], "tolist": [()],
}  # fmt: skip


@pytest.mark.core
@pytest.mark.parametrize("dtype", ["f8", "i4", "c16", "?"])
@pytest.mark.parametrize("name", AXES_OF)
def test_diagonals_and_new_axes(name, dtype):
    cube = (numpy.arange(60).reshape(3, 4, 5) % 7).astype(dtype)
    views = {
        "matrix": lambda a: a[0], "turned": lambda a: a[0].T, "reversed": lambda a: a[1, ::-1, ::2],
        "row": lambda a: a[0, 1], "step": lambda a: a[0, ::-2, 3], "cube": lambda a: a,
        "0-d": lambda a: a[0, 0, 0, ...], "none": lambda a: a[0, :0], "empty row": lambda a: a[0, 0, :0],
    }  # fmt: skip
    for label, view in views.items():
        for rest in AXES_OF[name]:
            found = []
            for np in (numelt, numpy):
                array = view(np.array(cube))
                try:
                    made = array.tolist() if name == "tolist" else getattr(np, name)(array, *rest)
                    flags = made.flags.writeable if name in ("diag", "atleast_2d") else None
                    found.append(
                        ("value", made, getattr(made, "strides", None), flags, np.shares_memory(made, array))
                    )
                except Exception as error:
                    found.append((type(error), str(error)))
            if found[1][0] == "value":
                assert_same(found[0][1], found[1][1], context=f"{label} {rest}")
                assert found[0][2:] == found[1][2:], (label, rest, found)
            else:
                assert found[0] == found[1], (label, rest)


BEYOND = [2**63, -(2**63) - 1, 10**20, numpy.uint64(2**63), numpy.uint64(2**64 - 1)]


@pytest.mark.parametrize("index", BEYOND, ids=repr)
@pytest.mark.parametrize(
    "where", [lambda k: k, lambda k: (k,), lambda k: (0, k), lambda k: (k, slice(None)), lambda k: (..., k)]
)
@pytest.mark.parametrize("shape", [(), (5,), (3, 4)])
def test_integers_beyond_64_bits(index, where, shape):
    def outcome(call):
        try:
            return call()
        except Exception as error:
            return type(error), str(error)

    key = where(index)
    theirs, ours = numpy.ones(shape), numelt.ones(shape)
    assert outcome(lambda: ours[key]) == outcome(lambda: theirs[key])
    assert outcome(lambda: ours.__setitem__(key, 2)) == outcome(lambda: theirs.__setitem__(key, 2))
