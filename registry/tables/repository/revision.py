"""Revisions of an MLModel, their files, and the branches and tags that name them."""

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from registry.ids import PathField, oid_column, uuid_column
from registry.states import RefKind
from registry.tables.repository.mlmodel import MLModel
from registry.tables.storage.blob import Blob


class Revision(models.Model):
    """An immutable snapshot of files, identified by the id that git gives the same commit.

    ``card`` is the parsed front matter of its README.md, with unknown keys; ``author_line`` is
    the ``Name <email> seconds zone`` of the commit object, from which the id can be recomputed.
    ``directory_oid`` is the git tree id over the files' own bytes, as Software Heritage computes it
    of a download; it differs from ``tree_oid`` if that has pointers in place of large files.
    ``file_count`` and ``size_bytes`` are sums over the files, which never change.
    """

    uuid = uuid_column()
    mlmodel = models.ForeignKey(MLModel, models.CASCADE, related_name="revisions")
    oid = oid_column()
    tree_oid = oid_column()
    directory_oid = oid_column()
    file_count = models.PositiveIntegerField(default=0)
    size_bytes = models.BigIntegerField(default=0)
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
            models.UniqueConstraint(fields=["mlmodel", "oid"], name="revision_oid_unique")
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


class File(models.Model):
    """A path of a revision; ``oid`` is the git id of its bytes, or of its pointer if ``is_lfs``."""

    revision = models.ForeignKey(Revision, models.CASCADE, related_name="files")
    path = PathField(max_length=1024)
    blob = models.ForeignKey(Blob, models.PROTECT, related_name="files")
    oid = oid_column()
    is_lfs = models.BooleanField()
    # This revision, or the ancestor that last changed the path.
    changed_in = models.ForeignKey(Revision, models.RESTRICT, related_name="changes")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["revision", "path"], name="file_path_unique")
        ]


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
