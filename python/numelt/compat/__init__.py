"""Other people's libraries: everything that changes an object which is not numelt's own.

Libraries see our arrays as NumPy's: `isinstance(x, numpy.ndarray)` holds, and `numpy.asarray` gives a view.
That is enough for most of them. What is left is done here, when a library is imported.

`watching` notices that a library is imported. `compiled` and `fortran` wrap compiled functions, `wrapping`
the Python functions that the modules of single libraries (``pandas_``, ``scipy_``, …) name. `numpy_`,
`warning` and `assertions` change NumPy's own objects and those of `warnings`. Nothing else in the package
does such things, but for the exceptions that ``scripts/check_architecture.py`` lists with their reasons.

A library's module states with which versions its names were tested (`TESTED`), what is wrapped and why
(`WRAPPED`), and, where it matters, which of its compiled modules are wrapped (`COMPILED`).
"""
