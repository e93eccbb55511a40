//! numelt's Python front end: the compiled module `numelt._core`.
