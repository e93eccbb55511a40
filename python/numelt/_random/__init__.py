"""Random sampling: NumPy's generators (`generators`) and legacy functions (`legacy`) over our arrays."""
