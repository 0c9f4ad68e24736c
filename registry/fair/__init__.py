"""FAIR metadata: the description of a version, and every serialisation made from it.

The package uses no tables, requests or files. ``registry.selectors.fair.description`` makes a
:class:`~registry.fair.description.Description` from rows; ``formats.FORMATS`` lists its
serialisations; ``score.score.METRICS`` are the metrics by which a served record is assessed.
"""
