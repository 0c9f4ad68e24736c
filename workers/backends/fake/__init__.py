"""Pretend kernels: tests the tuner without a compiler."""
