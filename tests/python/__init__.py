"""Tests of the Python package, whose reference is NumPy."""
