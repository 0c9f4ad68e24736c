"""Reads of a version's tuning log, as published tables."""

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

# A trial has some ten thousand samples.
_BATCH = 100


def rows_of(revision: Revision, table: MeasurementTable) -> Iterator[TrialRow | SampleRow]:
    """The rows of one table of a readable revision in order of measurement, read in batches."""
    rows = Trial.objects.filter(job__revision=revision)
    if table is TRIALS:
        for row in _batched(rows.select_related("job", "target").defer("measurement")):
            yield _trial(row)
    else:
        for row in _batched(rows.only("uuid", "measurement")):
            yield from samples_of(str(row.uuid), row.measurement)


def cache_validator(revision: Revision) -> str:
    """A cache validator of all rows of a readable revision.

    It changes when a row is added or deleted.
    """
    rows = Trial.objects.filter(job__revision=revision)
    totals = rows.aggregate(newest=Max("pk"), number=Count("pk"))
    return f"{revision.oid[:10]}-{totals['newest'] or 0}-{totals['number']}"


def _batched(rows: QuerySet[Trial]) -> Iterator[Trial]:
    """Rows by ranges of the primary key, so that slow readers hold no database cursor open."""
    last = 0
    while batch := list(rows.filter(pk__gt=last).order_by("pk")[:_BATCH]):
        yield from batch
        last = batch[-1].pk


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
