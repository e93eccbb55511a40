"""Mathematical functions that are not ufuncs."""
