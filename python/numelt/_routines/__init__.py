"""Native functions, grouped as NumPy's manual groups them.

In: any arguments of NumPy's function of the same name. Out: recorded operations, or a counted call of NumPy's
function if an argument is not native. Each function is one short Python function over the primitives of
`numelt._core`; no kernel is written here.
"""
