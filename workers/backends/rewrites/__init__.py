"""Equivalent, faster rewrites of ONNX graphs that the optimisers of runtimes do not apply."""
