"""What numelt changes in scikit-image."""

from __future__ import annotations

from numelt.compat.wrapping import Name, giving_back

TESTED = ">=0.26,<0.27"
WRAPPED = (
    Name(
        "skimage.feature.haar", "haar_like_feature", giving_back,
        "the array goes through dask's or joblib's tasks to a function compiled by Pythran",
    ),
)  # fmt: skip
