"""Reads. What may be seen is decided in ``access`` alone."""
