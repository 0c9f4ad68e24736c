"""The hub's keys, and the signature columns of what they sign."""

from django.db import models

from registry.ids import sha256_column


class HubKey(models.Model):
    """The public part of a key that signs, or signed; rows are never deleted.

    ``succession`` is the envelope in which the key before it names this one.
    """

    keyid = sha256_column(unique=True)
    public_pem = models.TextField()
    valid_from = models.DateTimeField()
    valid_until = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)
    reason = models.CharField(max_length=500, blank=True)
    succession = models.JSONField(null=True)


class Signed(models.Model):
    """Columns of a row that the hub's key signs; the background task signs rows without."""

    envelope = models.JSONField(null=True)
    signed_by = models.ForeignKey(HubKey, models.PROTECT, null=True, related_name="+")
    signed_at = models.DateTimeField(null=True)

    class Meta:
        abstract = True
