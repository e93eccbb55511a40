"""Which calls of each public function NumPy does: the table that the policy of the compiled core reads.

A call of a public function goes through these steps. If there is a compiled function of the same name, it
answers the calls that it supports (`crates/python/src/functions/table.rs`). Of the other calls, those that
this table assigns to NumPy's own function are run by it, on the memory of our arrays
(`crates/python/src/sharing/policy.rs`). The general compiled function of the name, or the package's Python
function, does the rest.

Functions in `COMPILED` have no Python function: the compiled ones do every call that numelt records, and
NumPy's function does the rest.

The calls that are left to NumPy's function are given by one of these:

- a number: calls on at most this many elements, while small operations run at once. NumPy has finished them
  before several operations would have been recorded;
- ``"foreign"``: calls with arrays whose dtype is not native, which only NumPy supports;
- ``"declined"``: all calls that the compiled function has declined. Functions in `COMPILED` that are not in
  the table have this value;
- ``"general"``: none. All other functions that are not in the table have this value.

Calls of functions in `COUNTED` are counted as library calls.

All calls of functions in `LIBRARY` are library calls of NumPy's own function on the memory of our arrays
(`library`). These functions have no implementation in the package, unless it also defines them, because
recording their steps would gain nothing: they sort, they are sequential, or their arrays are short.
"""

from __future__ import annotations

__all__ = ["COMPILED", "COUNTED", "FEW", "FOREIGN", "GENERAL", "LIBRARY", "METHODS", "SIDE", "share"]

# up to this many elements, NumPy has done several steps before the first recorded one would have run
FEW = 1024
# the same for arguments that become a side of the result
SIDE = 48
FOREIGN = "foreign"
DECLINED = "declined"
GENERAL = "general"

_FEW = """
    all amax amin angle any argmax argmin argwhere around array_equiv average choose clip compress
    concatenate copyto count_nonzero diff dot dstack inner max mean min nonzero place polyval
    prod put putmask ravel_multi_index repeat roll round stack sum take tensordot tile trace
    unravel_index vdot where
"""
_SIDES = """
    indices linalg.outer outer tri
"""
_FOREIGN = """
    allclose append array_split cumprod cumsum isclose kron linspace meshgrid pad ptp split tril
    triu ndarray.cumprod ndarray.cumsum
"""
_COUNTED = """
    einsum
    argsort bincount digitize histogram histogram2d histogramdd interp searchsorted sort
    ndarray.argsort ndarray.searchsorted ndarray.sort
"""
_COMPILED = """
    all amax amin any append arange argmax argmin array asanyarray asarray ascontiguousarray asfortranarray
    atleast_1d atleast_2d atleast_3d column_stack concatenate copy cumprod cumsum diag diagonal diff dot
    empty empty_like eye flatnonzero flip full full_like max min moveaxis nonzero ones ones_like prod roll
    stack sum take trace tril triu unravel_index where zeros zeros_like
"""
_LIBRARY = """
    argpartition argsort bincount convolve correlate digitize histogram histogram2d histogram_bin_edges
    histogramdd in1d interp intersect1d isin lexsort partition searchsorted setdiff1d setxor1d sort
    sort_complex union1d unique unique_all unique_counts unique_inverse unique_values
    median nanmedian nanpercentile nanquantile percentile quantile
    bartlett blackman geomspace hamming hanning kaiser logspace
    diag_indices diagflat fill_diagonal packbits tril_indices triu_indices unpackbits vander
    poly polyadd polyder polydiv polyfit polyint polymul polysub roots
    ndarray.argpartition ndarray.argsort ndarray.partition ndarray.searchsorted ndarray.sort
"""
_FEW_METHODS = """
    any all argmax argmin choose clip compress dot max mean min nonzero prod put repeat round sum
    take trace
"""

# functions whose limit was measured: composed ones of many steps on one pass or two over the data, and sums
# over labelled axes, which are matrix products where they are larger
_MEASURED: dict[str, int | str] = {
    "nanmean": 12288, "nansum": 16384, "nanprod": 16384, "nanstd": 8192, "nanvar": 8192, "nanmin": 4096,
    "nanmax": 4096, "cov": 12288, "corrcoef": 12288, "gradient": 8192, "einsum": 256,
}  # fmt: skip

# functions that have only a compiled implementation
COMPILED = frozenset(_COMPILED.split())

# Library calls. Windows and ranges on a logarithmic scale are among them because their values have to be
# NumPy's to the bit. When `vander` was recorded, it took 1.3 of NumPy's time for four columns of a million
# float64; `diag_indices`, `tril_indices`, `diagflat`, sums and derivatives of polynomials took 1 to 2 times
# NumPy's time at 10, 1,000 and 1,000,000 elements.
LIBRARY = frozenset(_LIBRARY.split())

# library calls: on few elements NumPy's own function runs, on many the package's
COUNTED = frozenset(_COUNTED.split())

# functions that only call the array's method of the same name, with the same arguments, also by position
METHODS = frozenset(
    {"argpartition", "argsort", "nonzero", "put", "repeat", "round", "searchsorted", "take", "trace"}
)

_SHARES: dict[str, int | str] = {
    **dict.fromkeys(COMPILED, DECLINED),
    **dict.fromkeys(_FEW.split(), FEW),
    **dict.fromkeys(_SIDES.split(), SIDE),
    **dict.fromkeys(_FOREIGN.split(), FOREIGN),
    **dict.fromkeys(COUNTED, FEW),
    **dict.fromkeys([f"ndarray.{name}" for name in _FEW_METHODS.split()], FEW),
    **_MEASURED,
}


def share(name: str, default: int | str = GENERAL) -> int | str:
    """Return which calls of a function are left to NumPy's; `name` is its dotted name below ``numpy``.

    Examples
    --------
    >>> from numelt._dispatch import table
    >>> table.share("average"), table.share("zeros")
    (1024, 'declined')
    """
    return _SHARES.get(name, default)
