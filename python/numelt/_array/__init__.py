"""The array class: what the compiled class leaves to Python, and what the core calls back for.

`methods` completes the class once, at import. `classes` holds the metaclasses and the bases of derived
classes. `fields`, `flat` and `resize` implement single methods. `hooks` are the functions that the core calls
if an operation is not native.
"""
