"""What of installed libraries is adapted, and how: names by module, as `_adapters` reads them.

A name is a function's or ``Class.method``; ``Class.*`` stands for the public methods of a class, ``*`` for
the public functions of a module.

In: nothing. Out: the tables.
"""

from __future__ import annotations

__all__ = [
    "ADAPTED",
    "CALLING",
    "CONVERTING",
    "GIVING_BACK",
    "JAX",
    "LOOKING_UP",
    "MAKING",
    "MAKING_ARRAYS",
    "MAPPING",
    "NAMED",
    "NAMES",
    "OF_ATTRIBUTES",
    "READING",
]

# fmt: off
# operators and methods of sparse matrices that tell arrays from numbers and sequences
_OF_SPARSE = (
    "__add__", "__eq__", "__ge__", "__getitem__", "__gt__", "__le__", "__lt__", "__matmul__", "__mul__",
    "__ne__", "__pow__", "__radd__", "__rmatmul__", "__rmul__", "__rsub__", "__rtruediv__", "__setitem__",
    "__sub__", "__truediv__", "dot", "maximum", "minimum", "multiply", "power",
)
NAMES = {
    # data sets are columns of arrays and items of lists
    "matplotlib.axes._axes": ("Axes.*",),
    "matplotlib.cbook": ("_combine_masks", "_reshape_2D", "boxplot_stats", "violin_stats"),
    "matplotlib.collections": ("PolyCollection.set_verts",),
    "matplotlib.colorizer": ("Colorizer.to_rgba",),
    "matplotlib.colors": ("is_color_like", "same_color", "to_rgba", "to_rgba_array"),
    "matplotlib.markers": ("MarkerStyle.__init__",),
    "matplotlib.streamplot": ("streamplot",),
    "matplotlib.units": ("Registry.get_converter",),
    "mpl_toolkits.mplot3d.axes3d": ("Axes3D.*",),
    # reached through libraries that hand them on
    "numpy.testing._private.utils": ("assert_almost_equal", "assert_equal"),
    "pandas._testing.asserters": (
        "assert_almost_equal", "assert_class_equal", "assert_numpy_array_equal",
    ),
    "pandas.core.algorithms": (
        "diff", "duplicated", "factorize", "isin", "mode", "rank", "searchsorted", "take",
        "unique", "value_counts_internal",
    ),
    "pandas.core.arraylike": ("OpsMixin.*",),
    "pandas.core.arrays._mixins": ("NDArrayBackedExtensionArray.*",),
    "pandas.core.arrays.arrow.array": ("ArrowExtensionArray.*",),
    "pandas.core.arrays.base": ("ExtensionArray.*",),
    "pandas.core.arrays.boolean": ("BooleanArray.*",),
    "pandas.core.arrays.categorical": ("Categorical.*", "factorize_from_iterable"),
    "pandas.core.arrays.datetimelike": ("DatetimeLikeArrayMixin.*", "TimelikeOps.*"),
    "pandas.core.arrays.datetimes": ("DatetimeArray.*",),
    "pandas.core.arrays.interval": ("IntervalArray.*",),
    "pandas.core.arrays.masked": ("BaseMaskedArray.*",),
    "pandas.core.arrays.numeric": ("NumericArray.*",),
    "pandas.core.arrays.numpy_": ("NumpyExtensionArray.*",),
    "pandas.core.arrays.period": (
        "PeriodArray.*", "PeriodArray._from_datetime64", "PeriodArray._from_fields",
    ),
    "pandas.core.arrays.sparse.array": ("SparseArray.*",),
    "pandas.core.arrays.string_": ("StringArray.*",),
    "pandas.core.arrays.timedeltas": ("TimedeltaArray.*",),
    "pandas.core.common": ("convert_to_list_like",),
    "pandas.core.construction": ("array",),
    "pandas.core.frame": ("DataFrame.*",),
    "pandas.core.generic": ("NDFrame.*",),
    "pandas.core.groupby.generic": ("DataFrameGroupBy.*", "SeriesGroupBy.*"),
    "pandas.core.groupby.groupby": ("GroupBy.*",),
    "pandas.core.indexers.utils": ("check_array_indexer",),
    "pandas.core.indexes.base": ("Index.*", "_new_Index"),
    "pandas.core.indexes.category": ("CategoricalIndex.*",),
    "pandas.core.indexes.datetimelike": ("DatetimeIndexOpsMixin.*", "DatetimeTimedeltaMixin.*"),
    "pandas.core.indexes.datetimes": ("DatetimeIndex.*", "bdate_range", "date_range"),
    "pandas.core.indexes.interval": ("IntervalIndex.*", "interval_range"),
    "pandas.core.indexes.multi": ("MultiIndex.*",),
    "pandas.core.indexes.period": ("PeriodIndex.*", "period_range"),
    "pandas.core.indexes.range": ("RangeIndex.*",),
    "pandas.core.indexes.timedeltas": ("TimedeltaIndex.*", "timedelta_range"),
    "pandas.core.indexing": ("_LocationIndexer.*", "_iAtIndexer.*", "_AtIndexer.*", "_ScalarAccessIndexer.*"),
    "pandas.core.reshape.encoding": ("from_dummies", "get_dummies"),
    "pandas.core.reshape.merge": ("merge", "merge_asof", "merge_ordered"),
    "pandas.core.reshape.pivot": ("crosstab", "pivot", "pivot_table"),
    "pandas.core.reshape.tile": ("cut", "qcut"),
    "pandas.core.series": ("Series.*",),
    "pandas.core.strings.accessor": ("StringMethods.*",),
    "pandas.core.tools.datetimes": ("to_datetime",),
    "pandas.core.tools.numeric": ("to_numeric",),
    "pandas.core.tools.timedeltas": ("to_timedelta",),
    "pandas.core.util.hashing": ("hash_array",),
    "pandas.plotting._matplotlib.converter": (
        "DatetimeConverter.*", "PeriodConverter.*", "TimeConverter.*",
    ),
    "sklearn.feature_extraction.image": ("grid_to_graph", "img_to_graph"),
    "sklearn.manifold._t_sne": ("TSNE.__init__",),
    "sklearn.neighbors._nca": ("NeighborhoodComponentsAnalysis.__init__",),
    "sklearn.utils._param_validation": ("validate_parameter_constraints",),
    "sklearn.utils.murmurhash": ("murmurhash3_32",),
    "sklearn.utils.class_weight": ("compute_class_weight",),
    # C methods of NumPy's arrays that tell truth values from numbers by class
    "sklearn.preprocessing._label": ("MultiLabelBinarizer.inverse_transform",),
    "sklearn.model_selection._search": ("ParameterGrid.__init__", "ParameterSampler.__init__"),
    "h5py._hl.attrs": ("AttributeManager.create", "AttributeManager.modify"),
    "h5py._hl.base": ("find_item_type", "guess_dtype"),
    "h5py._hl.selections": ("select",),
    "h5py._hl.dataset": ("Dataset.__setitem__", "Dataset.read_direct", "Dataset.write_direct"),
    "netCDF4.utils": ("_StartCountStride",),
    "numba.core.dispatcher": ("Dispatcher.__call__",),
    "awkward._nplikes.dispatch": ("nplike_of_obj",),
    # what is of NumPy's class is copied
    "dask.array.core": ("from_array",),
    "dask.array.utils": ("assert_eq",),
    "dask.utils": ("Dispatch.__call__",),
    "torch": ("as_tensor", "asarray", "from_numpy", "tensor"),
    "bottleneck.slow.nonreduce": ("replace",),
    "einops._backends": ("NumpyBackend.is_appropriate_type",),
    "hypothesis.extra.numpy": ("ArrayStrategy.set_element",),
    "autograd.tracer": ("new_box",),
    "autograd.core": ("vspace",),
    # what tells arrays of different libraries from each other by class
    # an output that is not of NumPy's class is left alone
    "scipy.ndimage": ("*",),
    "scipy.linalg.interpolative": ("estimate_rank", "interp_decomp", "svd"),
    "scipy.odr._odrpack": ("Data.__init__", "RealData.__init__", "ODR.__init__"),
    "scipy.optimize._constraints": ("old_bound_to_new",),
    "scipy.optimize._lsq.lsq_linear": ("lsq_linear",),
    "scipy.optimize._minpack_py": ("curve_fit",),
    "scipy.optimize._nonlin": ("asjacobian",),
    "scipy.optimize._root_scalar": ("root_scalar",),
    "scipy.sparse._sputils": ("get_index_dtype", "isdense", "ismatrix", "issequence"),
    "scipy.spatial.distance": ("cdist", "pdist"),
    "scipy.spatial.transform._rigid_transform": ("RigidTransform.__pow__",),
    "scipy.spatial.transform._rotation": ("Rotation.__pow__",),
    "scipy.signal._peak_finding": ("_unpack_condition_args",),
    "scipy.special._basic": ("comb", "factorial", "factorial2", "factorialk", "perm"),
    "skimage.segmentation._chan_vese": ("chan_vese",),
    # arrays of one dimension become columns
    "statsmodels.multivariate.factor": ("Factor.loglike", "Factor.score"),
    "statsmodels.stats.correlation_tools": ("corr_nearest_factor",),
    "statsmodels.tools.data": ("_is_using_ndarray_type",),
    # data of any other class than NumPy's are kept as they are: of times, in units that are none of its own
    "xarray.core.duck_array_ops": ("where", "where_method"),
    "xarray.core.variable": ("as_compatible_data",),
    "xarray.namedarray.core": ("from_array",),
    **{
        f"scipy.sparse.{module}": tuple(f"{owner}.{name}" for owner in owners.split() for name in _OF_SPARSE)
        for module, owners in {
            "_base": "_spbase",
            "_bsr": "_bsr_base",
            "_compressed": "_cs_matrix",
            "_coo": "_coo_base",
            "_csc": "_csc_base",
            "_csr": "_csr_base",
            "_data": "_data_matrix _minmax_mixin",
            "_dia": "_dia_base",
            "_dok": "_dok_base",
            "_index": "IndexMixin",
            "_lil": "_lil_base",
            "_matrix": "spmatrix",
        }.items()
    },
    "scipy.sparse.linalg._interface": ("aslinearoperator",),
    "scipy.sparse.linalg._matfuncs": ("_expm", "matrix_power"),
    "scipy.signal._ltisys": tuple(
        f"StateSpace.__{reflected}{name}__"
        for reflected in ("", "r")
        for name in ("add", "sub", "mul", "truediv")
    ),
    "scipy.stats._mgc": ("multiscale_graphcorr",),
    "skimage.feature.haar": ("haar_like_feature",),
    "skimage.measure._marching_cubes_lewiner": ("marching_cubes",),
    "skimage.transform.hough_transform": ("hough_line", "hough_ellipse", "probabilistic_hough_line"),
}
# fmt: on
# compilers that look a function's globals up: `np` in it means NumPy
LOOKING_UP = {"numba.core.interpreter": ("Interpreter.get_global_value", "Interpreter.get_closure_value")}
# what they return is compiled code that wants NumPy's class
MAKING = {
    "scipy.sparse.linalg._dsolve.linsolve": ("splu", "spilu", "factorized"),
    "numexpr.necompiler": ("NumExpr",),
}
# what the user's functions return has to be of NumPy's class
CALLING = {
    "pandas.core.common": ("apply_if_callable",),
    "scipy.optimize._lsq.least_squares": ("least_squares",),
    "scipy.optimize._nonlin": ("nonlin_solve",),
}
# an array of what the user's function returns, one by one
MAPPING = {"pandas.core.algorithms": ("map_array",)}
# what they were given is what NumPy's `asarray` makes of it, and may be what they return
GIVING_BACK = {
    "sklearn.cluster._mean_shift": ("get_bin_seeds",),
    "sklearn.metrics.pairwise": ("check_pairwise_arrays", "pairwise_distances", "pairwise_kernels"),
    "sklearn.preprocessing._data": (
        "binarize", "maxabs_scale", "minmax_scale", "normalize", "power_transform", "quantile_transform",
        "robust_scale", "scale", "MaxAbsScaler.inverse_transform", "MinMaxScaler.inverse_transform",
        "PowerTransformer.inverse_transform", "QuantileTransformer.inverse_transform",
        "RobustScaler.inverse_transform", "StandardScaler.inverse_transform",
    ),
    "sklearn.utils._set_output": ("_wrap_data_with_container",),
    "sklearn.utils.validation": ("as_float_array", "check_array", "check_X_y", "column_or_1d"),
}  # fmt: skip
# what is given may be the module `random`, the array's class or the namespace
NAMED = {
    "sklearn.utils.validation": ("check_random_state",),
    "scipy._lib._util": ("check_random_state",),
    **{
        f"{place}array_api_compat.common._helpers": ("_issubclass_fast", "is_numpy_namespace")
        for place in ("", "scipy._lib.", "sklearn.externals.")
    },
}
# what is Python's of these packages converts its arguments itself: it warns of callers, and counts references
CONVERTING = ("pandas.", "xarray.")
# what classes of pandas' arrays define to be made
MAKING_ARRAYS = frozenset({"_from_sequence", "_simple_new"})
# they get names, very often
OF_ATTRIBUTES = frozenset({"__finalize__", "__getattr__", "__getattribute__", "__setattr__"})
# arrays that were ours when they were written
READING = {"joblib.numpy_pickle": ("NumpyArrayWrapper.read",)}
JAX = "jax._src.interpreters.pxla"
ADAPTED = frozenset({JAX, *NAMES, *MAKING, *LOOKING_UP, *CALLING, *GIVING_BACK, *MAPPING, *NAMED, *READING})
