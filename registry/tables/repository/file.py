"""Files of revisions, as rows that consecutive revisions share.

The one place that knows in which revisions a row is valid is :class:`FileQuerySet`.
"""

from collections.abc import Collection
from typing import TYPE_CHECKING, Self

from django.db import models
from django.db.models import F, OuterRef, Q

from registry.ids import PathField, oid_column
from registry.tables.repository.mlmodel import MLModel
from registry.tables.storage.blob import Blob

if TYPE_CHECKING:
    from registry.tables.repository.revision import Revision

#: ``end`` of rows that no revision has ended yet: the largest value of the column. Unlike NULL, it
#: makes the validity of a row one range, which an index answers and a unique constraint covers.
OPEN = 2**31 - 1


class FileSeries(models.Model):
    """A sequence of revisions of one MLModel that share the rows of their files.

    Each of its revisions is the child of the one at the position before. ``length`` is the position
    of the next revision; positions of deleted revisions are not used again. ``row_count`` is the
    number of rows that were written in it, and ``fewest_files`` the least number of files of its
    revisions; deletions leave both as they are.
    """

    mlmodel = models.ForeignKey(MLModel, models.CASCADE, related_name="file_series")
    length = models.PositiveIntegerField(default=0)
    row_count = models.PositiveBigIntegerField(default=0)
    fewest_files = models.PositiveIntegerField(default=0)


class FileQuerySet(models.QuerySet["File"]):
    """Rows of files, selected by the revisions in which they are valid."""

    def at(self, revision: "Revision") -> Self:
        """The files of a revision."""
        return self.filter(valid_at(revision))

    def at_outer(self, revision: str = "") -> Self:
        """The files of a revision of the query around this one, in a subquery.

        ``revision`` is the field of its rows that leads to the revision; "" if the rows are
        revisions.
        """
        prefix = f"{revision}__" if revision else ""
        position = OuterRef(f"{prefix}position")
        return self.filter(
            series=OuterRef(f"{prefix}series"), first__lte=position, end__gt=position
        )

    def of(self, revisions: "Collection[int] | models.QuerySet[Revision]") -> Self:
        """The files of several revisions (keys, or a query): a row for each revision and file.

        Their ``revision_id`` is the key of the revision; in ``values_list`` its name is
        ``series__revisions``.
        """
        position = F("series__revisions__position")
        # In one call, so that all conditions are on the same revision.
        rows = self.filter(series__revisions__in=revisions, first__lte=position, end__gt=position)
        return rows.annotate(revision_id=F("series__revisions"))


class File(models.Model):
    """A path in the revisions of ``series`` from position ``first`` on, and before ``end``.

    ``oid`` is the git id of its bytes, or of its pointer if ``is_lfs``. Each row is a file of at
    least one revision.
    """

    # Its index is that of the unique constraint.
    series = models.ForeignKey(FileSeries, models.CASCADE, related_name="files", db_index=False)
    first = models.PositiveIntegerField()
    end = models.PositiveIntegerField(default=OPEN)
    path = PathField(max_length=1024)
    blob = models.ForeignKey(Blob, models.PROTECT, related_name="files", db_index=False)
    oid = oid_column()
    is_lfs = models.BooleanField()
    # The revision at ``first``, or the ancestor that last changed the path.
    changed_in = models.ForeignKey("Revision", models.RESTRICT, related_name="changes")

    objects = FileQuerySet.as_manager()

    # Set on rows of :meth:`FileQuerySet.of`.
    revision_id: int

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["series", "path", "end"], name="file_path_unique"),
            models.CheckConstraint(condition=Q(first__lt=F("end")), name="file_ends_after_first"),
        ]
        indexes = [models.Index(fields=["blob", "series"], name="file_of_blob")]

    @property
    def revisions(self) -> "models.QuerySet[Revision]":
        """The revisions of which it is a file."""
        series = FileSeries(pk=self.series_id)
        return series.revisions.filter(position__gte=self.first, position__lt=self.end)


def valid_at(revision: "Revision") -> Q:
    """A condition on rows: whether they are files of ``revision``."""
    position = revision.position
    return Q(series=revision.series_id, first__lte=position, end__gt=position)
