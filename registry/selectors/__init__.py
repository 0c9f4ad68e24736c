"""Reads of the tables; :mod:`registry.selectors.access` alone decides read permissions."""
