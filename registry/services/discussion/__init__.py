"""Writes to discussions and pull requests."""
