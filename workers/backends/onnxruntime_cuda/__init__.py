"""ONNX Runtime on NVIDIA GPUs: the baseline there, and a backend."""
