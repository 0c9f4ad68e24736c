"""ONNX Runtime on NVIDIA GPUs: the baseline there, and its own knobs."""
