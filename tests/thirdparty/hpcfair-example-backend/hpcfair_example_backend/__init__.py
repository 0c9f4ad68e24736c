"""Compiles a chain of matrix products with constant matrices to one product, run by NumPy."""
