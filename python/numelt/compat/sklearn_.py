"""What numelt changes in scikit-learn, which converts most arguments to NumPy's arrays itself."""

from __future__ import annotations

from numelt.compat.numpy_ import teach_shuffles
from numelt.compat.wrapping import Name, giving_back, naming

TESTED = ">=1.9,<1.10"
# the arguments of a tree's methods are not converted
COMPILED = ("sklearn.tree.",)
_CLASS = "`return_as` may be the array's class"
_SUBCLASS = "it asks `issubclass(type(x), ndarray)`"
WRAPPED = (
    Name("sklearn.externals.array_api_compat.common._helpers", "_issubclass_fast", naming, _SUBCLASS),
    Name(
        "sklearn.externals.array_api_compat.common._helpers", "is_numpy_namespace", naming,
        "the argument may be the module numelt",
    ),
    Name("sklearn.feature_extraction.image", "grid_to_graph", giving_back, _CLASS),
    Name("sklearn.feature_extraction.image", "img_to_graph", giving_back, _CLASS),
    Name(
        "sklearn.preprocessing._label", "MultiLabelBinarizer.inverse_transform", giving_back,
        "it gives the array to `itertools.compress`, row by row",
    ),
    Name(
        "sklearn.utils.validation", "check_random_state", naming,
        "the argument may be the module `np.random`",
    ),
)  # fmt: skip
# programs get NumPy's generators from its `check_random_state`
CHANGES = {"sklearn.utils.validation": lambda _: teach_shuffles()}
