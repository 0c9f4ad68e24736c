"""Reads what a revision's files say about its networks, without running them.

:func:`workers.inspection.inspect.inspect` is the whole way through. It is called in a limited
child process, because its input is a stranger's bytes; nothing here imports Django.
"""
