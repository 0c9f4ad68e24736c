"""Compilers and runtimes of the tuner: table entries, one package each."""
