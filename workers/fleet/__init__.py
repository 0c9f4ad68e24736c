"""Machines that work for a hub."""
