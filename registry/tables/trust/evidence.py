"""Evidence of other hubs, their identifiers, and the hubs that operators trust."""

from django.db import models

from registry.ids import sha256_column
from registry.states import IdentifierKind
from registry.tables.repository.revision import Revision


class ForeignHub(models.Model):
    """Another hub, and the id of its key, which operators have verified by another way."""

    url = models.CharField(max_length=500, unique=True)
    keyid = sha256_column()
    created_at = models.DateTimeField(auto_now_add=True)


class ForeignEvidence(models.Model):
    """What another hub measured and signed of a revision that was imported from it.

    ``document`` is of :mod:`hpcfair.trust.evidence`; its signatures were verified, but it is never
    ranked with this hub's own measurements. ``signed_by`` is the key that signed exactly the files
    of this revision; empty if none did.
    """

    revision = models.OneToOneField(
        Revision, models.CASCADE, primary_key=True, related_name="evidence"
    )
    hub = models.CharField(max_length=500)
    document = models.JSONField()
    signed_by = models.CharField(max_length=64, blank=True)
    updated_at = models.DateTimeField(auto_now=True)


class AlternateIdentifier(models.Model):
    """A persistent identifier of the revision at the other hub, or of all its versions together
    (``concept``), as that hub signed it: ``ark:/NAAN/name`` or ``doi:10...``, in lower case."""

    evidence = models.ForeignKey(ForeignEvidence, models.CASCADE, related_name="identifiers")
    identifier = models.CharField(max_length=200)
    kind = models.CharField(max_length=8, choices=IdentifierKind.choices)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["identifier", "evidence"], name="alternate_identifier_unique"
            )
        ]
