"""Fits and tests of statsmodels."""

import numpy as np
import statsmodels.api as sm

rng = np.random.default_rng(0)
x = rng.normal(size=(100, 3))
y = x @ np.array([1.0, 2.0, 3.0]) + rng.normal(size=100)
m = sm.OLS(y, sm.add_constant(x)).fit()
np.round(m.params, 6)
round(m.rsquared, 8)
str(m.summary())[200:1500].replace("Sun, 22 Nov 2026", "").split("Date")[0]
m.predict(sm.add_constant(x))[:5].round(6)
g = sm.GLM((y > 0).astype(float), sm.add_constant(x), family=sm.families.Binomial()).fit()
g.params.round(5)
from statsmodels.tsa.arima.model import ARIMA

z = np.cumsum(rng.normal(size=200))
r = ARIMA(z, order=(1, 1, 1)).fit()
r.params.round(3)
r.forecast(3).round(2)
from statsmodels.tsa.stattools import acf, adfuller

acf(z, nlags=5).round(6)
round(float(adfuller(z)[0]), 6)
sm.nonparametric.lowess(y, x[:, 0])[:3].round(6)
from statsmodels.stats.multitest import multipletests

multipletests(np.array([0.01, 0.02, 0.5, 0.04]))
sm.RLM(y, x).fit().params.round(5)
sm.Logit((y > 0) * 1, x).fit(disp=0).params.round(4)
k = sm.nonparametric.KDEUnivariate(y)
k = k.fit()
k.density[:4].round(7)
