"""Formulas and time series of statsmodels."""

import numpy as np
import pandas as pd
import statsmodels.formula.api as smf

rng = np.random.default_rng(1)
df = pd.DataFrame({"a": rng.normal(size=50), "b": rng.normal(size=50), "g": np.repeat(np.arange(5), 10)})
df["y"] = df.a * 2 + df.b + rng.normal(size=50)
smf.ols("y ~ a + b + C(g)", df).fit().params.round(6)
smf.mixedlm("y ~ a", df, groups=df["g"]).fit().params.round(3)
from statsmodels.tsa.api import VAR, ExponentialSmoothing

VAR(rng.normal(size=(80, 2))).fit(2).params.round(6)
ExponentialSmoothing(np.arange(30.0) + rng.normal(size=30), trend="add").fit().forecast(2).round(3)
from statsmodels.tsa.seasonal import STL, seasonal_decompose

s = np.sin(np.arange(48) * np.pi / 6) + np.arange(48) * 0.1
seasonal_decompose(s, period=12).trend[6:10].round(6)
STL(s, period=12).fit().trend[:3].round(5)
