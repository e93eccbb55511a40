"""How a call is run: recorded, composed of recorded operations, as a library call, or in NumPy.

`native` is the table of the functions that numelt records. `composed` makes further ones from NumPy's own
Python functions. `library` runs NumPy's compiled code where that is the intended implementation (`stacks` and
`counting`: on all cores). `fallback` runs everything else in NumPy, and `counters` counts it. `overrides`
calls ``__array_function__`` of other classes, `mirror` finds numelt's object for one of NumPy's, and
`pickling` pickles it by its name. `copies` runs NumPy's Python modules a second time, and `files` tells the
program's files from those of libraries.
"""
