"""The array class: what the compiled class leaves to Python, and what the core calls back for.

`methods` completes the class once, at import; `classes` holds the metaclasses and what derived classes are
made of; `pickling`, `fields`, `flat` and `resize` are single methods; `hooks` is what the core calls where an
operation is not native.
"""
