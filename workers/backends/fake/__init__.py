"""Simulated kernels, for tests of the tuner without a compiler."""
