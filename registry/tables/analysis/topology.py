"""Table of topologies, the drawings of networks."""

from django.db import models

from registry.tables.results.graph import Graph
from registry.tables.storage.blob import Blob


class Topology(models.Model):
    """Nodes, tensors, weights, coordinates and groups of a network, as its inspection read them.

    The document is gzipped JSON of schema ``hpcfair.topology/1`` in ``blob``. It is null if the
    network could not be drawn; a graph without a row was inspected by an older version of the hub.
    """

    graph = models.OneToOneField(Graph, models.CASCADE, related_name="topology")
    blob = models.ForeignKey(Blob, models.PROTECT, null=True, related_name="topologies")
    nodes = models.IntegerField(default=0)
    edges = models.IntegerField(default=0)
    groups = models.IntegerField(default=0)
    # Length of the JSON.
    size_bytes = models.BigIntegerField(default=0)
    created_at = models.DateTimeField(auto_now=True)
