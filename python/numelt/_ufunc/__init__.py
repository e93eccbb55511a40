"""The ufunc objects beyond what the compiled class records itself: compositions, methods, reductions."""
