"""Rewrites of ONNX graphs that compute the same with less, and that runtimes miss."""
