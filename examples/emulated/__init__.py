"""Emulated machines: a Debian userland of another processor, unpacked below the user's cache.

``python -m examples.emulated prepare`` unpacks it, ``... run -- COMMAND`` runs a command in it. See
docs/howto/emulated.md.
"""
