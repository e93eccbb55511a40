"""Statistics: reductions, order statistics, and the functions that leave NaN out."""
