"""Rows of files: extended from revision to revision, copied where revisions part.

See ADR 42. Callers hold the row of the MLModel until their transaction ends, so that only one of
them extends a series.
"""

import json
from collections.abc import Callable

from django.db import connection
from django.db.models import F
from django.db.models.functions import Least

from registry.selectors.repository.snapshot import Snapshot
from registry.tables import File, FileSeries, MLModel, Revision
from registry.tables.repository.file import OPEN

# Conditions that select paths, and what makes their one parameter: an index lookup for each path,
# however many there are.
_AMONG: dict[str, tuple[str, Callable[[list[str]], str | list[str]]]] = {
    "sqlite": ("path IN (SELECT value FROM json_each(%s))", json.dumps),
    "postgresql": ("path = ANY(%s)", list),
}
# Conditions that exclude the paths in one JSON array. Each database turns its own form into a hash
# table or an index; the other form is evaluated anew for each row.
_LEFT_OUT = {
    "sqlite": "f.path NOT IN (SELECT value FROM json_each(%s))",
    "postgresql": (
        "NOT EXISTS (SELECT FROM jsonb_array_elements_text(%s::jsonb) AS gone (path)"
        " WHERE gone.path = f.path)"
    ),
}
#: Rows that a series may have for each file of any of its revisions, and more of them: whatever
#: reads all files of a revision reads no more.
_ROWS_PER_FILE = 4
_SPARE_ROWS = 1000


def place_next(mlmodel: MLModel, snapshot: Snapshot) -> tuple[FileSeries, int]:
    """The series and the position of a revision that is about to be written.

    That of its base goes on if the base is its last revision, and if it does not get too many rows;
    else a new one begins.
    """
    base = snapshot.base
    if base is not None and snapshot.keeps_changes:
        series = FileSeries.objects.get(pk=base.series_id)
        fewest_files = min(series.fewest_files, snapshot.file_count)
        row_count = series.row_count + len(snapshot.put)
        is_last = base.position == series.length - 1
        if is_last and row_count <= _ROWS_PER_FILE * fewest_files + _SPARE_ROWS:
            return series, series.length
    return FileSeries.objects.create(mlmodel=mlmodel, fewest_files=snapshot.file_count), 0


def files_write(revision: Revision, snapshot: Snapshot) -> None:
    """Write the files of ``revision``, which has just been placed by :func:`place_next`."""
    base, row_count = snapshot.base, len(snapshot.put)
    changed = [*snapshot.removed, *snapshot.put]
    if base is not None and base.series_id == revision.series_id:
        _end(revision, changed)
    elif base is not None:
        _copy(base, revision, changed, keeps_changes=snapshot.keeps_changes)
        row_count = snapshot.file_count
    File.objects.bulk_create(
        [
            File(
                series_id=revision.series_id,
                first=revision.position,
                path=path,
                blob=entry.blob,
                oid=entry.oid,
                is_lfs=entry.is_lfs,
                changed_in=revision,
            )
            for path, entry in snapshot.put.items()
        ],
        batch_size=1000,
    )
    FileSeries.objects.filter(pk=revision.series_id).update(
        length=revision.position + 1,
        row_count=F("row_count") + row_count,
        fewest_files=Least("fewest_files", snapshot.file_count),
    )


def files_delete(revision: Revision) -> None:
    """Delete the rows that only ``revision`` has, before it is deleted; it has no child."""
    if Revision.objects.filter(series=revision.series_id).exclude(pk=revision.pk).exists():
        # Earlier revisions have the others: those that began later were deleted with theirs.
        rows = File.objects.filter(changed_in=revision, first=revision.position)
        rows.filter(series=revision.series_id).delete()
    else:
        File.objects.filter(series=revision.series_id).delete()


def series_delete(revision: Revision) -> None:
    """Delete the series of ``revision``, which was just deleted, if it has no other revision."""
    if not Revision.objects.filter(series=revision.series_id).exists():
        FileSeries.objects.filter(pk=revision.series_id).delete()


def _end(revision: Revision, paths: list[str]) -> None:
    """End the rows of these paths at the position of ``revision``."""
    is_among, parameter = _AMONG[connection.vendor]
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            UPDATE registry_file SET "end" = %s
            WHERE series_id = %s AND "end" = %s AND {is_among}
            """,  # noqa: S608 (all parts are ours)
            [revision.position, revision.series_id, OPEN, parameter(paths)],
        )


def _copy(base: Revision, revision: Revision, left_out: list[str], *, keeps_changes: bool) -> None:
    """Copy the files that stay inside the database: there may be very many."""
    changed_in = "f.changed_in_id" if keeps_changes else "%s"
    parameters = [] if keeps_changes else [revision.pk]
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            INSERT INTO registry_file
                (series_id, first, "end", path, blob_id, oid, is_lfs, changed_in_id)
            SELECT %s, %s, %s, f.path, f.blob_id, f.oid, f.is_lfs, {changed_in}
            FROM registry_file f
            WHERE f.series_id = %s AND f.first <= %s AND f."end" > %s
                AND {_LEFT_OUT[connection.vendor]}
            """,  # noqa: S608 (all parts are ours)
            [
                *(revision.series_id, revision.position, OPEN, *parameters),
                *(base.series_id, base.position, base.position),
                json.dumps(left_out),
            ],
        )
