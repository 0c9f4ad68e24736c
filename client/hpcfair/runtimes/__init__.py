"""Runtimes: each opens a build's files and runs them. The hub's workers measure through these."""
