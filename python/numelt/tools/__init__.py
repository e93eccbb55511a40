"""How to see what numelt does, and the ways to start it other than ``import numelt as np``.

`inspection` and `profiling` are loaded with the package; the other modules when they are first used,
because a
start of Python should not pay for them. Nothing here changes a result.
"""
