"""Tests of the Python package: NumPy is the truth."""
