"""Verifies what the hub signed, and remembers the hub's key."""
