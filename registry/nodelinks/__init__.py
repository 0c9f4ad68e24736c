"""Links the calls of an imported profile to the nodes of a network.

By names first, then by subgraph isomorphism with an exact cover in the order of execution.
:func:`registry.nodelinks.link.link` is the entry point. Pure functions: no tables, no ONNX.
"""
