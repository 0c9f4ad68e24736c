"""NVIDIA TensorRT: engines for a single GPU model."""
