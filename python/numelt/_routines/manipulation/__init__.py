"""Array manipulation routines: shapes and axes, joining and splitting, adding and removing elements."""
