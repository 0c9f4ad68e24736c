"""Reads of a version's tuning log, as the tables that are published of it."""

from collections.abc import Iterator

from django.db.models import Count, Max, QuerySet

from registry.fair.crate.measurements import (
    TRIALS,
    MeasurementTable,
    SampleRow,
    TrialRow,
    options_cell,
    samples_of,
)
from registry.tables import Revision, Trial

# A trial's samples are some ten thousand numbers.
_AT_ONCE = 100


def rows_of(revision: Revision, table: MeasurementTable) -> Iterator[TrialRow | SampleRow]:
    """The rows of one table, in the order in which they were measured, a few in memory at a time.

    Args:
        revision: One the asker may read.
    """
    rows = Trial.objects.filter(job__revision=revision)
    if table is TRIALS:
        for row in _in_turn(rows.select_related("job", "target").defer("measurement")):
            yield _trial(row)
    else:
        for row in _in_turn(rows.only("uuid", "measurement")):
            yield from samples_of(str(row.uuid), row.measurement)


def cache_validator(revision: Revision) -> str:
    """A cache validator of all rows: it differs once one was added or deleted; rows never change.

    Args:
        revision: One the asker may read.
    """
    rows = Trial.objects.filter(job__revision=revision)
    found = rows.aggregate(newest=Max("pk"), number=Count("pk"))
    return f"{revision.oid[:10]}-{found['newest'] or 0}-{found['number']}"


def _in_turn(rows: QuerySet[Trial]) -> Iterator[Trial]:
    """By ranges of the primary key: whoever reads slowly holds no cursor of the database open."""
    last = 0
    while some := list(rows.filter(pk__gt=last).order_by("pk")[:_AT_ONCE]):
        yield from some
        last = some[-1].pk


def _trial(row: Trial) -> TrialRow:
    return TrialRow(
        trial=str(row.uuid),
        job=str(row.job.uuid),
        number=row.number,
        target=row.target.slug,
        backend=row.candidate.get("backend", ""),
        options=options_cell(row.candidate.get("options", {})),
        proposed_by=row.proposed_by,
        outcome=row.outcome,
        tolerance=row.tolerance,
        predicted_ratio=row.predicted_ratio,
        ratio=row.ratio,
        ratio_low=row.ratio_low,
        ratio_high=row.ratio_high,
        p50_ns=row.p50_ns,
        accuracy=row.accuracy,
        compile_s=row.compile_s,
        duration_s=row.duration_s,
        created=row.created_at,
    )
