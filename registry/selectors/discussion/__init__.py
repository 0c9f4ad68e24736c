"""Reads of discussions and pull requests."""
