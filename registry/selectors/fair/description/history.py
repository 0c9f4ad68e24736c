"""History of versions: past jobs, withdrawn builds and benchmark records.

A version that is tuned every night has thousands of them: only the newest are read.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, TypeVar

from django.db.models import Count, F, Model, Q, QuerySet, Window
from django.db.models.functions import RowNumber

from registry.fair.addresses import RepositoryAddress
from registry.fair.parts import Agent, DatasetUse, DerivationDescription, Emissions
from registry.selectors.fair.description.builds import UNREAD_GRAPH, DescribedBuild
from registry.selectors.fair.description.identifiers import VersionIdentifiers
from registry.selectors.fair.description.measurements import MeasurementDetails
from registry.states import FailureClass, JobKind, JobState, RecordKind
from registry.tables import AuditEntry, Build, Job, Record, Revision

#: Upper bound on the rows of each kind for one version; older ones are only counted.
MAX_ROWS = 50
_SEARCHES = frozenset({JobKind.TUNE, JobKind.SCHEDULE, JobKind.PASSES})
#: Jobs with a result to describe: those that succeeded, and inspections that refused the files.
_HAS_RESULT = Q(kind__in=[*_SEARCHES, JobKind.INSPECT], state=JobState.SUCCEEDED) | Q(
    kind=JobKind.INSPECT, state=JobState.FAILED, failure_class=FailureClass.INVALID
)
_Row = TypeVar("_Row", bound=Model)


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """Rows of one version's past, the newest first.

    Attributes:
        inspections: Those that succeeded or refused the files.
        searches: Successful searches of configurations, schedules and passes, with devices.
        builds: Withdrawn ones, with their targets and jobs.
        records: With their targets and jobs, without their documents.
        omitted: Number of older searches, builds and records.
    """

    inspections: Sequence[Job] = ()
    searches: Sequence[Job] = ()
    builds: Sequence[Build] = ()
    records: Sequence[Record] = ()
    omitted: int = 0

    @property
    def inspection(self) -> Job | None:
        """The newest successful inspection."""
        return next((job for job in self.inspections if job.state == JobState.SUCCEEDED), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasurementIndex:
    """Details of measurements, also of records whose documents were not read.

    ``by_record`` is by id of a record, ``by_run`` by :func:`_run_of`: the records of one run share
    their circumstances.
    """

    by_record: Mapping[str, MeasurementDetails] = field(default_factory=dict)
    by_run: Mapping[object, MeasurementDetails] = field(default_factory=dict)

    def of(self, record: Record) -> MeasurementDetails:
        """Circumstances of ``record``; the statistics may be those of another record of its run."""
        details = self.by_record.get(record.pk) or self.by_run.get(_run_of(record))
        return details or MeasurementDetails()


@dataclass(frozen=True, slots=True, kw_only=True)
class ActivityInputs:
    """Everything that the activities of one version are described from.

    Attributes:
        revision: With its MLModel and namespace.
        agents: By key of the user.
        measurements, uploaders: Of more versions than this one.
        tests: Addresses of the test tensors that the hub made.
        urls: Path of a file of the version to its address.
        digests: SHA-256 of such a file to its address.
    """

    revision: Revision
    address: RepositoryAddress
    identifiers: VersionIdentifiers
    sources: Sequence[DerivationDescription]
    agents: Mapping[int | None, Agent]
    builds: Sequence[DescribedBuild]
    history: History
    measurements: MeasurementIndex
    datasets: Sequence[DatasetUse] = ()
    emissions: Emissions | None = None
    uploaders: Mapping[str, int] = field(default_factory=dict)
    tests: Sequence[str] = ()
    urls: Mapping[str, str] = field(default_factory=dict)
    digests: Mapping[str, str] = field(default_factory=dict)

    @property
    def build_rows(self) -> list[Build]:
        """Live builds, then withdrawn ones."""
        return [*(build.row for build in self.builds), *self.history.builds]

    @property
    def records(self) -> dict[str, Record]:
        """By id: records of live builds, and the newest of the others."""
        of_builds = {build.row.record_id: build.row.record for build in self.builds}
        return of_builds | {record.pk: record for record in self.history.records}


def histories_of(revisions: Collection[int]) -> dict[int, History]:
    """Key of a revision to its history; three queries."""
    jobs = _newest(
        Job.objects.filter(_HAS_RESULT, revision__in=revisions).select_related("device", "target"),
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
    revision = attrgetter("revision_id")
    job_groups, record_groups = _grouped(jobs, revision), _grouped(records, revision)
    build_groups = _grouped(builds, attrgetter("graph.revision_id"))
    return {
        key: _history(
            job_groups.get(key, []), build_groups.get(key, []), record_groups.get(key, [])
        )
        for key in revisions
    }


def records_to_read(live: Iterable[Build], histories: Iterable[History]) -> set[str]:
    """Ids of the records whose documents are needed: those of live builds, and one per run."""
    live = list(live)
    ids = {build.record_id for build in live}
    runs = {_run_of(build.record) for build in live}
    for record in (record for history in histories for record in history.records):
        if record.pk not in ids and _run_of(record) not in runs:
            runs.add(_run_of(record))
            ids.add(record.pk)
    return ids


def measurement_index(
    live: Iterable[Build],
    histories: Iterable[History],
    measurements: Mapping[str, MeasurementDetails],
) -> MeasurementIndex:
    """An index of all records of live builds and histories.

    ``measurements`` are those of :func:`records_to_read`, by id.
    """
    records = [build.record for build in live]
    records += [record for history in histories for record in history.records]
    by_run = {_run_of(one): measurements[one.pk] for one in records if one.pk in measurements}
    return MeasurementIndex(by_record=measurements, by_run=by_run)


def uploaders_of(histories: Iterable[History]) -> dict[str, int]:
    """Id of a record that a user uploaded to the key of the user; at most one query."""
    ids = [record.pk for one in histories for record in one.records if is_repetition(record)]
    if not ids:
        return {}
    rows = AuditEntry.objects.filter(action="record.add", subject__in=ids, actor__isnull=False)
    return dict(rows.values_list("subject", "actor"))


def is_repetition(record: Record) -> bool:
    """Whether a user repeated a measurement of the hub on a machine of their own."""
    return record.kind == RecordKind.REPRODUCTION and record.job_id is None


def agent_keys(
    revision: Revision,
    builds: Iterable[DescribedBuild],
    history: History,
    uploaders: Mapping[str, int],
) -> set[int | None]:
    """Keys of the users whom the activities of a version name as agents."""
    jobs: list[Job | None] = [*history.searches, *(one.job for one in history.builds)]
    jobs += [one.job for one in history.records]
    for build in builds:
        jobs += [build.row.job, build.row.record.job]
        jobs += [build.reproduction.job] if build.reproduction else []
    requesters = {job.requested_by_id for job in jobs if job is not None}
    added_by = {uploaders.get(one.pk) for one in history.records}
    return {revision.author_id, revision.mlmodel.created_by_id, *requesters, *added_by} - {None}


def _newest(rows: QuerySet[_Row], *by: str) -> list[_Row]:
    """The newest rows of each group, newest first; ``of`` is the size of a row's whole group."""
    group = [F(name) for name in by]
    ranked: QuerySet[Any] = rows.annotate(
        rank=Window(RowNumber(), partition_by=group, order_by=[F("created_at").desc(), F("pk")]),
        of=Window(Count("pk"), partition_by=group),
    )
    newest = ranked.filter(rank__lte=MAX_ROWS)
    return sorted(newest, key=lambda row: (row.created_at, row.pk), reverse=True)


def _grouped(rows: Iterable[_Row], key: Callable[[Any], int]) -> dict[int, list[_Row]]:
    groups: dict[int, list[_Row]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return groups


def _history(jobs: list[Job], builds: list[Build], records: list[Record]) -> History:
    by_kind: dict[str, list[Job]] = {}
    for job in jobs:
        by_kind.setdefault(job.kind, []).append(job)
    groups: list[Sequence[Any]] = [*(by_kind.get(kind, []) for kind in _SEARCHES), builds, records]
    return History(
        inspections=by_kind.get(JobKind.INSPECT, []),
        searches=[job for job in jobs if job.kind in _SEARCHES],
        builds=builds,
        records=records,
        omitted=sum(rows[0].of - len(rows) for rows in groups if rows),
    )


def _run_of(record: Record) -> object:
    """Key that the records of one run of the hub share; an uploaded record is its own run."""
    if record.job_id is None:
        return record.pk
    return (record.job_id, record.backend, record.kind)
