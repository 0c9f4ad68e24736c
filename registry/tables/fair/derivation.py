"""What a revision was made from."""

from django.db import models

from registry.states import Relation
from registry.tables.repository.mlmodel import MLModel
from registry.tables.repository.revision import Revision


class Derivation(models.Model):
    """An edge of the lineage graph, from what was made to what it was made from.

    ``source`` keeps what was written (``namespace/name``, an identifier, an address); the other
    columns lead to it where it is of this hub. When that is deleted, ``source`` becomes its last
    name and the ARK that its record is left under.
    """

    revision = models.ForeignKey(Revision, models.CASCADE, related_name="derivations")
    relation = models.CharField(max_length=16, choices=Relation.choices)
    source = models.CharField(max_length=500)
    source_mlmodel = models.ForeignKey(
        MLModel, models.SET_NULL, null=True, blank=True, related_name="derived"
    )
    source_oid = models.CharField(max_length=40, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["revision", "relation", "source"], name="derivation_unique"
            )
        ]
