"""How to see what numelt does, and the ways to start it other than ``import numelt as np``.

`inspection`, `lazy` and `starting` are loaded with the package. The other modules are loaded when they are
first used, so that the import of numelt does not pay for them. Nothing here changes a result.
"""
