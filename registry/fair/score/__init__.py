"""FAIR assessment of a record as served to outside clients."""
