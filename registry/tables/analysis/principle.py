"""Tables of principles: decisions that fast schedules of an operator share."""

from django.db import models

from registry.ids import sha256_column


class PrincipleStatus(models.TextChoices):
    """Status of a principle: ``examined`` until it reaches the bar for the first time; then
    ``published``, ``weakened`` while evidence is missing, or ``withdrawn`` while it contradicts.
    """

    EXAMINED = "examined"
    PUBLISHED = "published"
    WEAKENED = "weakened"
    WITHDRAWN = "withdrawn"


class Principle(models.Model):
    """A statement about fast schedules of an operator, and the method by which it is judged.

    ``identifier`` is the SHA-256 of the canonical JSON of ``{"statement", "method"}``, which never
    change. A principle is never deleted: if new evidence contradicts it, its status says so.
    """

    identifier = sha256_column(unique=True)
    # {"anchor", "trait", "is_wanted"}; the first and the words are columns for lists.
    statement = models.JSONField()
    method = models.JSONField()
    anchor = models.CharField(max_length=64, db_index=True)
    words = models.CharField(max_length=300)
    status = models.CharField(max_length=10, choices=PrincipleStatus.choices)
    published_at = models.DateTimeField(null=True)
    # Of the status.
    changed_at = models.DateTimeField()
    created_at = models.DateTimeField(auto_now_add=True)


class PrincipleVersion(models.Model):
    """The evidence for a principle at one time, and the frozen query that yields it.

    ``query`` names the trials and ablations, so that anybody can compute ``evidence`` again;
    ``digest`` is the SHA-256 of its canonical JSON. While a principle is only examined, its one
    version is replaced; afterwards versions are added and never change.
    """

    principle = models.ForeignKey(Principle, models.CASCADE, related_name="versions")
    number = models.IntegerField()
    digest = sha256_column()
    query = models.JSONField()
    evidence = models.JSONField()
    status = models.CharField(max_length=10, choices=PrincipleStatus.choices)
    computed_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["principle", "number"], name="principle_version_number")
        ]
