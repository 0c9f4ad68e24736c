"""The scenarios of queries, ``multi-stream`` and ``offline``: builds compute many samples at once,
in batches and parallel streams."""
