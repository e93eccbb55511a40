"""What of installed libraries is adapted, and how: names by module, as `_adapters` reads them.

A name is a function's or ``Class.method``; ``Class.*`` stands for the public methods of a class, ``*`` for
the public functions of a module.

In: nothing. Out: the tables.
"""

from __future__ import annotations

__all__ = [
    "ADAPTED",
    "CONVERTING",
    "JAX",
    "LOOKING_UP",
    "MAKING",
    "MAPPING",
    "NAMED",
    "NAMES",
    "READING",
]

# functions that test arrays by `type(x) is ndarray`, or hand them to compiled code that does
NAMES = {
    "awkward._nplikes.dispatch": ("nplike_of_obj",),
    "bottleneck.slow.nonreduce": ("replace",),
    "hypothesis.extra.numpy": ("ArrayStrategy.set_element",),
    "numba.core.dispatcher": ("Dispatcher.__call__",),
    "scipy.ndimage._ni_support": ("_get_output",),
    "scipy.spatial.distance": (
        "cdist",
        "pdist",
    ),
    "scipy.spatial.transform._rigid_transform": ("RigidTransform.__pow__",),
    "scipy.spatial.transform._rotation": ("Rotation.__pow__",),
    "skimage.feature.haar": ("haar_like_feature",),
    "sklearn.feature_extraction.image": (
        "grid_to_graph",
        "img_to_graph",
    ),
    "sklearn.preprocessing._label": ("MultiLabelBinarizer.inverse_transform",),
    "statsmodels.multivariate.factor": (
        "Factor.loglike",
        "Factor.score",
    ),
    "statsmodels.stats.correlation_tools": ("corr_nearest_factor",),
    "statsmodels.tools.data": ("_is_using_ndarray_type",),
    "torch": (
        "as_tensor",
        "asarray",
        "from_numpy",
        "tensor",
    ),
}
# functions whose result, or what they store, is the argument itself: it has to be NumPy's array
CONVERTING = {
    "pandas._libs.lib": ("item_from_zerodim",),
    "pandas.core.arrays.datetimes": ("DatetimeArray._from_sequence_not_strict",),
    "pandas.core.arrays.interval": ("IntervalArray.__new__",),
    "pandas.core.arrays.numpy_": ("NumpyExtensionArray.__init__",),
    "pandas.core.arrays.period": (
        "PeriodArray._from_datetime64",
        "period_array",
        "PeriodArray._from_fields",
    ),
    "pandas.core.arrays.timedeltas": ("TimedeltaArray._from_sequence_not_strict",),
    "pandas.core.construction": (
        "sanitize_array",
        "extract_array",
        "array",
        "ensure_wrapped_if_datetimelike",
    ),
    "pandas.core.indexes.base": (
        "Index.__new__",
        "ensure_index",
    ),
    "xarray.core.duck_array_ops": ("where_method",),
    "xarray.core.variable": ("as_compatible_data",),
}
# compilers that look a function's globals up: `np` in it means NumPy
LOOKING_UP = {"numba.core.interpreter": ("Interpreter.get_global_value", "Interpreter.get_closure_value")}
# what they return is compiled code that wants NumPy's class
MAKING = {
    "scipy.sparse.linalg._dsolve.linsolve": ("splu", "spilu", "factorized"),
    "numexpr.necompiler": ("NumExpr",),
}
# an array of what the user's function returns, one by one
MAPPING = {"pandas.core.algorithms": ("map_array",)}
# what is given may be the module `random`, the array's class or the namespace
NAMED = {
    "sklearn.utils.validation": ("check_random_state",),
    "scipy._lib._util": ("check_random_state",),
    **{
        f"{place}array_api_compat.common._helpers": ("is_numpy_namespace",)
        for place in ("", "scipy._lib.", "sklearn.externals.")
    },
}
# arrays that were ours when they were written
READING = {"joblib.numpy_pickle": ("NumpyArrayWrapper.read",)}
JAX = "jax._src.interpreters.pxla"
ADAPTED = frozenset({JAX, *NAMES, *CONVERTING, *MAKING, *LOOKING_UP, *MAPPING, *NAMED, *READING})
