"""LiteRT, for models published with TensorFlow Lite files or PyTorch programs."""
