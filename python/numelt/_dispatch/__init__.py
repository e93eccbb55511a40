"""What decides how a call runs: recorded, composed of recorded operations, as a library call, or in NumPy.

`native` is the table of the functions that numelt records, `composed` makes such functions of NumPy's own,
`library` runs NumPy's compiled code by intention (`stacks` and `counting`: on all cores), and `fallback`
hands everything else to NumPy, counted by `counters`. `overrides` asks classes that take part in NumPy's
functions, `mirror` finds numelt's object for one of NumPy's, and `pickling` pickles it by its name. `copies`
runs NumPy's Python modules a second time, and `files` knows which files belong to the program.
"""
