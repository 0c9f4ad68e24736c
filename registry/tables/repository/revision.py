"""Revisions of an MLModel, and the branches and tags that name them."""

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from registry.ids import oid_column, uuid_column
from registry.states import RefKind
from registry.tables.repository.file import File, FileQuerySet, FileSeries
from registry.tables.repository.mlmodel import MLModel


class Revision(models.Model):
    """An immutable snapshot of files, identified by the id that git gives the same commit.

    ``card`` is the parsed front matter of its README.md, with unknown keys; ``author_line`` is
    the ``Name <email> seconds zone`` of the commit object, from which the id can be recomputed.
    ``directory_oid`` is the git tree id over the files' own bytes, as Software Heritage computes it
    of a download; it differs from ``tree_oid`` if that has pointers in place of large files.
    ``file_count`` and ``size_bytes`` are sums over the files, which never change. The files are the
    rows of ``series`` that are valid at ``position``.
    """

    uuid = uuid_column()
    mlmodel = models.ForeignKey(MLModel, models.CASCADE, related_name="revisions")
    oid = oid_column()
    tree_oid = oid_column()
    directory_oid = oid_column()
    file_count = models.PositiveIntegerField(default=0)
    size_bytes = models.BigIntegerField(default=0)
    # Its index is that of the unique constraint.
    series = models.ForeignKey(
        FileSeries, models.RESTRICT, related_name="revisions", db_index=False
    )
    position = models.PositiveIntegerField()
    parent = models.ForeignKey("self", models.RESTRICT, null=True, related_name="children")
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="revisions"
    )
    author_line = models.CharField(max_length=500)
    message = models.TextField()
    created_at = models.DateTimeField()
    card = models.JSONField(default=dict)
    # When the periodic FAIR assessment looks at it next; null if no tag and no default branch
    # leads to it.
    assess_at = models.DateTimeField(null=True, default=timezone.now)
    # Whether a branch, tag or child that led to it went away: garbage collection looks at it.
    is_stray = models.BooleanField(default=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["mlmodel", "oid"], name="revision_oid_unique"),
            models.UniqueConstraint(fields=["series", "position"], name="revision_position_unique"),
        ]
        indexes = [
            models.Index(fields=["mlmodel", "-id"], name="revision_newest"),
            models.Index(
                fields=["assess_at", "id"],
                condition=Q(assess_at__isnull=False),
                name="revision_assess_due",
            ),
            models.Index(fields=["id"], condition=Q(is_stray=True), name="revision_stray"),
        ]

    @property
    def files(self) -> FileQuerySet:
        """The files; other revisions share their rows."""
        return File.objects.at(self)


class Ref(models.Model):
    """A branch or a pull request's branch, which move, or a tag, which does not."""

    mlmodel = models.ForeignKey(MLModel, models.CASCADE, related_name="refs")
    kind = models.CharField(max_length=8, choices=RefKind.choices)
    name = models.CharField(max_length=200)
    revision = models.ForeignKey(Revision, models.RESTRICT, related_name="refs")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["mlmodel", "kind", "name"], name="ref_unique")
        ]
