"""Writes networks in the way that every backend reads: their normal form.

Exporters write equal networks differently: with functions or without, with shapes computed from
other shapes or constant, with sizes of intermediate values that no longer hold. Backends refuse or
misread some of it. Each step here is a function from a model to an equal model.
"""

#: The normaliser that jobs use, for :class:`workers.engine.requests.TuningRequest`.
NORMALISER = "workers.backends.normalform.normaliser:normalise"
