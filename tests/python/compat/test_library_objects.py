"""Objects of installed libraries that hold our arrays, read them from pickles, or return them."""

import subprocess
import sys

import numpy
import pytest

import numelt

START = """
import pickle, shelve, sys
import dill, joblib
import numpy as np
from scipy.interpolate import LinearNDInterpolator
from sklearn.tree import DecisionTreeClassifier
folder = sys.argv[1] + "/"
x = np.random.default_rng(0).random((30, 2))
"""
WRITER = (
    START
    + """
models = [DecisionTreeClassifier(random_state=0).fit(x, x[:, 0] > 0.5), LinearNDInterpolator(x, x[:, 0])]
with open(folder + "pickle", "wb") as file:
    pickle.dump(models, file)
with open(folder + "dill", "wb") as file:
    dill.dump(models, file)
with shelve.open(folder + "shelve") as kept:
    kept["models"] = models
joblib.dump(models, folder + "joblib")
np.save(folder + "load.npy", np.array([models, None], dtype=object), allow_pickle=True)
with open(folder + "plain", "wb") as file:
    pickle.dump(np.arange(3), file)
"""
)
READER = (
    START
    + """
read = []
with open(folder + "pickle", "rb") as file:
    read.append(pickle.load(file))
with open(folder + "dill", "rb") as file:
    read.append(dill.load(file))
with shelve.open(folder + "shelve") as kept:
    read.append(kept["models"])
read.append(joblib.load(folder + "joblib"))
read.append(np.load(folder + "load.npy", allow_pickle=True)[0])
for tree, interpolator in read:
    print(tree.predict(x).tolist(), interpolator(x[:3]).tolist())
with open(folder + "plain", "rb") as file:
    print(type(pickle.load(file)) is np.ndarray)
"""
)


def run(folder, source, on_numelt):
    path = folder / "program.py"
    path.write_text(source)
    command = [sys.executable, *(["-m", "numelt"] if on_numelt else []), str(path), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_models_are_read_from_pickles(tmp_path):
    """The arrays that a model holds are NumPy's, because its compiled code accepts nothing else."""
    for needed in ("dill", "joblib", "scipy", "sklearn"):
        pytest.importorskip(needed)
    outputs = []
    for writes, reads in ((False, False), (False, True), (True, True)):
        run(tmp_path, WRITER, writes)
        outputs.append(run(tmp_path, READER, reads))
    assert outputs == outputs[:1] * 3
    assert "False" not in outputs[0].splitlines()[-1]


@pytest.mark.parametrize(
    "library", [f"{place}array_api_compat" for place in ("", "scipy._lib.", "sklearn.externals.")]
)
@pytest.mark.parametrize(
    "text", ["np.ones(3)", "np.ones(3).sum()", "np.zeros((0, 2))", "np.array(['a', 'b'])", "[1]"]
)
def test_arrays_are_numpys_to_the_array_api(library, text):
    compat = pytest.importorskip(library)
    ours, theirs = eval(text, {"np": numelt}), eval(text, {"np": numpy})
    for name in ("is_numpy_array", "is_lazy_array", "is_writeable_array", "is_array_api_obj", "is_jax_array"):
        assert getattr(compat, name)(ours) == getattr(compat, name)(theirs)
    frozen = numelt.ones(2)
    frozen.flags.writeable = False
    assert not compat.is_writeable_array(frozen)


def test_compiled_code_draws_numpys_arrays():
    interpolative = pytest.importorskip("scipy.linalg.interpolative")
    results = []
    for np in (numpy, numelt):
        rng = np.random.default_rng(3)
        matrix = np.vander(np.linspace(0, 1, 20), 8)
        rank, order, _ = interpolative.interp_decomp(matrix, 1e-3, rng=rng)
        norm = interpolative.estimate_spectral_norm(matrix, rng=rng)
        results.append((rank, order.tolist(), norm, rng.random()))
    assert results[0] == results[1]


def _out(function, shape):
    """Call a function that writes into an array; return the array, and whether the function returned it."""

    def call(np):
        out = np.zeros(shape)
        return function(out) is out, out.tolist()

    return call


def _failing(function):
    with pytest.raises(ValueError, match="exponent") as caught:
        function()
    return str(caught.value)


@pytest.mark.parametrize("metric", ["euclidean", "braycurtis", "cosine", "chebyshev", "hamming"])
@pytest.mark.parametrize("name", ["cdist", "pdist"])
def test_distances_are_written_into_ours(name, metric):
    distance = pytest.importorskip("scipy.spatial.distance")
    results = []
    for np in (numpy, numelt):
        x = np.arange(1, 13.0).reshape(4, 3) ** 2 % 7
        given, shape = ([x, x], (4, 4)) if name == "cdist" else ([x], 6)
        write = _out(lambda out, given=given: getattr(distance, name)(*given, metric, out=out), shape)
        results.append(write(np))
    assert results[0] == results[1]


@pytest.mark.parametrize(
    "statement",
    [
        "optimize.root_scalar(lambda v: v * v - 2, bracket=np.array([0, 2.0])).root",
        "_failing(lambda: spatial.transform.Rotation.from_rotvec([1, 0, 0]) ** np.array([1.0, 2.0]))",
        "(spatial.transform.Rotation.from_rotvec([1, 0, 0]) ** np.array([2.0])).as_rotvec().tolist()",
        "optimize._nonlin.nonlin_solve(lambda v: v - 2, np.ones(2), lambda v: np.eye(2)).tolist()",
        "[sparse._sputils.isdense(x), sparse._sputils.ismatrix(x), sparse._sputils.issequence(x[0])]",
        "sparse.linalg.expm(np.array([[-500, 500], [360, -360]], dtype=np.int16)).tolist()",
        "sparse.linalg.matrix_power(np.array([[3, 1], [0, 2]]), 5).tolist()",
        "sparse._sputils.get_index_dtype(np.arange(3)), sparse._sputils.get_index_dtype([np.arange(3)] * 2)",
    ],
)
def test_scipy_takes_ours_for_arrays(statement):
    names = {
        part: pytest.importorskip(f"scipy.{part}")
        for part in ("optimize", "sparse", "sparse.linalg", "spatial")
    }
    names["_failing"] = _failing
    results = []
    for np in (numpy, numelt):
        results.append(eval(statement, {**names, "np": np, "x": np.ones((2, 3))}))
    assert results[0] == results[1]


@pytest.mark.parametrize("shape", [(8,), (8, 1), (6, 3), (4, 0), (5, 2, 2)])
@pytest.mark.parametrize("axis", [None, 0, -1])
def test_numpys_generators_shuffle_ours(shape, axis):
    """Libraries return such arrays; swapped rows are views."""
    pytest.importorskip("sklearn.utils.validation")
    results = []
    for np in (numpy, numelt):
        x = np.arange(numpy.prod(shape)).reshape(shape)
        parts = [x, x[::-1], x[::2], x.astype(float)]
        for part in parts:
            if axis is None:
                numpy.random.RandomState(3).shuffle(part)
            else:
                numpy.random.default_rng(3).shuffle(part, axis=axis)
        results.append([part.tolist() for part in parts])
        rows = [np.arange(2), np.arange(3), np.arange(4)]
        numpy.random.RandomState(3).shuffle(rows)
        results[-1].append([row.tolist() for row in rows])
    assert results[0] == results[1]


def test_points_added_to_hulls():
    spatial = pytest.importorskip("scipy.spatial")
    results = []
    for np in (numpy, numelt):
        points = np.random.default_rng(3).random((20, 2))
        hull = spatial.ConvexHull(points[:8], incremental=True)
        hull.add_points(points[8:])
        results.append((hull.vertices.tolist(), hull.area))
        hull.close()
    assert results[0] == results[1]


@pytest.mark.parametrize(
    "statement",
    [
        "utils.as_float_array(x.astype('f4')).dtype == 'f4'",
        "utils.murmurhash3_32(np.arange(4, dtype='i4'))",
        "linear_model.Lasso(0.01, precompute=x.T @ x, fit_intercept=False).fit(x, y).coef_",
        "feature_extraction.image.grid_to_graph(2, 3, return_as=np.ndarray)",
        "tree.DecisionTreeClassifier(random_state=0).fit(x, y > 9).tree_.apply(x.astype(np.float32))",
        "preprocessing.FunctionTransformer(feature_names_out=lambda *_: np.array(['a', 'b', 'c', 'd']))"
        ".set_output(transform='pandas').fit_transform(x).columns",
    ],
)
def test_scikit_learn_takes_ours_for_arrays(statement):
    parts = ("feature_extraction.image", "linear_model", "preprocessing", "tree", "utils")
    for part in parts:
        pytest.importorskip(f"sklearn.{part}")
    names = vars(sys.modules["sklearn"])
    results = []
    for np in (numpy, numelt):
        x = np.arange(1, 41.0).reshape(10, 4) ** 2 % 7
        results.append(numpy.asarray(eval(statement, {**names, "np": np, "x": x, "y": x @ np.arange(4.0)})))
    assert results[0].dtype == results[1].dtype
    numpy.testing.assert_array_equal(*results)


@pytest.mark.parametrize(
    "statement",
    [
        "preprocessing.scale(x, copy=False)",
        "preprocessing.scale(x)",
        "preprocessing.normalize(x, copy=False)",
        "preprocessing.binarize(x, copy=False)",
        "preprocessing.StandardScaler(copy=False).fit_transform(x)",
        "preprocessing.StandardScaler().fit(x).transform(x, copy=False)",
        "preprocessing.StandardScaler().fit(x).transform(x)",
        "preprocessing.StandardScaler().fit(x).inverse_transform(x, copy=False)",
        "preprocessing.PowerTransformer(copy=False).fit_transform(x)",
        "metrics.pairwise_distances(abs(x[:, 0] - x[:, :1]), metric='precomputed')",
        "metrics.pairwise_kernels(x[:4], metric='precomputed')",
        "utils.check_array(x)",
        "utils.check_array(x[:, ::2])",
        "utils.check_array(x.T)",
        "utils.check_array(x, copy=True)",
        "utils.check_array(x, dtype='f4')",
        "utils.check_X_y(x, x[:, 0])[0]",
        "utils.as_float_array(x, copy=False)",
        "utils.column_or_1d(x[:, 0])",
    ],
)
def test_scikit_learn_writes_into_the_given_array(statement):
    """The result shares memory with our array if NumPy's shares it; the numbers are the same."""
    parts = ("metrics", "preprocessing", "utils")
    names = {part: pytest.importorskip(f"sklearn.{part}") for part in parts}
    results = []
    for np in (numpy, numelt):
        x = np.arange(1, 41.0).reshape(10, 4) ** 2 % 7
        given = eval(statement, {**names, "x": x, "np": np})
        results.append((np.shares_memory(given, x), given.tolist(), x.tolist()))
    assert results[0] == results[1]
