"""Native functions, grouped as NumPy's manual groups them.

In: anything NumPy's function of the same name takes. Out: recorded operations, or a counted call of
NumPy's function where an argument is not native. Each function is one short Python function over the
primitives of `numelt._core`; no kernel is written here.
"""
