"""Turns the rows, the files and the card of a version into its FAIR description."""
