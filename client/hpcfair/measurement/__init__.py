"""The measurement protocol that the client and the hub's workers share.

Two builds are timed in interleaved ABBA rounds; their samples become a latency ratio with a
confidence interval and a verdict. Outputs become deviations from a reference. This package imports
the standard library, NumPy and nothing else: it also runs where no other part of ``hpcfair`` does.
"""
