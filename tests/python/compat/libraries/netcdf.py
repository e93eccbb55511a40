"""Variables of a netCDF file."""

import os
import tempfile

import netCDF4
import numpy as np

f = tempfile.mktemp()
d = netCDF4.Dataset(f, "w")
d.createDimension("x", 10)
d.createDimension("t", None)
v = d.createVariable("v", "f8", ("t", "x"))
v[0:3, :] = np.arange(30.0).reshape(3, 10)
v[3, :] = np.ones(10)
v.scal = np.float64(2.0)
v.arr = np.arange(3)
v[:].sum()
v[1, 2:5]
v.arr
w = d.createVariable("w", "i2", ("x",), fill_value=-1)
w[:] = np.ma.masked_greater(np.arange(10), 5)
d.close()
d = netCDF4.Dataset(f)
d["v"][::2].mean()
d["w"][:]
d["v"][np.array([0, 2])].shape
d["v"][:, np.arange(10) > 5].shape
netCDF4.date2num(netCDF4.num2date(np.arange(3.0), "days since 2000-01-01"), "days since 2000-01-01")
d.close()
os.remove(f)
