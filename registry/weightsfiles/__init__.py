"""Reads what files of weights state about themselves: formats' headers, within strict bounds.

Nothing is loaded or executed. Weights are not read, so that a file of any size costs the same.
"""
