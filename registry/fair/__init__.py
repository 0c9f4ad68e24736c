"""FAIR metadata: one description of a version, and every serialisation made from it.

Nothing here knows a table, a request or a file on disk. ``selectors/description.py`` fills a
:class:`~registry.fair.description.Description` from rows; ``formats.FORMATS`` lists what it can be
written as; ``metrics.METRICS`` says what an outside assessor would find missing.
"""
