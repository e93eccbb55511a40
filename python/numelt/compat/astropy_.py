"""What numelt changes in astropy: `view` of its arrays with units, masks and names accepts our class."""

from __future__ import annotations

import types

from numelt.compat.numpy_ import teach_view

TESTED = ">=8.0,<9"
# subclasses of NumPy's array; astropy derives its other arrays from them
CLASSES = {
    "astropy.table.column": "BaseColumn",
    "astropy.table.ndarray_mixin": "NdarrayMixin",
    "astropy.units.quantity": "Quantity",
    "astropy.utils.masked.core": "MaskedNDArray",
}


def _teach(module: types.ModuleType) -> None:
    teach_view(getattr(module, CLASSES[module.__name__]))


CHANGES = dict.fromkeys(CLASSES, _teach)
