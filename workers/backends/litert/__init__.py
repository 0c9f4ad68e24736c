"""LiteRT: runs the TensorFlow Lite files that a model's author published."""
