"""The parts of ufuncs that are not in the compiled class: compositions, methods, reductions."""
