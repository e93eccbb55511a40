"""What numelt changes in statsmodels."""

from __future__ import annotations

from numelt.compat.wrapping import Name, giving_back

TESTED = ">=0.15,<0.16"
WRAPPED = (
    Name("statsmodels.multivariate.factor", "Factor.loglike", giving_back, "it asks `type(x) is ndarray`"),
    Name("statsmodels.multivariate.factor", "Factor.score", giving_back, "it asks `type(x) is ndarray`"),
    Name(
        "statsmodels.stats.correlation_tools", "corr_nearest_factor", giving_back,
        "it refuses what `type(x) is not ndarray`",
    ),
    Name("statsmodels.tools.data", "_is_using_ndarray_type", giving_back, "it asks `type(x) is ndarray`"),
)  # fmt: skip
