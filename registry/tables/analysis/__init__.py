"""Tables of the analysis of performance: roofs of devices."""
