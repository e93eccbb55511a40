"""A tour through pandas."""

import numpy as np
import pandas as pd

rng = np.random.default_rng(0)
df = pd.DataFrame(rng.normal(size=(20, 3)), columns=list("abc"), index=pd.date_range("2020", periods=20))
df["g"] = np.arange(20) % 3
df["s"] = np.array(list("abcde") * 4)
df.groupby("g")[["a", "b"]].agg(["mean", "std"]).round(5)
df.rolling(3)["a"].mean().values[2:5]
df.resample("W")["a"].sum()
df.pivot_table(index="g", columns="s", values="a", aggfunc=np.mean).round(4)
df["a"].apply(np.sin).sum()
df[["a", "b"]].apply(np.sum)
df["a"].map(lambda v: v**2).sum()
df[["a", "b"]].to_numpy().mean()
np.log(df["a"].abs()).sum()
df.a.clip(lower=np.zeros(20)).sum()
df.loc[df.a > np.median(df.a), "b"].sum()
np.where(df.a > 0, df.b, 0).sum()
df.iloc[np.array([1, 3, 5])].a.sum()
df.take(np.argsort(df.a.values)).a.iloc[0]
df.a.isin(df.a.values[:3]).sum()
pd.cut(df.a, np.linspace(-3, 3, 4)).value_counts().values
pd.qcut(df.a.values, 3).codes
pd.Series(np.arange(3), index=np.array(list("xyz"))).to_dict()
pd.concat([df, df]).shape
df.merge(df, on="g").shape
df.corr(numeric_only=True).values[0].round(4)
df.a.quantile(np.array([0.1, 0.5])).values
df.assign(z=lambda d: np.exp(d.a)).z.sum()
df.interpolate if 0 else 1
pd.get_dummies(df.s).sum().values
pd.factorize(np.array(list("abca")))[0]
df.a.ewm(span=3).mean().iloc[-1]
pd.MultiIndex.from_product([np.arange(2), np.array(["a", "b"])]).tolist()
df.a.rank().values[:3]
df.sort_values("a").index[0]
pd.to_datetime(np.array(["2020-01-01"], "M8[D]"))
pd.Categorical(np.array(list("aba"))).codes
df.a.values @ df.b.values
df.T.shape
df.describe().loc["mean", "a"]
df.query("a > 0").shape
df.eval("a+b").sum()
pd.DataFrame({"x": np.arange(3), "y": np.float32(1)}).dtypes.to_dict()
pd.Series(np.array([1, np.nan, 3])).interpolate().values
pd.Index(np.arange(5)).get_indexer(np.array([1, 7]))
df.a.searchsorted(0.0) if 0 else 1
pd.unique(np.array([1, 2, 1]))
pd.crosstab(np.array([0, 1, 1]), np.array([1, 1, 0])).values
df.groupby(np.arange(20) // 5).a.transform("mean").iloc[0]
df.a.shift(1).values[1]
df.nlargest(2, "a").a.values
pd.Series(np.arange(4)).where(np.array([True, False, True, False]), np.arange(4) * 10).values
df.mask(df[["a"]] > 0, np.nan).a.isna().sum()
pd.IntervalIndex.from_breaks(np.arange(4)).mid.values
pd.arrays.IntegerArray(np.array([1, 2]), np.array([False, True]))
pd.Timedelta(np.timedelta64(3, "D"))
pd.Series(rng.integers(0, 5, 10)).value_counts().sort_index().values
df.to_numpy()[:1]
df.a.expanding().max().values[-1]
df.melt(id_vars="g", value_vars=["a"]).shape
df.explode if 0 else 1
pd.Series(np.arange(3.0)).dot(np.ones(3))
df.a.autocorr()
df.a.pct_change().values[1]
df.cumsum(numeric_only=True).iloc[-1].values if 0 else 1
df.set_index(np.arange(20)).index[3]
df.reindex(df.index[np.array([0, 1])]).shape
df.a.to_numpy(dtype=np.float32).dtype
pd.api.types.is_numeric_dtype(np.arange(3))
pd.DataFrame.from_records(np.array([(1, 2.0)], dtype=[("p", int), ("q", float)]))
pd.DataFrame(np.arange(4).reshape(2, 2)).stack().values
pd.DataFrame(dict(a=[np.arange(2), np.arange(3)])).a[1]
pd.testing.assert_frame_equal(df, df)
df.values.dtype
df.loc[:, "a"] = np.zeros(20)
df.iloc[0, 0] = np.float64(3)
df["q"] = np.nan
df.loc[df.index[:2], "q"] = np.array([1.0, 2.0])
df.sum(numeric_only=True)
pd.to_timedelta(np.arange(3), unit="s")
pd.util.hash_array(np.arange(3))
pd.arrays.BooleanArray(np.array([True]), np.array([False]))
pd.IntervalIndex.from_arrays(np.arange(3), np.arange(1, 4)).get_indexer(np.array([0.5, 2.5]))
df.groupby("g").a.transform(lambda v: np.sqrt(np.abs(np.asarray(v)))).sum()
df.a.rolling(3).apply(lambda v: np.mean(np.asarray(v)), raw=True).sum()
df.apply(lambda row: np.array([1, 2]), axis=1, result_type="expand").sum().tolist()
