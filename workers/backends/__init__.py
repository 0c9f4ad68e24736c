"""Compilers and runtimes the tuner can use: a line in the registry, a folder, a passed contract."""
