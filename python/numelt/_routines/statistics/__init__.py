"""Statistics: reductions, order statistics, and the functions that ignore NaN."""
