"""What the test suites of installed libraries have found: a short program for each cause."""

import operator
import subprocess
import sys
import warnings
from typing import Any

import numpy
import pytest

import numelt

# ---- pandas -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "program",
    [
        'd["a"][0] = 1',
        'd["a"].iloc[0] = 1',
        'd["a"].loc[[0, 1]] = np.array([7, 8])',
        'd[["a"]]["a"] = np.arange(3)',
        'd["a"].fillna(1, inplace=True)',
        'd["a"].replace(1, 2, inplace=True)',
        'd["a"].mask(np.array([True, False, True]), 5, inplace=True)',
        'd["a"].update(pd.Series(np.arange(3)))',
        'd.loc[0, "a"] = 4',
        'd["b"] = np.ones(3)',
    ],
)
def test_chained_assignments_are_told(program: str) -> None:
    pandas = pytest.importorskip("pandas")
    told = []
    for module in (numpy, numelt):
        space = {"np": module, "pd": pandas, "d": pandas.DataFrame({"a": [1, 2, 3]})}
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            exec(compile(program, "program", "exec"), space)
        told.append([(w.category, str(w.message), w.filename, w.lineno) for w in caught])
        told[-1].append(space["d"].to_dict())
    assert told[0] == told[1]


ARRAYS = [
    lambda np: np.zeros(3, "m8[s]"),
    lambda np: np.array(["2020-01-02", "NaT"], "M8[ns]"),
    lambda np: np.array(["2020", "2021"], "M8[s]").reshape(2, 1)[::-1],
    lambda np: np.arange(3),
    lambda np: np.arange(3.0) * 0.5,
    lambda np: np.array([1, None], dtype=object),
    lambda np: np.array(3),
    lambda np: np.array([], "m8[s]"),
    lambda np: np.array([True, False]),
    lambda np: np.array("2020-01-02", "M8[s]"),
]
OPERATORS = [
    *(operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, divmod),
    *(operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge, operator.or_),
    *(operator.iadd, operator.isub, operator.imul),
]


def _outcome(function: Any, *args: Any) -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = function(*args)
    except Exception as error:
        return type(error).__name__, str(error)
    return type(made).__name__, repr(made), str(getattr(made, "dtype", None))


@pytest.mark.parametrize("function", OPERATORS, ids=lambda f: f.__name__)
def test_operators_of_compiled_scalars(function: Any) -> None:
    """pandas recognizes arrays by NumPy's class: equality was False where it is an array."""
    pd = pytest.importorskip("pandas")
    scalars = [
        *(pd.Timedelta(days=1), pd.Timestamp("2020-01-02"), pd.Timestamp("2020-01-02", tz="UTC"), pd.NaT),
        *(pd.Period("2020-01", "M"), pd.NA, pd.offsets.MonthEnd(2), pd.Interval(0, 1), pd.offsets.Day(1)),
    ]
    for make in ARRAYS:
        for scalar in scalars:
            for swapped in (False, True):
                got = [
                    _outcome(function, *((scalar, make(np)) if swapped else (make(np), scalar)))
                    for np in (numpy, numelt)
                ]
                assert got[0] == got[1], (make(numpy), scalar, swapped)


def test_equality_with_a_timestamp_is_an_array_of_ours() -> None:
    pandas = pytest.importorskip("pandas")
    dates = numelt.array(["2020-01-02", "2020-01-03"], "M8[D]")
    for made in (dates == pandas.Timestamp("2020-01-02"), pandas.Timestamp("2020-01-02") == dates):
        assert type(made) is numelt.ndarray
        assert made.tolist() == [True, False]


@pytest.mark.parametrize("make", [lambda np: np.array([1, 7], object), lambda np: np.array([1, 7], "m8[s]")])
@pytest.mark.parametrize("other", [2, None, "x", [1, 2], numpy.array([3, 4], object)], ids=repr)
def test_divmod_of_what_is_not_native(make: Any, other: Any) -> None:
    for swapped in (False, True):
        arguments = [(other, make(np)) if swapped else (make(np), other) for np in (numpy, numelt)]
        assert _outcome(divmod, *arguments[0]) == _outcome(divmod, *arguments[1])


PICKLES = """
import pickle, numpy as np, pandas as pd, datetime
from sklearn.tree import DecisionTreeClassifier
from scipy import sparse

class Mine:
    def __init__(self, **held):
        vars(self).update(held)

objects = [
    pd.array([1, 2, None]), pd.Series(np.array([1.0, 2])), pd.Series(["a", "b"]), pd.Index(np.arange(3)),
    pd.DataFrame({"a": np.arange(3), "b": list("abc"), "c": np.arange(3) > 1}),
    pd.date_range("2020", periods=3), pd.arrays.SparseArray(np.array([0, 0, 1.0])),
    pd.Categorical(["a", "b"]), pd.interval_range(0, 3),
    pd.period_range("2020", periods=3, freq="M"), pd.MultiIndex.from_product([[1, 2], ["a", "b"]]),
]
for one in objects:
    for protocol in range(6):
        again = pickle.loads(pickle.dumps(one, protocol))
        if isinstance(again, (pd.DataFrame, pd.Series)):
            again = pd.concat([again, again])
        print(again, again.drop_duplicates() if hasattr(again, "drop_duplicates") else again.unique())
        print("isna", None if isinstance(again, pd.MultiIndex) else again.isna().sum())
tree = pickle.loads(pickle.dumps(DecisionTreeClassifier(random_state=0).fit(np.eye(4), np.arange(4))))
print(tree.predict(np.eye(4)), tree.tree_.node_count)
matrix = pickle.loads(pickle.dumps(sparse.csr_array(np.eye(3))))
print((matrix @ matrix).toarray(), matrix.data.dtype)
both = pickle.loads(pickle.dumps(Mine(x=np.arange(3), frame=objects[4], y=[np.ones(2)])))
print(type(both.x) is np.ndarray, isinstance(both.y[0], np.ndarray), both.frame.a.sum())
plain = pickle.loads(pickle.dumps({"a": (datetime.date(2020, 1, 1), np.arange(3))}))
print(type(plain["a"][1]) is np.ndarray)
"""


def assert_prints_the_same(folder: Any, text: str) -> None:
    """Return whether a program prints under the launcher what it prints with NumPy."""
    program = folder / "program.py"
    program.write_text(text)
    printed = []
    for options in ([], ["-m", "numelt"]):
        command = [sys.executable, *options, str(program)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode == 0, done.stderr[-2000:]
        printed.append(done.stdout)
    assert printed[0] == printed[1]


def test_pickles_of_objects_that_hold_numpys_arrays(tmp_path: Any) -> None:
    pytest.importorskip("pandas")
    pytest.importorskip("sklearn")
    assert_prints_the_same(tmp_path, PICKLES)


@pytest.mark.parametrize(
    "program",
    [
        lambda np, pd: pd.arrays.NumpyExtensionArray(np.arange(3)),
        lambda np, pd: pd.array([1, 2, None])[np.array([True, False, True])],
        lambda np, pd: pd.Categorical(["a", "b"])[np.array([1])],
        lambda np, pd: pd.api.indexers.check_array_indexer(pd.array([1, 2]), np.array([True, False])),
        lambda np, pd: pd.IntervalIndex(np.array([pd.Interval(0, 1), pd.Interval(1, 2)], dtype=object)),
        lambda np, pd: pd.IntervalIndex.from_breaks(np.arange(3)),
        lambda np, pd: pd.PeriodIndex.from_fields(year=np.array([2020]), month=np.array([1]), freq="M"),
        lambda np, pd: pd.PeriodIndex(np.array(["2020-01", "2020-02"], "M8[D]"), freq="M"),
        lambda np, pd: pd.DatetimeIndex(np.array(["2020-01-01"], "M8[ns]")),
        lambda np, pd: pd.to_timedelta(np.array(5), unit="s"),
        lambda np, pd: pd.to_numeric(np.array([1.0, 2.0]), downcast="integer"),
        lambda np, pd: pd.TimedeltaIndex(["1s", "2s"]) * np.array([2, 3]),
        lambda np, pd: pd.TimedeltaIndex(["1s", "2s"]) / np.array([2, 3]),
        lambda np, pd: pd.DatetimeIndex(["2020-01-01"]) + np.array([1], "m8[D]"),
        lambda np, pd: pd.PeriodIndex(["2020-01"], freq="M") < np.array([pd.Period("2020-02", "M")]),
        lambda np, pd: pd.RangeIndex(5)[np.array([True, False, True, False, True])],
        lambda np, pd: pd.Series([1, 2, 3]).groupby(np.array([0, 0, 1])).transform("sum"),
        lambda np, pd: pd.DataFrame({"k": [1]}).merge(
            pd.DataFrame({"v": [3]}), left_on="k", right_on=np.array([1])
        ),
        lambda np, pd: pd.DataFrame({"v": [1, 2, 3]}).pivot_table("v", index=np.array([0, 0, 1])),
        lambda np, pd: pd.crosstab(np.array([0, 1, 1]), np.array([1, 1, 0])),
        lambda np, pd: pd.get_dummies(np.array(["a", "b"])),
        lambda np, pd: pd.Series([1, 2, 3]).map(lambda x: np.where(x > 1, 0, 1)),
        lambda np, pd: pd.Series([1, 2, 3]).map(lambda x: np.array([x, x])),
        lambda np, pd: pd.Series(["a", "b"]).map(lambda x: [x, np.arange(2)]),
        lambda np, pd: pd.Index([1, 2]).map(lambda x: np.arange(x).sum()),
        lambda np, pd: pd.date_range("2020", periods=np.arange(3).max()),
        lambda np, pd: pd.period_range("2020", periods=np.arange(3).max(), freq="M"),
        lambda np, pd: pd.interval_range(np.arange(3).min(), periods=np.arange(3).max()),
        lambda np, pd: pd.Series([1, 2, 3])[lambda s: np.array([True, False, True])],
        lambda np, pd: pd.DataFrame({"a": [1, 2]}).loc[lambda d: np.array([True, False])],
        lambda np, pd: pd.DataFrame({"a": [1, 2]}).assign(b=lambda d: np.arange(2)),
        lambda np, pd: pd.Series(["a", "b"]).str.cat(np.array(["c", "d"])),
    ],
)  # fmt: skip
def test_pandas_takes_our_arrays_everywhere(program: Any) -> None:
    pandas = pytest.importorskip("pandas")
    made = []
    for module in (numpy, numelt):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = program(module, pandas)
        held = getattr(getattr(result, "_values", result), "_ndarray", None)
        assert type(held) is not numelt.ndarray
        made.append((type(result).__name__, repr(result), [str(w.message) for w in caught]))
    assert made[0] == made[1]


INDEXERS = """
import numpy as np, pandas as pd
from pandas.api.indexers import BaseIndexer

class Pairs(BaseIndexer):
    def get_window_bounds(self, num_values=0, min_periods=None, center=None, closed=None, step=None):
        start = np.arange(num_values, dtype=np.int64)
        return start, np.minimum(start + 2, num_values)

windows = pd.Series(np.arange(5.0)).rolling(Pairs(window_size=2), min_periods=1)
print(windows.sum().tolist(), windows.apply(np.mean, raw=True).tolist())
"""


def test_windows_of_the_programs_own(tmp_path: Any) -> None:
    pytest.importorskip("pandas")
    assert_prints_the_same(tmp_path, INDEXERS)


# ---- xarray, dask, and classes with protocols -------------------------------------------------------

LABELS = """
import numpy as np, xarray as xr, dask.array as da
x = xr.Dataset({"d": ("x", np.array([1, 2, 3, 4], "m8[D]"))}, coords={"x": np.arange(4)})
print(x.d.dtype, x.interp(x=[0.5, 1.5]).d.values)
a = np.arange(10)
lazy = da.from_array(a, 5)
for data, mask in [(a, lazy > 3), (lazy, a > 3), (lazy, lazy > 3), (a, a > 3)]:
    kept = xr.DataArray(data).where(mask)
    print(type(kept.data), kept.values)
print(type(xr.DataArray(a).variable._data), xr.Variable("x", np.array(["2020"], "M8[D]")).dtype)
small = xr.DataArray(np.arange(400).reshape(100, 4).astype("i1"), dims=("t", "a"))
print(small.chunk({"t": 40}).rolling(t=72, min_periods=72).argmin().values.sum(where=True))
for clipped in (np.clip(lazy, 2, 5), np.clip(a, lazy.min(), 5)):
    print(type(clipped), clipped.compute())
"""

PROTOCOLS = """
import sys
import numpy as np

class Mine:
    def __array_function__(self, function, types, args, kwargs):
        return "function", function is np.concatenate, function is np.result_type

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return "ufunc", ufunc is np.add, ufunc is np.multiply, method

# a library calls NumPy itself
numpy = sys.modules["numpy"]
print(np.concatenate, np.result_type is not None)
for module in (np, numpy):
    mine = Mine()
    print(module.concatenate([mine]), module.result_type(mine, 1.0), module.sum(mine))
    print(module.add(mine, 1), module.multiply.reduce(mine), module.arange(3) + mine)
"""

READERS = """
import pickle
for name in ("load", "loads", "Unpickler"):
    one = getattr(pickle, name)
    print(name, pickle.loads(pickle.dumps(one)) is one, one.__name__)
for wrong in ("x", b"", b"cos\\nsystem_of_none\\n."):
    try:
        pickle.loads(wrong)
    except Exception as error:
        print(type(error), error)
"""


HIDDEN = """
import numpy as np

class Pair(tuple):
    pass

class Many(list):
    pass

class Around:
    def __init__(self, held):
        self.held = held

    def __array_function__(self, function, types, args, kwargs):
        held = tuple(item.held if type(item) is Around else item for item in args[0])
        return Around(self.held.__array_function__(function, (np.ndarray,), (held, *args[1:]), kwargs))

a = np.arange(3.0)
for kind in (Pair, Many):
    for held in ([a, a], [a, 1], [a, [1.5, 2.5, 3.5]], [np.float32(1), a.sum()], [a.reshape(1, 3), a]):
        for function in (np.hstack, np.vstack, np.concatenate, np.stack, np.column_stack, np.array, np.sum):
            try:
                print(function.__name__, function(kind(held)))
            except Exception as error:
                print(function.__name__, type(error), error)

class Sequence:
    def __init__(self, *held):
        self.held = held

    def __getitem__(self, at):
        return self.held[at]

    def __len__(self):
        return len(self.held)

for held in ((a, a), (a, 3), (a, np.eye(3)), (1, 2)):
    for function in (np.hstack, np.concatenate, np.stack):
        for given in (Sequence(*held), (np.array([1.0, 2.0]), Sequence(*held))):
            try:
                print(function.__name__, function(given))
            except Exception as error:
                print(function.__name__, type(error), error)
print(np.concatenate([Around(a), Around(a)]).held, np.stack([Around(a), a], 1).held)
print(a.reshape(1, 3)[Pair((0, 1))], a[Many([0, 2])], a[Pair((np.array([0, 1]),))])
"""


DECORATED = """
import functools, pickle
import numpy as np

class Bound:
    def __init__(self, function):
        self.function = function

    def __get__(self, instance, owner=None):
        return self if instance is None else functools.partial(self.function, instance)

def make(self, dtype=None, copy=None):
    return np.arange(3.0)

class Cached:
    __array__ = functools.lru_cache(make)

class Partial:
    make = make
    __array__ = functools.partialmethod(make)

class Decorated:
    __array__ = Bound(make)

class Property:
    @property
    def __array__(self):
        return lambda dtype=None, copy=None: np.arange(3.0)

class Static:
    @staticmethod
    def __array__(dtype=None, copy=None):
        return np.arange(3.0)

class Derived(Decorated):
    pass

class Without:
    __array__ = None

for kind in (Cached, Partial, Decorated, Property, Static, Derived):
    value = kind()
    print(np.float64(2) == value, np.float64(1) + value, np.arange(3) * value, np.add(value, 1))
    print(isinstance(value.__array__(), np.ndarray), np.float64(1) + pickle.loads(pickle.dumps(value)))
print(Cached.__array__.cache_info().misses > 0, type(Decorated.__array__) is Bound, Without.__array__)
"""


@pytest.mark.parametrize(
    "text",
    [PROTOCOLS, READERS, HIDDEN, DECORATED],
    ids=["protocols", "readers", "sequences of other classes", "decorated conversions"],
)
def test_programs_print_the_same(tmp_path: Any, text: str) -> None:
    assert_prints_the_same(tmp_path, text)


NETCDF = """
import sys, netCDF4, numpy as np
with netCDF4.Dataset("in memory", "w", diskless=True) as data:
    data.createDimension("x", 6)
    v = data.createVariable("v", "f8", ("x",))
    v[:] = np.arange(6.0)
    print(v[np.array([0, 3, 5])], v[np.arange(6) > 3], v[np.array(2)])
    v[np.array([1, 4])] = np.array([-1.0, -4.0])
    print(v[:])
"""


def test_netcdf_variables_by_positions(tmp_path: Any) -> None:
    pytest.importorskip("netCDF4")
    assert_prints_the_same(tmp_path, NETCDF)


HDF5 = """
import functools, h5py, numpy as np
with h5py.File("in memory", "w", driver="core", backing_store=False) as file:
    data = file.create_dataset("x", data=np.arange(24.0).reshape(4, 6))
    line = file.create_dataset("y", data=np.arange(10))
    for key in (np.array([1, 2, 5]), np.arange(10) > 4, np.array([0, 9], "u1"), np.array(3), [1, 2]):
        print(line[key])
    for key in (np.array([0, 2]), (np.array([0, 2]), ...), (0, np.arange(6) % 2 == 0), data[...] > 7):
        print(data[key])
        data[key] = -data[key]
    line[np.array([0, 1])] = np.array([7, 8])
    print(data[...], line[...], np.float64(3.0) == line)
    space = line.id.get_space()
    space.select_elements(np.array([[1], [4]]))
    print(space.get_select_npoints())
"""


def test_data_sets_of_h5py_by_positions(tmp_path: Any) -> None:
    pytest.importorskip("h5py")
    assert_prints_the_same(tmp_path, HDF5)


LISTS = """
import numpy as np
from scipy import sparse
mask = np.array([True, False, True, False])
for kind in (sparse.lil_array, sparse.lil_matrix, sparse.csr_array, sparse.dok_array):
    m = kind(np.eye(4)[:, :3])
    m[mask, :] = np.arange(6.0).reshape(2, 3)
    m[np.array([1, 3]), np.array([0, 2])] = np.array([7.0, 8.0])
    print(m.toarray(), m[~mask].toarray(), m[np.array([3, 0]), 1:].toarray())
    # columns of a table of positions, which are arrays with gaps
    pairs = np.array([[0, 1, 0], [1, 2, 1], [3, 0, 2]])
    print(m[pairs[:, 0], pairs[:, 1]], m[pairs[::2, 0][:, None], pairs[:2, 1]].toarray())
    m[pairs[:, 0], pairs[:, 1]] = pairs[:, 2]
    print(m.toarray())
"""


def test_sparse_matrices_by_positions(tmp_path: Any) -> None:
    pytest.importorskip("scipy")
    assert_prints_the_same(tmp_path, LISTS)


def test_labelled_arrays(tmp_path: Any) -> None:
    pytest.importorskip("xarray")
    pytest.importorskip("dask")
    pytest.importorskip("scipy")
    pytest.importorskip("bottleneck")
    assert_prints_the_same(tmp_path, LABELS)


BY_CLASS = """
import numpy as np, dask.array as da
from statsmodels.multivariate.factor import Factor
from statsmodels.tools.data import _is_using_ndarray_type
x = np.arange(6.0)
lazy = da.from_array(x), da.from_array(x, 3), da.asarray(x)
x[0] = 99
print([d.compute()[0] for d in lazy])
from statsmodels.stats.correlation_tools import corr_nearest_factor
low = corr_nearest_factor(np.array([[1, 0.5, 0.2], [0.5, 1, 0.1], [0.2, 0.1, 1.0]]), 1, maxiter=50, rng=0)
print(low.corr.to_matrix().round(4))
print(_is_using_ndarray_type(x, None), _is_using_ndarray_type(x, x), _is_using_ndarray_type([1], x))
factor = Factor(np.random.RandomState(0).normal(size=(50, 4)), n_factor=1, method="ml")
print(np.round(factor.loglike(np.ones(8) * 0.3), 4), np.round(factor.score(np.ones(8) * 0.3), 3))
"""


def test_libraries_that_ask_for_the_type_itself(tmp_path: Any) -> None:
    pytest.importorskip("dask")
    pytest.importorskip("statsmodels")
    assert_prints_the_same(tmp_path, BY_CLASS)


# ---- NumPy ------------------------------------------------------------------------------------------

COMPILED_TESTS = """
import numpy as np
from numpy._core._multiarray_tests import get_c_wrapping_array, incref_elide, test_as_c_array
x = np.arange(100_000.0)
copied, doubled = incref_elide(x)
print((copied == x).all(), (doubled == x + x).all())
print(test_as_c_array(x, 1, 7), get_c_wrapping_array(True).flags.writeable)
"""


def test_compiled_functions_of_numpys_test_suite_get_numpys_arrays(tmp_path: Any) -> None:
    # `incref_elide` ends the process if its argument is not a NumPy array
    assert_prints_the_same(tmp_path, COMPILED_TESTS)
