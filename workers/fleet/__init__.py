"""This machine: its target, its device and its energy counters."""
