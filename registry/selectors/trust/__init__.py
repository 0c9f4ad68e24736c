"""Reads of the hub's keys and signatures."""
