"""ONNX Runtime on the CPU: the baseline of all builds, and a backend."""
