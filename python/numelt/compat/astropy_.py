"""What numelt changes of astropy: arrays with units."""

from __future__ import annotations

from numelt.compat.numpy_ import teach_view

TESTED = ">=8.0,<9"
CHANGES = {"astropy.units.quantity": lambda module: teach_view(module.Quantity)}
