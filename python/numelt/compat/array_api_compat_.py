"""What numelt changes in the array API's helpers."""

from __future__ import annotations

from numelt.compat.wrapping import Name, naming

TESTED = ">=1.16,<1.17"
_HELPERS = "array_api_compat.common._helpers"
WRAPPED = (
    Name(_HELPERS, "_issubclass_fast", naming, "it asks `issubclass(type(x), ndarray)`"),
    Name(_HELPERS, "is_numpy_namespace", naming, "the argument may be the module numelt"),
)
