"""Mixed precision by layer: which layers of a network may compute in int8, for a limit on the error
of its outputs."""
