"""Linked data: JSON-LD, Turtle, the hub's own vocabulary and the shape that records pass."""
