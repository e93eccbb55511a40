"""Data frames of polars."""

import numpy as np
import polars as pl

x = np.arange(10.0)
df = pl.DataFrame({"a": x, "b": (x * 2).astype(int), "s": np.array(list("abcdefghij"))})
df
df["a"].to_numpy().sum()
pl.Series("q", x).mean()
pl.from_numpy(x.reshape(5, 2)).shape
df.filter(pl.col("a") > x.mean()).height
df.with_columns(c=pl.lit(x)).shape
np.sqrt(df["a"])[4]
df.with_columns(pl.Series("z", x > 3)).sum()
df.to_numpy().shape
pl.Series(x)[np.array([1, 2])].to_list()
pl.DataFrame(x.reshape(5, 2), schema=["u", "v"]).columns
pl.Series([x, x]).dtype
df["a"].is_in(x[:3]).sum()
pl.Series(np.array(["2020-01-01"], "M8[D]")).dtype
df.select(pl.col("a").map_batches(lambda s: np.exp(s.to_numpy()))).sum().item()
