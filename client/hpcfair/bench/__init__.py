"""Measuring a published build again, on this machine, the way its record was measured."""
