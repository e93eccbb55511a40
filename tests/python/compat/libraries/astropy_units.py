"""Astropy's quantities, tables, coordinates, files and fits."""

import astropy.units as u
import numpy as np
from astropy.convolution import Gaussian2DKernel, convolve
from astropy.coordinates import SkyCoord
from astropy.io import fits
from astropy.modeling import fitting, models
from astropy.stats import sigma_clip, sigma_clipped_stats
from astropy.table import Table, join, vstack
from astropy.time import Time
from astropy.timeseries import LombScargle
from astropy.wcs import WCS

x = np.arange(5.0) + 1
q = x * u.m
q
(q / (2 * u.s)).to(u.km / u.h)
q.sum()
np.sqrt(q**2)
q.value
q > 2 * u.m
u.Quantity(x, "kg") * np.array(2.0)
np.sin(x * u.deg)
q.to_value(u.cm)
q[1:3].mean()
x[2] * u.s
np.concatenate([q, q])
x * u.m @ (x * u.m)
t = Table({"a": x, "b": np.array(list("abcde"))})
t["c"] = t["a"] ** 2
t
t[t["a"] > 2]
t.group_by("b").groups.aggregate(len) if 0 else 1
vstack([t, t])["a"].sum()
join(t, t, "b").colnames
t.as_array()[:2]
np.array(t["a"])
c = SkyCoord(x * u.deg, x * u.deg)
c.separation(c[0]).deg.round(6)
c.galactic.l.deg.round(5)
c.match_to_catalog_sky(c)[0]
Time(2451545.0 + x, format="jd").iso[:2]
(Time("2000-01-01") + x * u.day).mjd
h = fits.PrimaryHDU(np.arange(12.0).reshape(3, 4))
import io

b = io.BytesIO()
fits.HDUList([h, fits.BinTableHDU(t)]).writeto(b)
b.seek(0)
r = fits.open(b)
r[0].data.sum()
r[1].data["a"]
r[0].data.dtype
rng = np.random.default_rng(0)
y = rng.normal(size=100)
sigma_clip(y, sigma=2).mask.sum()
[round(float(v), 5) for v in sigma_clipped_stats(y)]
g = models.Gaussian1D(1, 0, 1)
xx = np.linspace(-3, 3, 50)
fitting.TRFLSQFitter()(g, xx, 2 * np.exp(-((xx - 0.5) ** 2))).parameters.round(5)
convolve(rng.random((16, 16)), Gaussian2DKernel(1)).sum().round(5)
w = WCS(naxis=2)
w.wcs.crpix = [1, 1]
w.wcs.cdelt = np.array([-0.1, 0.1])
w.wcs_pix2world(np.array([[1.0, 2.0], [3.0, 4.0]]), 0)
w.all_world2pix(x, x, 0)
LombScargle(xx, np.sin(5 * xx)).autopower()[1].max().round(5)
from astropy.visualization import ZScaleInterval

ZScaleInterval().get_limits(rng.random((32, 32)))
from astropy.nddata import CCDData, Cutout2D

Cutout2D(np.arange(100.0).reshape(10, 10), (5, 5), 3).data
CCDData(np.ones((3, 3)), unit="adu").add(CCDData(np.ones((3, 3)), unit="adu")).data.sum()
