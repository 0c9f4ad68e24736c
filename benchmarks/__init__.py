"""Measurements of the whole, each against a named baseline in the same run. See README.md."""
