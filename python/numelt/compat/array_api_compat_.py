"""What numelt changes of the array API's helpers."""

from __future__ import annotations

from numelt.compat.wrapping import Name, naming

TESTED = ">=1.16,<1.17"
WRAPPED = (Name("array_api_compat.common._helpers", "is_numpy_namespace", naming, "numelt is NumPy"),)
