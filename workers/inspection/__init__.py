"""Reads the networks in a revision's files without running them.

:func:`workers.inspection.inspect.inspect` is the entry point. It runs in a confined child process,
because its input is untrusted; nothing here imports Django.
"""
