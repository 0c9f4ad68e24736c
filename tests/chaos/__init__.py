"""Simulated fleets whose processes are killed while they work."""
