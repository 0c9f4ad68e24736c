"""Repeats the measurement of a published build on this machine, by the protocol of its record."""
