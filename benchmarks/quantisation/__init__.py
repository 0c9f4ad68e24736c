"""Other people's quantisation tools, each run by a script in its own environment.

The scripts ``with_*`` and :mod:`benchmarks.quantisation.exchange` import only the standard library,
NumPy and the tool, because nothing of ours is installed there.
"""
