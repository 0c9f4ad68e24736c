"""Derivations: the sources of revisions."""

from django.db import models

from registry.states import Relation
from registry.tables.repository.mlmodel import MLModel
from registry.tables.repository.revision import Revision


class Derivation(models.Model):
    """An edge of the lineage graph, from a revision to one of its sources.

    ``source`` is the text of the card (``namespace/name``, an identifier, an address); the other
    columns refer to a source of this hub. When that is deleted, ``source`` becomes its last name
    and the ARK under which its record is kept.
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
        indexes = [models.Index(fields=["source_mlmodel", "id"], name="derivation_of_source")]
