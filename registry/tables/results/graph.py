"""Table of graphs, the facts of networks."""

from django.db import models

from registry.ids import sha256_column, uuid_column
from registry.states import ArchitectureClass
from registry.tables.repository.revision import Revision


class Graph(models.Model):
    """Facts of one network file of a revision, computed by inspection.

    ``graph_hash`` ignores names and weights: equal hashes mean the same computation, so that
    search results can be reused. ``signature`` is
    ``{"inputs": [{"name", "dtype", "shape"}], "outputs": [...]}`` where a dimension is an integer
    or a name; ``facts`` holds the rest of :class:`hpcfair.tickets.GraphFacts`.
    """

    uuid = uuid_column()
    revision = models.ForeignKey(Revision, models.CASCADE, related_name="graphs")
    path = models.CharField(max_length=1024)
    # Of several files of a revision, the one that is tuned and loaded.
    is_primary = models.BooleanField(default=False)
    graph_hash = sha256_column(db_index=True)
    architecture_class = models.CharField(
        max_length=24, choices=ArchitectureClass.choices, db_index=True
    )
    parameters = models.BigIntegerField()
    # Null if dynamic dimensions leave it open.
    macs = models.BigIntegerField(null=True)
    signature = models.JSONField()
    operators = models.JSONField()
    embedding = models.JSONField()
    facts = models.JSONField(default=dict)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["revision", "path"], name="graph_path_unique")
        ]
