"""Tables of the catalogue: searching, listing and summarising models and data sets."""
