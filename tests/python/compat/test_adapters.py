"""Functions of libraries that need NumPy's own arrays get them: the results are the same as with NumPy's."""

import importlib
import importlib.util
import inspect
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest

import numelt
from numelt._dispatch import fallback
from numelt.compat import compiled

from ..support.compare import assert_same


def _frame() -> Any:
    pandas = pytest.importorskip("pandas")
    return pandas, pandas.DataFrame({"a": numpy.arange(5.0), "b": numpy.arange(5)})


def _write(target: Any, key: Any, value: Any) -> Any:
    target[key] = value
    return target


@pytest.mark.parametrize(
    "program",
    [
        lambda np, pd, df, mask: df[mask],
        lambda np, pd, df, mask: df.loc[mask, "a"],
        lambda np, pd, df, mask: df.iloc[mask],
        lambda np, pd, df, mask: df.a[mask],
        lambda np, pd, df, mask: df.a[~mask].mean(),
        lambda np, pd, df, mask: df.set_index(np.arange(5) * 2).loc[4],
        lambda np, pd, df, mask: df.groupby(np.array([0, 0, 1, 1, 1])).sum(),
        lambda np, pd, df, mask: df.a.groupby(mask).sum(),
        lambda np, pd, df, mask: pd.factorize(np.array([3, 1, 3]))[0],
        lambda np, pd, df, mask: pd.unique(np.array([3, 1, 3])),
        lambda np, pd, df, mask: _write(df, mask, 0.0),
        lambda np, pd, df, mask: _write(df, "c", np.arange(5) * 2),
        lambda np, pd, df, mask: _write(df.loc, (mask, "a"), np.ones(2)).obj,
        lambda np, pd, df, mask: _write(df.a, mask, np.ones(2)),
        lambda np, pd, df, mask: pd.DataFrame(np.array([(1, 2.0)], dtype="i4,f8")),
        lambda np, pd, df, mask: pd.DataFrame.from_records(np.array([(1, 2.0)], dtype="i4,f8")),
        lambda np, pd, df, mask: pd.DataFrame(np.eye(2), index=[np.array([1, 1]), np.array([1, 2])]),
        lambda np, pd, df, mask: pd.DataFrame({"x": np.arange(3), "y": [np.arange(2)] * 3}),
        lambda np, pd, df, mask: pd.Series(np.array([1, None], dtype=object)),
        lambda np, pd, df, mask: pd.Index(np.arange(3)),
        lambda np, pd, df, mask: pd.Series(np.arange(3)) + np.arange(3),
        lambda np, pd, df, mask: np.arange(3) + pd.Series(np.arange(3)),
        lambda np, pd, df, mask: pd.Series(np.arange(3)) == np.array([0, 5, 2]),
        lambda np, pd, df, mask: df * np.arange(2.0),
        lambda np, pd, df, mask: df.where(np.ones((5, 2)) > 0, 0.0),
        lambda np, pd, df, mask: df.a.isin(np.array([1.0, 2.0])),
        lambda np, pd, df, mask: df @ np.ones(2),
        lambda np, pd, df, mask: pd.Series(pd.cut(np.arange(4.0), np.array([0, 2, 5]))),
    ],
)
def test_pandas(program: Callable[..., Any]) -> None:
    results = []
    for np in (numpy, numelt):
        pandas, frame = _frame()
        results.append(program(np, pandas, frame, np.arange(5) > 2))
    theirs, ours = results
    if isinstance(theirs, numpy.ndarray | float):
        assert_same(ours, theirs)
    else:
        assert ours.equals(theirs)


def test_warnings_and_tracebacks_of_pandas_show_the_users_line() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": numelt.arange(3)})
    with pytest.raises(KeyError) as caught:
        frame["z"]
    files = {str(entry.path) for entry in caught.traceback}
    assert not any("compat" in file and "wrapping" in file for file in files)
    with pytest.warns(UserWarning, match="reindexed") as warned:
        frame[pandas.Series([True, False, True], index=[2, 1, 0])]
    assert warned[0].filename == __file__


def test_parameter_grids() -> None:
    selection = pytest.importorskip("sklearn.model_selection")
    linear = pytest.importorskip("sklearn.linear_model")
    found = []
    for np in (numpy, numelt):
        x = np.arange(60.0).reshape(20, 3) % 7
        search = selection.GridSearchCV(linear.Ridge(), {"alpha": np.logspace(-2, 2, 5)}, cv=3)
        found.append(search.fit(x, x @ np.arange(3.0)).best_params_)
    assert found[0] == found[1]


@pytest.mark.parametrize(
    "statement",
    [
        "utils.class_weight.compute_class_weight('balanced', classes=np.unique(c), y=c)",
        "linear_model.lars_path(x, y)[2]",
        "linear_model.orthogonal_mp(x, y)",
        "linear_model.RidgeCV(alphas=np.logspace(-3, 3, 5)).fit(x, y).coef_",
        "manifold.TSNE(init=x[:, :2], perplexity=5, max_iter=250).fit_transform(x).shape",
        "neighbors.NeighborhoodComponentsAnalysis(init=np.eye(3), max_iter=3).fit(x, c).components_",
        "preprocessing.MultiLabelBinarizer().fit([[1, 2], [3]]).inverse_transform(np.eye(3, dtype=int))",
        "base.clone(manifold.TSNE(init=np.eye(3))).init",
        "utils.check_random_state(np.random) is not None",
    ],
)
def test_scikit_learn(statement: str) -> None:
    parts = ("base", "linear_model", "manifold", "neighbors", "preprocessing", "utils")
    names = {part: pytest.importorskip(f"sklearn.{part}") for part in parts}
    pytest.importorskip("sklearn.utils.class_weight")
    results = []
    for np in (numpy, numelt):
        x = np.arange(90.0).reshape(30, 3) ** 2 % 7
        y = x @ np.arange(3.0)
        results.append(numpy.asarray(eval(statement, {**names, "np": np, "x": x, "y": y, "c": (y > 9) * 1})))
    assert results[0].shape == results[1].shape
    numpy.testing.assert_allclose(*results, rtol=1e-9)


def test_h5py_reads_into_ours(tmp_path: Any) -> None:
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "file.h5", "w") as file:
        file["x"] = numelt.arange(6.0)
        into = numelt.zeros(6)
        later = into + 1
        file["x"].read_direct(into)
        assert_same(into, numpy.arange(6.0))
        file["x"].write_direct(into * 2)
        assert_same(file["x"][:], numpy.arange(6.0) * 2)
    assert float(later.sum()) == 6.0


def test_numba_functions_take_ours() -> None:
    numba = pytest.importorskip("numba")

    np, square = numelt, numelt.square

    @numba.njit
    def double(a: Any, factor: float) -> float:
        total = np.sum(np.zeros(2)) + square(0.0)
        for i in range(a.shape[0]):
            a[i] *= factor
            total += a[i]
        return total

    x = numelt.arange(5.0)
    later = x + 1
    assert double(x, numelt.ones(3).mean() * 2) == 20.0
    assert_same(x, numpy.arange(5.0) * 2)
    assert float(later.sum()) == 15.0
    assert double(numpy.ones(2), 1.0) == 2.0


@pytest.mark.parametrize(
    "statement",
    [
        "ndimage.gaussian_filter(x, 1, output=out)",
        "ndimage.median_filter(x, 3, output=out)",
        "ndimage.label(x > 10, output=out)",
        "ndimage.binary_dilation(x > 20, output=out.view(bool)[:, ::8])",
        "ndimage.distance_transform_edt(x > 3, distances=out)",
        "ndimage.zoom(x, 1.0, output=out)",
        "signal.find_peaks(x.ravel() % 7, height=np.zeros(25))[0]",
        "sparse.csr_matrix(x) + np.ones((5, 5))",
        "sparse.csr_array(x) - np.eye(5)",
        "np.eye(5) - sparse.csr_matrix(x)",
        "sparse.linalg.aslinearoperator(x) @ np.ones(5)",
        "sparse.linalg.splu(sparse.csc_matrix(np.eye(5) * 2 + x / 50)).solve(np.arange(5.0))",
        "sparse.linalg.splu(sparse.csc_matrix(np.eye(5) * 2)).L.toarray()",
        "sparse.linalg.factorized(sparse.csc_matrix(np.eye(5) * 2))(np.arange(5.0))",
        "sparse.csr_array(x) == x % 3",
        "sparse.coo_array(x) / (x + 1)",
        "(sparse.csc_matrix(x) < x[::-1]) * 1.0",
        "sparse.csr_array(x).multiply(x)",
        "sparse.csr_array(x)[np.array([0, 1]), np.array([1, 2])]",
        "sparse.dok_array(x) @ np.ones(5)",
        "special.comb(np.array([0, 5, 10]), 0, repetition=True)",
        "special.factorial(np.arange(4), exact=True)",
        "sparse.linalg.eigsh(x + x.T, k=2, v0=np.ones(5))[0]",
        "sparse.linalg.eigs(x, k=1, v0=np.ones(5))[0]",
        "special.exp2(x > 3)",
        "special.log1p(np.arange(3, dtype='i1'))",
        "special.cbrt(np.arange(3, dtype='u1'))",
    ],
)
def test_scipy(statement: str) -> None:
    parts = ("ndimage", "signal", "sparse", "special")
    names = {part: pytest.importorskip(f"scipy.{part}") for part in parts}
    pytest.importorskip("scipy.sparse.linalg")
    results, outputs = [], []
    for np in (numpy, numelt):
        x, out = np.arange(25.0).reshape(5, 5), np.zeros((5, 5))
        result = eval(statement, {**names, "np": np, "x": x, "out": out})
        outputs.append((numpy.asarray(out).tolist(), result is out))
        if not isinstance(result, tuple) and result is not None:
            results.append(result.toarray() if hasattr(result, "toarray") else numpy.asarray(result))
    assert outputs[0] == outputs[1]
    if results:
        assert results[1].dtype == results[0].dtype
        assert numpy.array_equal(results[0], results[1])


def test_ufuncs_of_others_with_numpys_names() -> None:
    numba = pytest.importorskip("numba")

    @numba.vectorize
    def subtract(a, b):
        return b - a

    assert subtract(numelt.arange(3), 1).tolist() == [1, 0, -1]


def test_einops() -> None:
    einops = pytest.importorskip("einops")
    x = numelt.arange(6.0).reshape(2, 3)
    assert einops.rearrange(x, "a b -> (b a)").tolist() == [0, 3, 1, 4, 2, 5]
    assert einops.reduce(x, "a b -> a", "sum").tolist() == [3, 12]


def test_wrapped_functions_look_as_they_did() -> None:
    distance = pytest.importorskip("scipy.spatial.distance")
    assert pickle.loads(pickle.dumps(distance.cdist)) is distance.cdist
    assert distance.cdist.__module__ == "scipy.spatial.distance"
    assert next(iter(inspect.signature(distance.cdist).parameters)) == "XA"
    assert "def cdist(" in inspect.getsource(distance.cdist)


@pytest.mark.parametrize(
    "statement",
    [
        "lapack.dgetrs(*lapack.dgetrf(a)[:2], b)",
        "lapack.dgesv(a, b)",
        "lapack.dgesv(a, b, overwrite_b=1)",
        "lapack.dgetrf(f, overwrite_a=1)",
        "blas.daxpy(b, b[::-1] * 2, a=3.0)",
        "blas.daxpy(b, b + 1)",
        "blas.dscal(2.0, b)",
        "blas.drot(b, b + 1, 0.5, 0.5, overwrite_x=1)",
        "blas.dgemm(1.0, a, a, beta=1.0, c=f)",
        "blas.dgemm(1.0, a, a, beta=1.0, c=f, overwrite_c=1)",
        "get_lapack_funcs(('gesv',), (a, b))[0](a, b)",
        "linalg.funm(a, np.exp)",
    ],
)
def test_what_f2py_makes(statement: str) -> None:
    linalg = pytest.importorskip("scipy.linalg")
    results = []
    for np in (numpy, numelt):
        a, b = np.eye(4) * 2 + np.arange(16.0).reshape(4, 4), np.arange(4.0)
        f = np.asfortranarray(a)
        names = {"lapack": linalg.lapack, "blas": linalg.blas, "get_lapack_funcs": linalg.get_lapack_funcs}
        found = eval(statement, {**names, "np": np, "a": a, "b": b, "f": f, "linalg": linalg})
        all_of_it = (*(found if isinstance(found, tuple) else (found,)), a, b, f)
        items = found if isinstance(found, tuple) else (found,)
        same = [item is x for item in items for x in (a, b, f)]
        results.append(([numpy.asarray(x).tolist() for x in all_of_it], same))
    assert results[0] == results[1]


def test_fortran_objects_look_as_they_did() -> None:
    lapack = pytest.importorskip("scipy.linalg.lapack")
    routine = lapack.dgesv
    assert isinstance(routine, type(lapack.dgesv._fortran))
    assert repr(routine) == "<fortran function dgesv>"
    assert routine.__doc__.startswith("lu,piv,x,info = dgesv(a,b")
    assert type(routine._cpointer).__name__ == "PyCapsule"
    assert set(dir(lapack.dgesv._fortran)) <= set(dir(routine))
    routine.note = 3
    assert routine.note == 3


@pytest.mark.parametrize(
    "statement",
    [
        "optimize.minimize(f, np.zeros(3), jac=g, method='SLSQP').x",
        "optimize.minimize(f, np.zeros(3), jac=g, method='L-BFGS-B').x",
        "optimize.minimize(f, np.zeros(3), jac=g, method='TNC').x",
        "optimize.minimize(f, np.zeros(3), jac=g, hess=lambda x: 2 * np.eye(3), method='trust-krylov').x",
        "optimize.root(lambda x: g(x) + x**3, np.ones(3), jac=lambda x: np.diag(2 + 3 * x**2)).x",
        "optimize.least_squares(g, np.zeros(3), jac=lambda x: 2 * np.eye(3), method='lm').x",
        "optimize.least_squares(g, np.zeros(3), jac=lambda x: 2 * np.eye(3), tr_solver='exact').x",
        "optimize.nnls(np.eye(3), np.arange(3.0))[0]",
        "integrate.solve_ivp(lambda t, y: np.stack([y[1], -y[0]]), (0, 1), np.ones(2), method='LSODA').y",
        "integrate.ode(lambda t, y: -y).set_integrator('lsoda').set_initial_value(np.ones(2)).integrate(1)",
        "integrate.odeint(lambda y, t: -y, np.ones(2), np.linspace(0, 1, 3))",
        "interpolate.splev(1.5, interpolate.splrep(np.arange(6.0), np.arange(6.0) ** 2))",
    ],
)
def test_compiled_functions_get_what_the_users_return(statement: str) -> None:
    names = {part: pytest.importorskip(f"scipy.{part}") for part in ("optimize", "integrate", "interpolate")}
    results = []
    for np in (numpy, numelt):

        def g(x: Any, np: Any = np) -> Any:
            return 2 * (x - np.arange(3))

        def f(x: Any, np: Any = np) -> Any:
            return ((x - np.arange(3)) ** 2).sum()

        results.append(numpy.asarray(eval(statement, {**names, "np": np, "f": f, "g": g})))
    assert numpy.array_equal(*results)


def test_dictionaries_are_handed_on_as_they_are() -> None:
    given = {"a": [1, 2], "b": {"c": 3}}
    assert fallback.unwrap(given) is given
    held = {"a": [numelt.ones(2)]}
    assert type(fallback.unwrap(held)["a"][0]) is numpy.ndarray


def test_curve_fit_looks_for_nan() -> None:
    optimize = pytest.importorskip("scipy.optimize")
    x = numelt.array([1, numelt.nan, 3])
    with pytest.raises(ValueError, match="infs or NaNs"):
        optimize.curve_fit(lambda x, a, b: a * x + b, x, numelt.arange(3.0))


def test_h5py_takes_ours(tmp_path: Any) -> None:
    h5py = pytest.importorskip("h5py")
    found = []
    for np in (numpy, numelt):
        with h5py.File(tmp_path / "file.h5", "w") as file:
            x = file.create_dataset("x", data=np.arange(6.0))
            x[np.array([True, False] * 3)] = np.ones(3) * 9
            x[1] = np.arange(3).sum()
            file.attrs["y"] = np.arange(3)
            fields = file.create_dataset("z", (2,), dtype=[("a", "f4"), ("b", "i4")])
            fields["a"] = np.array([(1, 2), (3, 4)], dtype=[("a", "f4"), ("b", "i4")])
            masked = x[np.array([True, True, False, False, False, False])]
            values = x[...], masked, file.attrs["y"], fields["a"]
            found.append([(numpy.asarray(v).dtype, numpy.asarray(v).tolist()) for v in values])
    assert found[0] == found[1]


def test_a_view_of_ours_may_become_writeable_again() -> None:
    a = numelt.arange(3)
    view = numpy.asarray(a).view()
    view.flags.writeable = False
    view.flags.writeable = True
    inner = fallback.unwrap(a)[:2]
    inner.flags.writeable = False
    inner.flags.writeable = True
    inner[0] = 7
    assert a.tolist() == [7, 1, 2]
    a.flags.writeable = False
    inner = fallback.unwrap(a)[:2]
    with pytest.raises(ValueError, match="WRITEABLE"):
        inner.flags.writeable = True


@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3)])
@pytest.mark.parametrize("dtype", [float, object, "M8[s]"])
def test_an_array_is_an_instance_of_numpys_class_whoever_asks(tmp_path, shape, dtype):
    x = numelt.zeros(shape, dtype)
    text = "def is_array(x):\n    return isinstance(x, ndarray), x.__class__ is ndarray\n"
    for folder in ("site-packages/some", "site-packages/pandas", "own", "site-packages/numpy"):
        namespace = {"ndarray": numpy.ndarray, "__file__": str(tmp_path / folder / "module.py")}
        exec(text, namespace)
        assert namespace["is_array"](x) == (True, True)
    assert type(x) is numelt.ndarray is not numpy.ndarray
    assert isinstance(x, numelt.ndarray)
    assert isinstance(numpy.zeros(shape, dtype), numelt.ndarray)


def test_a_reflected_operator_does_not_defer():
    class Other:
        __array_priority__ = 1000.0

        def __array__(self, dtype=None, copy=None):
            return numpy.arange(3.0)

        def __array_wrap__(self, array, context=None, return_scalar=False):
            return ("wrapped", *array.tolist())

        def __rmul__(self, other):
            return "theirs"

    class Silent(Other):
        __array_ufunc__ = None

    for module in (numpy, numelt):
        x = module.arange(3.0)
        assert x * Other() == "theirs"
        for operator in ("__rmul__", "__radd__", "__rsub__", "__rpow__"):
            want = getattr(numpy.arange(3.0), operator)(Other())
            assert getattr(x, operator)(Other()) == want
            assert want[0] == "wrapped"
        assert x * Silent() == "theirs"
        with pytest.raises(TypeError):
            Silent() + x


def test_scalars_meet_operators_of_others_as_numpys():
    """A class that distinguishes numbers by their class, like operators in C."""

    class Strict:
        __array_priority__ = 1000.0

        def _seen(self, name, other):
            return (
                (name, other) if isinstance(other, float) and type(other) is numpy.float64 else NotImplemented
            )

        def __gt__(self, other):
            return self._seen("gt", other)

        def __eq__(self, other):
            return self._seen("eq", other)

        def __mul__(self, other):
            return self._seen("mul", other)

        def __rmul__(self, other):
            return self._seen("rmul", other)

        def __rsub__(self, other):
            return self._seen("rsub", other)

        __hash__ = None

    strict = Strict()
    outcomes = []
    for module in (numpy, numelt):
        x = module.arange(4.0)
        compared = [strict > x.mean(), x.mean() < strict, strict == x.sum()]
        outcomes.append([*compared, strict * x.sum(), x.sum() * strict, x.max() - strict])
    assert outcomes[0] == outcomes[1]
    assert outcomes[0][0] == ("gt", 1.5)


def test_assertions_of_numpys_own() -> None:
    theirs = importlib.import_module("numpy.testing")
    a = numelt.arange(6.0).reshape(2, 3)
    theirs.assert_equal(a, a.copy())
    theirs.assert_almost_equal(a, a + 1e-9)
    theirs.assert_equal([a, {"x": a}], [a.copy(), {"x": a}])
    with pytest.raises(AssertionError, match="Arrays are not equal"):
        theirs.assert_equal(a, a + 1)


def test_low_level_h5py_takes_ours() -> None:
    h5py = pytest.importorskip("h5py")
    whole = h5py.h5s.ALL
    with h5py.File("some", "w", driver="core", backing_store=False) as file:
        dataset = file.create_dataset("x", (4,), dtype="f8")
        dataset.id.write(whole, whole, numelt.arange(4.0))
        into = numelt.zeros(4)
        later = into + 1
        dataset.id.read(whole, whole, into)
        assert_same(into, numpy.arange(4.0))
        assert float(later.sum()) == 4.0
        plan = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plan.set_fill_value(numelt.array([-1]))
        value = numelt.array([0])
        plan.get_fill_value(value)
        assert value.tolist() == [-1]
        space = h5py.h5s.create_simple((3,))
        attribute = h5py.h5a.create(dataset.id, b"n", h5py.h5t.py_create(numelt.dtype("i8")), space)
        attribute.write(numelt.arange(3))
        into = numelt.zeros(3, dtype=int)
        attribute.read(into)
        assert into.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    "statement",
    [
        "jnp.sin(x)",
        "jax.jit(lambda x: x * 2)(x)",
        "jax.jit(lambda d: d['a'] + d['b'])({'a': x, 'b': x.sum()})",
        "jax.jit(lambda y: y + x)(jnp.ones(3))",
        "jax.grad(lambda x: (x**2).sum())(x)",
        "jax.vmap(lambda a, b: a @ b)(x[:, None], x[:, None])",
        "jax.lax.scan(lambda c, y: (c + y, c), np.float32(0), x.astype('f4'))[1]",
        "jax.pure_callback(np.sin, jax.ShapeDtypeStruct((3,), 'f4'), x.astype('f4'))",
        "x * jnp.ones(3)",
        "jnp.ones(3) - x",
        "x.sum() * jnp.ones(3)",
        "x @ jnp.ones(3)",
        "jnp.ones(3) == x",
        "jnp.arange(5)[np.array([1, 2])]",
        "jnp.arange(3)[x > 0]",
        "jnp.zeros(3).at[np.array([0, 2])].set(x[1:])",
        "jnp.concatenate([x, jnp.ones(1)])",
        "jnp.where(x > 1, x, 0.0)",
        "jax.device_put(x)",
        "np.asarray(jnp.asarray(x))",
        "np.add(jnp.ones(3), x)",
    ],
)
def test_jax(statement: str) -> None:
    jax = pytest.importorskip("jax")
    found = []
    for np in (numpy, numelt):
        result = eval(statement, {"jax": jax, "jnp": jax.numpy, "np": np, "x": np.arange(3.0)})
        found.append((isinstance(result, jax.Array), numpy.asarray(result)))
    assert found[0][0] == found[1][0]
    assert_same(found[1][1], found[0][1])


def test_haar_features() -> None:
    feature = pytest.importorskip("skimage.feature")
    found = [feature.haar_like_feature(np.eye(8), 0, 0, 5, 5, "type-2-x") for np in (numpy, numelt)]
    assert_same(found[1], found[0])


def test_bottleneck_replaces() -> None:
    slow = pytest.importorskip("bottleneck").slow
    x = numelt.array([1.0, numelt.nan])
    slow.replace(x, numelt.nan, 0.0)
    assert x.tolist() == [1.0, 0.0]


def test_hypothesis_fills_arrays_with_ours() -> None:
    hypothesis = pytest.importorskip("hypothesis")
    strategies, arrays = hypothesis.strategies, pytest.importorskip("hypothesis.extra.numpy").arrays
    pairs = numelt.dtype([("a", float), ("b", float)])
    elements = strategies.just((1.0, 2.0)).map(lambda pair: numelt.array(pair, dtype=pairs))

    @hypothesis.settings(max_examples=5, database=None)
    @hypothesis.given(arrays(pairs, (2,), elements=elements))
    def check(x: Any) -> None:
        assert x.tolist() == [(1.0, 2.0)] * 2

    check()


def test_the_name_of_numpys_c_interface_is_found_among_constants(tmp_path):
    """Searching the constants of a compiled module finds what a search of the whole file finds."""
    folders = [Path(importlib.util.find_spec(name).origin).parent for name in ("numpy", "scipy", "zlib")]
    files = [file for folder in folders for file in folder.rglob("*.so")]
    assert len(files) > 50
    for file in files:
        content = file.read_bytes()
        assert compiled.uses_c_interface(str(file)) == (b"_ARRAY_API" in content), file
    for number, text in enumerate([b"", b"_ARRAY_API", b"\x7fELF\x02\x01_ARRAY_API", content[:1000]]):
        broken = tmp_path / f"{number}.so"
        broken.write_bytes(text)
        assert compiled.uses_c_interface(str(broken)) == (number == 1), number
