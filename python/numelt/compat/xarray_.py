"""What numelt changes in xarray."""

from __future__ import annotations

from numelt.compat.wrapping import Name, converting

TESTED = ">=2026.9,<2026.10"
WRAPPED = (
    Name(
        "xarray.core.variable", "as_compatible_data", converting,
        "it keeps arrays of any other class than NumPy's very own as they are, units of time included",
    ),
    Name(
        "xarray.core.duck_array_ops", "where_method", converting,
        "it chooses between NumPy's and dask's functions by `type(x)`",
    ),
)  # fmt: skip
