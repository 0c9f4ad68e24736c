"""Runs functions in confined child processes. The standard library and NumPy only.

Workers read untrusted networks and run candidates with it, the client runs builds with it
(``isolated=True``).
"""
