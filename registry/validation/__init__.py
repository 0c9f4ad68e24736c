"""Validation of user input: paths, names, cards, licenses. Pure functions without tables."""
