"""Networks as drawings: nodes with attributes, tensors, statistics of weights, coordinates and a
hierarchy for collapsing, as one document.

:func:`workers.inspection.topology.document.describe` makes it, in the confined child process that
inspects the network. Its format is ``registry/schemas/hpcfair.topology-1.json``.
"""
