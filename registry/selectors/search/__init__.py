"""Reads of the catalogue: search, lists and summaries of models and data sets."""
