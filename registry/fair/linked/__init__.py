"""Linked data: JSON-LD, Turtle, the hub's own vocabulary and the SHACL shape of records."""
