"""What was done with versions beside what their builds tell: searches, builds that newer ones
replaced, and all records, whether or not there still is a build that they are about.

A version that is tuned every night has thousands of them; descriptions tell of the newest.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, TypeVar

from django.db.models import Count, F, Model, Q, QuerySet, Window
from django.db.models.functions import RowNumber

from registry.selectors.fair.description.built import UNREAD_GRAPH
from registry.selectors.fair.description.measured import Measured
from registry.states import FailureClass, JobKind, JobState, RecordKind
from registry.tables import AuditEntry, Build, Job, Record

#: Of each kind of row, for one version.
MOST = 50
_SEARCHES = frozenset({JobKind.TUNE, JobKind.SCHEDULE, JobKind.PASSES})
_REVISION = attrgetter("revision_id")
_NETWORKS_REVISION = attrgetter("graph.revision_id")
_Row = TypeVar("_Row", bound=Model)


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """What is known to have been done with one version, the newest first.

    Attributes:
        inspections: Those that succeeded, and those that refused the files.
        searches: Of configurations, schedules and passes; those that succeeded, with devices.
        builds: Withdrawn ones, with their targets and jobs.
        records: With their targets and jobs, but not their documents.
        omitted: How many older searches, builds and records there are.
    """

    inspections: Sequence[Job] = ()
    searches: Sequence[Job] = ()
    builds: Sequence[Build] = ()
    records: Sequence[Record] = ()
    omitted: int = 0

    @property
    def inspection(self) -> Job | None:
        """The newest one that succeeded."""
        return next((job for job in self.inspections if job.state == JobState.SUCCEEDED), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    """What records say of the circumstances of measurements.

    Attributes:
        own: By id of a record.
        shared: By :func:`_run_of`: measurements of one run have the same circumstances.
    """

    own: Mapping[str, Measured] = field(default_factory=dict)
    shared: Mapping[object, Measured] = field(default_factory=dict)

    def of(self, record: Record) -> Measured:
        """Those of a record; its figures are not told."""
        found = self.own.get(record.pk) or self.shared.get(_run_of(record))
        return found or Measured()


def past_of(revisions: Collection[int]) -> dict[int, Past]:
    """For lists: by key of the revision, by three queries."""
    jobs = _newest(
        Job.objects.filter(_TOLD, revision__in=revisions).select_related("device", "target"),
        "revision", "kind",
    )  # fmt: skip
    builds = _newest(
        Build.objects.filter(graph__revision__in=revisions, withdrawn_at__isnull=False)
        .select_related("target", "job__device", "graph")
        .defer(*UNREAD_GRAPH),
        "graph__revision",
    )
    records = _newest(
        Record.objects.filter(revision__in=revisions)
        .select_related("target", "job__device")
        .defer("document"),
        "revision",
    )
    of_jobs, of_records = _grouped(jobs, _REVISION), _grouped(records, _REVISION)
    of_builds = _grouped(builds, _NETWORKS_REVISION)
    return {
        key: _past(of_jobs.get(key, []), of_builds.get(key, []), of_records.get(key, []))
        for key in revisions
    }


def documents_of(live: Iterable[Build], past: Iterable[Past]) -> set[str]:
    """Ids of the records whose documents must be read: those of builds, and one of each run."""
    live = list(live)
    wanted = {build.record_id for build in live}
    runs = {_run_of(build.record) for build in live}
    for record in (record for one in past for record in one.records):
        if record.pk not in wanted and _run_of(record) not in runs:
            runs.add(_run_of(record))
            wanted.add(record.pk)
    return wanted


def circumstances_of(
    live: Iterable[Build], past: Iterable[Past], measured: Mapping[str, Measured]
) -> Circumstances:
    """Circumstances by record, and by run for records whose documents were not read.

    Args:
        measured: Of the records that :func:`documents_of` names.
    """
    records = [build.record for build in live]
    records += [record for one in past for record in one.records]
    shared = {_run_of(one): measured[one.pk] for one in records if one.pk in measured}
    return Circumstances(own=measured, shared=shared)


def repeaters_of(past: Iterable[Past]) -> dict[str, int]:
    """For lists: id of a record that a person added to the key of that person."""
    added = [record.pk for one in past for record in one.records if is_repetition(record)]
    if not added:
        return {}
    rows = AuditEntry.objects.filter(action="record.add", subject__in=added, actor__isnull=False)
    return dict(rows.values_list("subject", "actor"))


def is_repetition(record: Record) -> bool:
    """Whether a person measured again, on a machine of theirs, what the hub had measured."""
    return record.kind == RecordKind.REPRODUCTION and record.job_id is None


#: Jobs that something came of.
_TOLD = Q(kind__in=[*_SEARCHES, JobKind.INSPECT], state=JobState.SUCCEEDED) | Q(
    kind=JobKind.INSPECT, state=JobState.FAILED, failure_class=FailureClass.INVALID
)


def _newest(rows: QuerySet[_Row], *by: str) -> list[_Row]:
    """The newest of each group, the newest first, each with ``of``, the size of its group."""
    group = [F(name) for name in by]
    ranked: QuerySet[Any] = rows.annotate(
        rank=Window(RowNumber(), partition_by=group, order_by=[F("created_at").desc(), F("pk")]),
        of=Window(Count("pk"), partition_by=group),
    )
    found = ranked.filter(rank__lte=MOST)
    return sorted(found, key=lambda row: (row.created_at, row.pk), reverse=True)


def _grouped(rows: Iterable[_Row], key: Callable[[Any], int]) -> dict[int, list[_Row]]:
    found: dict[int, list[_Row]] = {}
    for row in rows:
        found.setdefault(key(row), []).append(row)
    return found


def _past(jobs: list[Job], builds: list[Build], records: list[Record]) -> Past:
    of_kind: dict[str, list[Job]] = {}
    for job in jobs:
        of_kind.setdefault(job.kind, []).append(job)
    searches = [job for job in jobs if job.kind in _SEARCHES]
    groups: list[Sequence[Any]] = [*(of_kind.get(kind, []) for kind in _SEARCHES), builds, records]
    return Past(
        inspections=of_kind.get(JobKind.INSPECT, []),
        searches=searches,
        builds=builds,
        records=records,
        omitted=sum(_omitted(rows) for rows in groups),
    )


def _omitted(rows: Sequence[Any]) -> int:
    return rows[0].of - len(rows) if rows else 0


def _run_of(record: Record) -> object:
    """What measurements that were made in one go have in common; a person's stand alone."""
    if record.job_id is None:
        return record.pk
    return (record.job_id, record.backend, record.kind)
