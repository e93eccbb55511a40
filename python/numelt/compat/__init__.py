"""Interop with libraries: everything that changes an object that does not belong to numelt.

For libraries, our arrays are NumPy's: `isinstance(x, numpy.ndarray)` is true, and `numpy.asarray(x)` is a
view. Most libraries need no more. The modules of this folder make the others work, when they are imported.

`watching` notices the import of a library, with the list in `libraries`. `compiled` and `fortran` wrap
compiled functions, and `constructors` puts stand-ins in the places of compiled classes. `wrapping` wraps
Python functions, which one module per library (``pandas_``, ``scipy_``, …) names. `numpy_`, `warning` and
`assertions` change objects of NumPy and of `warnings`, `errstate` reads NumPy's error state, and `running`
changes modules that run programs. Nothing else in the package changes objects of others;
``scripts/check_architecture.py`` checks that, and lists exceptions with their reasons.

The module of a library states the versions with which it was tested (`TESTED`), the functions that are
wrapped and why (`WRAPPED`), other changes (`CHANGES`), and which compiled modules are wrapped if the general
rule of `compiled` does not fit (`COMPILED`).
"""
