"""Labelled arrays of xarray."""

import numpy as np
import pandas as pd
import xarray as xr

t = np.random.default_rng(0).normal(size=(6, 4, 3))
da = xr.DataArray(
    t,
    dims=("time", "x", "y"),
    coords={"time": pd.date_range("2000-01-01", periods=6), "x": np.arange(4), "y": np.linspace(0, 1, 3)},
)
da.mean("time").values.round(6)
da.sel(x=2, y=0.5).values
(da * 2 + 1).sum().item()
da.groupby("time.day").mean().shape
ds = xr.Dataset({"a": da, "b": ("x", np.arange(4.0))})
ds.a.interp(y=[0.25, 0.75]).values[0].round(6)
ds.to_dataframe().head(3)
da.rolling(time=3).mean().values[2].round(5)
da.resample(time="2D").mean().values[0].round(5)
np.sin(da).values[0, 0].round(6)
da.where(da > 0).count().item()
xr.apply_ufunc(np.hypot, da, da).values[0, 0].round(6)
xr.concat([da, da], "time").shape
da.argmax("time").values
repr(da)[:300]
v = da.values
v[0, 0, 0] = 99
da[0, 0, 0].item()
da.polyfit("x", 1).polyfit_coefficients.shape
xr.dot(da, da, dim="x").values[0].round(5)
da.diff("time").values[0, 0].round(6)
da.cumsum("x").values[0].round(6)
da.stack(z=("x", "y")).shape
da.quantile([0.1, 0.9]).values.round(6)
da.fillna(0).dtype
da.rank("x").values[0, 0]
da.isin([1, 2]).values.sum()
