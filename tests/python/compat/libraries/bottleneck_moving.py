"""Bottleneck's functions in C."""

import bottleneck as bn
import numpy as np

x = np.random.default_rng(0).random((10, 10))
x[2, 3] = np.nan
bn.nanmean(x)
bn.move_mean(x, 3, axis=1).sum()
bn.nansum(x, 0)[:3]
bn.median(x[0])
bn.rankdata(x[0])
bn.partition(x[0].copy(), 3)[:2]
bn.push(x[2])
bn.nanargmax(x)
bn.anynan(x)
bn.replace(x, np.nan, 0.0)
x[2, 3]
bn.nanstd(x)
bn.move_max(x[0], 2)
bn.ss(x)
bn.allnan(x)
