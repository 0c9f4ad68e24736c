"""Reads profiles that profilers of other tools wrote: untrusted text of bounded size.

:func:`registry.profilefiles.formats.read` is the entry point; each format is a line in its table
and a module. Nothing here knows tables, networks or HTTP.
"""
