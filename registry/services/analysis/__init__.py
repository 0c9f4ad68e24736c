"""Writes of the analysis of performance: roofs of devices."""
