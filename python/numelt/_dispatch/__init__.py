"""What decides how a call runs: recorded, composed of recorded operations, as a library call, or in NumPy.

`native` is the table of the functions that numelt records, `composed` makes such functions of NumPy's own,
`library` runs NumPy's compiled code by intention (`stacks` and `counting`: on all cores), and `fallback`
hands everything else to NumPy, counted by `counters`. `overrides` asks classes that take part in NumPy's
functions, `mirror` finds what stands for one of NumPy's objects, `naming` pickles it by its name, and
`files` knows which files are the program's own.
"""
