"""Chunked arrays of dask."""

import dask.array as da
import numpy as np

x = np.arange(10000.0).reshape(100, 100)
d = da.from_array(x, chunks=(25, 50))
(d + d.T).sum().compute()
d.mean(0).compute()[:3]
(d @ d).compute()[0, :2]
d[::3, 5].compute()[:4]
da.sqrt(d).std().compute()
da.map_blocks(lambda b: b * 2, d).compute()[1, :3]
da.linalg.svd(da.from_array(x + np.eye(100), chunks=(50, 100)))[1].compute()[:2].round(3)
da.concatenate([d, x]).shape
da.where(d > 5, d, 0).sum().compute()
np.sin(d).sum().compute().round(6)
da.apply_along_axis(np.sum, 0, d, dtype=float, shape=()).compute()[:3]
da.histogram(d, bins=5, range=(0, 10000))[0].compute()
da.percentile(d.ravel(), [10, 50]).compute()
d.map_overlap(lambda b: np.roll(b, 1, 0), depth=1, boundary="reflect").compute().sum()
import dask

dask.compute(dask.delayed(np.add)(x, 1))[0].sum()
da.random.default_rng(0).random(5, chunks=5).compute().shape
