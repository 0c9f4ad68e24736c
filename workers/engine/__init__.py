"""The tuner, in pure Python: runs in a notebook, on a device, or without a network connection.

Components exchange frozen data (:mod:`~workers.engine.types`) through interfaces
(:mod:`~workers.engine.ports`); :func:`workers.engine.tune.tune` is the search loop.
"""
