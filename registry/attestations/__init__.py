"""Signed statements: keys, DSSE envelopes and in-toto statements. Knows no tables.

A statement says what was published; an envelope holds a statement and its signature. The client
reads both in ``hpcfair.attestation``.
"""
