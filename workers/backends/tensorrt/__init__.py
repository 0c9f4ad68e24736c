"""NVIDIA TensorRT: engines for one model of GPU."""
