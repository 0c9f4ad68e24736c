"""Persistent identifiers: minted once, never reassigned, never deleted."""

from django.db import models
from django.db.models import Case, F, Q, Value, When
from django.db.models.functions import Lower, StrIndex, Substr

from registry.states import IdentifierKind, RepositoryKind
from registry.tables.repository.mlmodel import MLModel
from registry.tables.repository.revision import Revision


class Identifier(models.Model):
    """An ARK of all versions of a repository (``concept``) or of one version.

    The row outlives its target. On withdrawal, ``description`` stores the last description (JSON
    of :class:`registry.fair.description.Description`), to which the identifier resolves from then
    on; targets that were never public leave no description.
    """

    # Without the NAAN, which is a setting of the hub and may be assigned late: ``h2x7k4q9m``.
    name = models.CharField(max_length=32, unique=True)
    kind = models.CharField(max_length=8, choices=IdentifierKind.choices)
    # Kind, name and commit id of the target, which stay when its rows are deleted.
    repository_kind = models.CharField(max_length=8, choices=RepositoryKind.choices)
    full_name = models.CharField(max_length=200)
    # ``namespace/`` of ``full_name`` in lower case.
    owner = models.GeneratedField(
        expression=Lower(Substr("full_name", 1, StrIndex("full_name", Value("/")))),
        output_field=models.CharField(max_length=200),
        db_persist=True,
    )
    oid = models.CharField(max_length=40, blank=True)
    mlmodel = models.ForeignKey(
        MLModel, models.SET_NULL, null=True, blank=True, related_name="identifiers"
    )
    revision = models.ForeignKey(
        Revision, models.SET_NULL, null=True, blank=True, related_name="identifiers"
    )
    minted_at = models.DateTimeField(auto_now_add=True)
    # ``10.5072/...`` if one is registered with DataCite.
    doi = models.CharField(max_length=200, blank=True)
    # When an update is due at DataCite; empty if its metadata are current.
    doi_due_at = models.DateTimeField(null=True, blank=True)
    # Concepts only: when a public repository was made private. Harvesters get a deleted record.
    hidden_at = models.DateTimeField(null=True, blank=True)
    withdrawn_at = models.DateTimeField(null=True, blank=True)
    reason = models.TextField(blank=True)
    description = models.JSONField(null=True, blank=True)
    # When the target ceased to be public: it is hidden, or withdrawn with a record.
    gone_at = models.GeneratedField(
        expression=Case(
            When(hidden_at__isnull=False, then=F("hidden_at")),
            When(description__isnull=False, then=F("withdrawn_at")),
        ),
        output_field=models.DateTimeField(null=True),
        db_persist=True,
    )

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
            models.Index(fields=["mlmodel", "kind", "-id"], name="identifier_of_mlmodel"),
            models.Index("repository_kind", Lower("full_name"), name="identifier_named"),
            models.Index(
                fields=["kind", "repository_kind", "gone_at", "id"],
                condition=Q(gone_at__isnull=False),
                name="identifier_gone",
            ),
            models.Index(
                fields=["owner", "kind", "repository_kind", "gone_at", "id"],
                condition=Q(gone_at__isnull=False),
                name="identifier_gone_of_owner",
            ),
            models.Index(
                fields=["doi_due_at", "id"],
                condition=Q(doi_due_at__isnull=False),
                name="identifier_doi_due",
            ),
        ]
