"""Persistent identifiers: minted once, never given to anything else, never deleted."""

from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower

from registry.states import IdentifierKind, RepositoryKind
from registry.tables.repository.mlmodel import MLModel
from registry.tables.repository.revision import Revision


class Identifier(models.Model):
    """The name of an ARK, which names all versions of a repository (``concept``) or one of them.

    It outlives what it names. When that is withdrawn, ``description`` keeps the record as it was
    last described (the JSON of :class:`registry.fair.description.Description`), and the identifier
    leads to it from then on; what was never public leaves no description.
    """

    # Without the NAAN, which is the hub's setting and may be assigned late: ``h2x7k4q9m``.
    name = models.CharField(max_length=32, unique=True)
    kind = models.CharField(max_length=8, choices=IdentifierKind.choices)
    # What was named, in words that stay: the rows may go.
    repository_kind = models.CharField(max_length=8, choices=RepositoryKind.choices)
    full_name = models.CharField(max_length=200)
    oid = models.CharField(max_length=40, blank=True)
    mlmodel = models.ForeignKey(
        MLModel, models.SET_NULL, null=True, blank=True, related_name="identifiers"
    )
    revision = models.ForeignKey(
        Revision, models.SET_NULL, null=True, blank=True, related_name="identifiers"
    )
    minted_at = models.DateTimeField(auto_now_add=True)
    # ``10.5072/...`` where DataCite has registered one.
    doi = models.CharField(max_length=200, blank=True)
    # When DataCite is to be told what changed since; empty: it knows.
    doi_due_at = models.DateTimeField(null=True, blank=True, db_index=True)
    # Of all versions together: when what everybody could see was made private. Harvesters are told
    # that it is gone, and nothing else of it.
    hidden_at = models.DateTimeField(null=True, blank=True, db_index=True)
    withdrawn_at = models.DateTimeField(null=True, blank=True, db_index=True)
    reason = models.TextField(blank=True)
    description = models.JSONField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["mlmodel"], condition=Q(kind="concept"), name="identifier_concept_unique"
            ),
            models.UniqueConstraint(fields=["revision"], name="identifier_revision_unique"),
            models.UniqueConstraint(
                fields=["doi"], condition=~Q(doi=""), name="identifier_doi_unique"
            ),
        ]
        indexes = [
            models.Index("repository_kind", Lower("full_name"), name="identifier_named"),
        ]
