"""Networks as users export them: architectures from their configurations, with seeded weights.

:mod:`benchmarks.exports.drawing` draws a set by seed, :mod:`benchmarks.exports.folders` writes it
as folders that can be inspected and searched. The exporters run in an environment of their own;
modules that need it are imported by :mod:`benchmarks.exports.write` only, which runs there.
"""
