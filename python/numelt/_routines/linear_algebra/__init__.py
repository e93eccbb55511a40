"""Linear algebra: products, contractions and norms; decompositions are NumPy's library calls."""
