"""Indexing routines: reading and writing by keys, positions and conditions; arrays of indices; views."""
