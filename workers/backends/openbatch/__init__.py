"""Opens the batch of networks that exporters fixed at one row, for the scenario ``offline``.

Builds of the published network compute one row a run, builds of the one with an open batch any
number. It is used only after its outputs were compared with those of the published file.
"""

#: The function that devices call, for :class:`workers.engine.requests.TuningRequest`.
BATCH_OPENER = "workers.backends.openbatch.opener:open_batch"
