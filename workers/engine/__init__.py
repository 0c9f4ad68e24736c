"""The tuner, in pure Python: runs in a notebook, on a device, in an allocation without a network.

Roles pass frozen data (:mod:`~workers.engine.types`) through four ports
(:mod:`~workers.engine.ports`); :func:`workers.engine.tune.tune` is the whole loop.
"""
