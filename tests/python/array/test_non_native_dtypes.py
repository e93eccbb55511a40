"""Arrays of objects, text, dates and records: items, operators, and calls that go directly to NumPy."""

import datetime
import gc
import weakref
from decimal import Decimal
from fractions import Fraction

import numpy
import pytest

import numelt

from ..support.compare import assert_same

OPERATIONS = [
    "o[0]", "o[-1]", "o[1:]", "o[[0, 2]]", "o[m]", "o[9]", "o + o", "o * 2", "2 * o", "o - 1", "o == 2",
    "o < 2", "o != None", "o.sum()", "o.max()", "np.add(o, o)", "np.add.reduce(o)",
    "np.multiply.outer(o, o)", "o // 2", "o @ o", "-o", "o ** 2", "t[0]", "t[m]", "t == 'bc'", "t + 'x'",
    "np.char.add(t, t)", "np.char.upper(t)", "t[:, None]", "t.astype('U1')", "t.tolist()",
    "t.reshape(3, 1)", "d[0]", "d - d[0]", "d + 1", "d > d[1]", "d + np.timedelta64(1, 'D')", "np.diff(d)",
    "d.astype(int)", "d.max()", "np.sort(d)", "r[0]", "r['a']", "r['b'] * 2", "r['b'].sum()",
    "r[['a', 'b']]", "r[r['a'] > 1]", "r['c']", "r[1]['b']", "r['a'][::-1]", "r.dtype.names", "r == r",
    "np.sort(r, order='b')", "len(r)", "r['v'][1]", "r['v'].shape", "list(o)", "list(t)",
    "[q for q in r['a']]", "o.flat[1]", "list(t.flat)", "o.copy()[0]", "np.concatenate([o, o])",
    "np.where(m, o, 0)", "o.tolist()", "o.item(1)", "bool(o[0] == 1)", "np.isin(t, ['a'])", "o + [1, 2, 3]",
    "[1, 2, 3] + o", "o + x", "x + o", "o > x", "x * o", "o += 1",
    "np.arange('2024-01-01', '2024-01-05', dtype='M8[D]')", "np.arange(d[0], d[1], 9)",
    "np.arange(d[0], d[1], np.timedelta64(1, 'W'))", "np.arange(np.timedelta64(5, 's'))",
    "np.arange('a', 'b')", "np.arange('2024-01', '2024-03', dtype='M8')", "np.arange(Decimal(3))",
    "np.arange(np.longdouble(2))", "np.arange(datetime.date(2024, 1, 1), datetime.date(2024, 1, 3))",
    "np.arange(d[0], d[1], d)", "np.diff(o)", "np.diff(t)", "np.diff(x.astype('>f8'))", "np.diff(r)",
    "np.diff(d[:0])", "np.diff(d[:1])", "np.diff(r['b'])", "np.diff(o[::-1])", "np.diff(o[0:0])",
    "np.diff(d, 2)", "np.diff(np.array('2024', 'M8'))", "d - np.datetime64('2024-01-01')",
    "np.datetime64('2024-01-01') < d", "np.isnat(d)", "d[1:] - d[:-1]", "o * Decimal(2)",
    "o - Fraction(1, 3)", "Fraction(1, 3) - o", "o * np.float64(2)", "np.float32(2) * o", "o * x.sum()",
    "abs(o)", "+o", "~o", "-d", "abs(d - d[0])", "-(d - d[1])", "-t", "~(d == d[0])", "t * 2", "t + t",
    "t == t[0]", "t < np.str_('b')", "d % 2", "d / 2", "(d - d[0]) / np.timedelta64(1, 'h')",
    "(d - d[0]) // np.timedelta64(2, 'D')", "d + d", "o & 1", "o << 1", "1 << o", "o ** Fraction(1, 2)",
    "o + Other()", "Other() + o", "o + Refusing()", "Refusing() + o", "o == Refusing()",
    "r['b'] == Other()", "x.astype(object)", "x.astype(str)", "x.astype('S3')", "x.astype('>f8')",
    "x.astype('>f8') + 1", "x.astype('>i4').view(np.uint8)", "x.view('>f8')", "x.view('>f8')[0]",
    "x.astype('M8[s]')", "d.astype(str)", "d.astype(object)", "o.astype(float)", "t.astype(bytes)",
    "t.astype(object)", "m.astype('U5')", "np.array([1, 'a', None], dtype=object)",
    "np.array([x, x], dtype=object)", "np.array([x, d], dtype=object)",
    "np.array([x[0], x.sum()], dtype=object)", "np.array([1, 2], dtype=str)",
    "np.array(['1', '2'], dtype=float)", "np.array(['a', 'b'], dtype=bytes)",
    "np.array(['2024-01-01'], dtype='M8[D]')", "np.array(list(d))", "np.array([Decimal(1), Decimal(2)])",
    "np.array([np.sin, len], dtype=object)[1]", "np.full(2, None, object)", "np.zeros(2, object)",
    "np.array(o, dtype=object)", "np.array(dtype=object, object=[x[:1], x[:2], 1])[2]",
    "np.asarray(['a'], dtype=object)", "d.reshape(3, 1).shape", "d.shape", "len(d)", "len(np.array('a'))",
    "len(r[0])", "r.view(np.recarray).a", "d.view(np.int64)", "d.view(np.int64)[1:]", "t.view('U1')",
]  # fmt: skip


class Other:
    """A class that does not know arrays."""

    def __add__(self, other):
        return "left"

    def __radd__(self, other):
        return "right"


class Refusing(Other):
    """A class that carries out its operators itself."""

    __array_ufunc__ = None

    def __eq__(self, other):
        return "equal"

    __hash__ = None


def operands(np):
    record = [("a", "i4"), ("b", "f8"), ("v", "f8", (2,))]
    return {
        "np": np, "Decimal": Decimal, "datetime": datetime, "Fraction": Fraction, "Other": Other,
        "Refusing": Refusing,
        "m": np.array([True, False, True]), "x": np.array([1.0, 2.0, 3.0]),
        "o": np.array([1, 2, 3], object),
        "t": np.array(["a", "bc", "d"]), "d": np.array(["2024-01-01", "2024-03-01", "2023-05-05"], "M8[D]"),
        "r": np.array([(1, 2.5, [1, 2]), (3, 0.5, [3, 4])], record),
    }  # fmt: skip


def outcome(text, np):
    space = operands(np)
    try:
        if "+=" in text:
            exec(text, space)
            return space["o"]
        return eval(text, space)
    except Exception as error:
        return type(error), str(error)


@pytest.mark.parametrize("text", OPERATIONS)
def test_same_as_numpy(text):
    ours, theirs = outcome(text, numelt), outcome(text, numpy)
    if isinstance(theirs, (numpy.ndarray, numpy.generic)):
        assert_same(ours, theirs)
    else:
        assert str(ours) == str(theirs)
        assert type(ours) is type(theirs) or isinstance(ours, type(theirs))


@pytest.mark.parametrize(
    "thing", [[], [1], {}, {"a": 1}, (1, 2), set(), datetime.date(2024, 1, 1), None, "text"]
)
def test_objects_are_the_very_objects(thing):
    o = numelt.empty(2, object)
    o[0] = thing
    assert o[0] is thing
    assert next(iter(o)) is thing
    grid = numelt.empty((2, 2), object)
    grid[1, 0] = thing
    assert grid[1, 0] is thing
    grid[(0, 1)] = thing
    assert grid[0][1] is thing


def test_lists_in_arrays_grow():
    neighbours = numelt.empty(3, object)
    for i in range(3):
        neighbours[i] = []
    for i in range(3):
        neighbours[i].append((i + 1) % 3)
        neighbours[(i + 1) % 3].append(i)
    assert [sorted(found) for found in neighbours] == [[1, 2], [0, 2], [0, 1]]


def test_our_arrays_in_arrays_of_objects():
    held = numelt.empty(2, object)
    x = numelt.arange(3.0)
    held[0] = x
    x[1] = 7.0
    assert held[0] is x
    assert held[0][1] == 7.0


def test_items_stored():
    for np in (numelt, numpy):
        space = operands(np)
        space["o"][1:] = [7, 8]
        space["o"][0] = 2.5
        space["t"][0] = "zz"
        space["d"][1] = "2020-02-02"
        space["r"]["a"] = 5
        space["r"]["b"][0] = 9.0
        space["r"][1] = (8, 1.0, [0, 0])
        if np is numelt:
            ours = space
    for name in "otdr":
        assert_same(ours[name], space[name])


def test_fields_are_one_memory():
    r = numelt.zeros(4, [("a", "i4"), ("b", "f8")])
    first, second = r["b"], r["b"]
    first += 1.0
    second[0] = 5.0
    r[1] = (3, 7.0)
    assert first.tolist() == second.tolist() == r["b"].tolist() == [5.0, 7.0, 1.0, 1.0]
    part = r[1:]["a"]
    part[:] = 4
    assert r["a"].tolist() == [0, 4, 4, 4]
    del r
    assert first.sum() == 14.0


def test_each_item_counts_as_a_fallback():
    o = numelt.array([1, 2, 3], object)
    numelt.coverage(reset=True)
    for i in range(3):
        o[i]
    found = [
        entry for entry in numelt.coverage(reset=True).fallbacks if entry.function == "ndarray.__getitem__"
    ]
    assert [entry.calls for entry in found] == [3]
    assert not numelt.coverage().fallbacks


FLAT = [
    "f[0]", "f[-1]", "f[7]", "f[1:4]", "f[[0, 2]]", "f[99]", "f[m]", "len(f)", "list(f)", "next(f)",
    "(next(f), next(f), f.index)", "(next(f), next(f), f.coords)", "(next(f), f[3], f.index, next(f))",
    "f == 1.0", "np.array(f)", "sum(f)", "f.copy()", "[*f, f.index]", "sorted(f)", "max(f)",
    "f.base.shape", "f['a']", "f[1.0]", "f[...]",
]  # fmt: skip
LAYOUTS = [
    "np.arange(12.0).reshape(3, 4)", "np.arange(12).reshape(3, 4).T", "np.arange(24)[::-2]",
    "np.zeros((0, 3))", "np.array(5.0)", "np.arange(12).reshape(3, 2, 2)[:, ::-1, 1:]",
    "np.array([[1, 'a']], object)",
]  # fmt: skip


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("text", FLAT)
def test_flat(layout, text):
    def found(np):
        a = eval(layout, {"np": np})
        space = {"np": np, "f": a.flat, "m": np.arange(a.size) % 2 == 0}
        try:
            return eval(text, space)
        except (Exception, StopIteration) as error:
            return type(error), str(error)

    ours, theirs = found(numelt), found(numpy)
    if isinstance(theirs, numpy.ndarray):
        assert_same(ours, theirs)
    else:
        assert str(ours) == str(theirs)


def test_flat_stores():
    def stored(np):
        a = np.zeros((2, 3), "i4").T
        a.flat[1] = 5
        a.flat[-1] = 2.9
        a.flat[[2, 3]] = 7
        a.flat[2:4] = [8, 9]
        for key, value, error in [(9, 1, IndexError), (0, "x", ValueError)]:
            with pytest.raises(error):
                a.flat[key] = value
        frozen = np.zeros(2)
        frozen.flags.writeable = False
        with pytest.raises(ValueError, match="read-only"):
            frozen.flat[0] = 1.0
        return a

    assert_same(stored(numelt), stored(numpy))


def test_lent_views_are_kept_and_found_out():
    x = numelt.arange(6.0)
    assert numelt.add.reduceat(x, [0, 2]).tolist() == [1.0, 14.0]
    x.shape = (2, 3)
    assert numelt.partition(x, 1, axis=1).shape == (2, 3)
    x.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        numelt.put(x, [0], [1.0])
    assert numelt.hypot.outer(x, x).shape == (2, 3, 2, 3)
    seen = []

    def look(row):
        seen.append(weakref.ref(row))
        return row.sum()

    assert numelt.apply_along_axis(look, 1, x).tolist() == [3.0, 12.0]
    del x
    assert all(ref() is None or ref().shape == (3,) for ref in seen)


DTYPES = [
    "M8[D]", "m8[15s]", "M8", "U3", "S2", "O", "V3", ">i4", ">f8", ">c8", "g", [("a", "i4"), ("b", "f8")],
    [("a", "U2"), ("b", ">i8")], [("a", "M8[h]"), ("b", "O")], [(("title", "a"), "i2")],
    {"names": ["a"], "formats": ["f8"], "offsets": [4], "itemsize": 16},
]  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("key", [(), (slice(None, None, -2),), (slice(0),), (1,)], ids=str)
def test_numpy_reads_the_same_memory(dtype, key):
    """NumPy's `asarray` of our array has its dtype, shape, strides and flags, and is not a copy."""
    made = []
    for np in (numelt, numpy):
        whole = np.zeros(5, dtype)
        part = whole[key]
        made.append(numpy.asarray(part if hasattr(part, "ndim") and part.ndim else whole))
        if np is numelt:
            ours, memory = whole, made[0]
    got, want = made
    assert got.dtype == want.dtype
    assert (got.shape, got.strides) == (want.shape, want.strides)
    assert got.flags.writeable == want.flags.writeable
    assert numpy.shares_memory(memory, ours.__array__()) == (memory.size > 0)
    before = memory.tolist()
    del ours
    gc.collect()
    assert memory.tolist() == before


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_what_numpy_reads_of_an_array_that_cannot_be_written(dtype):
    array = numelt.zeros(2, dtype)
    array.flags.writeable = False
    assert not numpy.asarray(array).flags.writeable


def test_texts_of_any_length_are_read_by_their_own_dtype():
    array = numelt.array(["a", "longer than what fits into the element itself"], "T")
    assert not hasattr(array, "__array_struct__")
    assert numpy.asarray(array).tolist() == array.tolist()


def test_objects_go_with_their_array():
    class Thing:
        pass

    thing = Thing()
    gone = weakref.ref(thing)
    array = numelt.array([thing, None], dtype=object)
    part, same = array[:1], array.__array__()
    del thing, array, same
    gc.collect()
    assert gone() is part[0]
    del part
    gc.collect()
    assert gone() is None


def test_what_ends_with_an_array_may_use_arrays():
    seen = []

    class Last:
        def __del__(self):
            seen.append((numelt.arange(3) + 1).sum() + len(numelt.array([None, "a"], dtype=object)))

    for _ in range(100):
        array = numelt.array([Last(), Last()], dtype=object)
        del array
    gc.collect()
    assert [int(n) for n in seen] == [8] * 200


def test_an_array_of_objects_holds_the_very_objects():
    x = numelt.arange(3.0)
    held = numelt.array([x, "a", numelt.sin, x.sum], dtype=object)
    theirs = numpy.array([0, "a", None, None], dtype=object)
    assert held.shape == theirs.shape
    assert held[1] == "a"
    assert numelt.array([numelt.float64(1), None], dtype=object)[1] is None


@pytest.mark.parametrize(
    "statement",
    [
        "o[0] = w",
        "o[1:] = [1, w]",
        "o[-1] = o",
        "o[[0, 2]] = 'x'",
        "o[0:2] = o[1:]",
        "w[0] = 'zz'",
        "w[::2] = 'long text'",
        "w[w == 'b'] = 'q'",
        "r['x'] = np.arange(3.)",
        "r['x'][1] = 7",
        "r[0] = (1.5, 'a')",
        "r[1:] = r[:2]",
        "o[5] = 1",
        "w['x'] = 1",
        "o[0, 0] = 1",
        "o.setflags(write=False); o[0] = 1",
    ],
)
def test_storing(statement):
    results = []
    for np in (numpy, numelt):
        names = {"np": np, "o": np.array([1, None, "c"], dtype=object), "w": np.array(["a", "b", "cc"])}
        names["r"] = np.zeros(3, dtype=[("x", "f8"), ("s", "U2")])
        try:
            exec(statement, names)
            told = None
        except Exception as error:
            told = type(error), str(error)
        if statement == "o[0] = w":
            assert names["o"][0] is names["w"]
            names["o"][0] = 0
        if statement == "o[-1] = o":
            assert names["o"][-1] is names["o"]
            names["o"][-1] = 0
        results.append((told, [str(names[name].tolist()) for name in "owr"]))
    assert results[0] == results[1]
