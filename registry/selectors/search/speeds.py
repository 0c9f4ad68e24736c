"""Speed and state of tuning of the models on a page, for cards and lists."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from django.db.models import F

from registry.scenarios import Scenario
from registry.search.parser import Query
from registry.search.vocabulary import NUMBERS
from registry.selectors.results.runnable import NotRunnable, all_not_runnable
from registry.states import JobKind, JobState, ToleranceClass
from registry.tables import BestBuild, Job, MLModel, Revision

#: The number of builds that is of the scenario ``offline``.
_THROUGHPUT = "throughput"


@dataclass(frozen=True, slots=True)
class Speed:
    """The best build of a model on a target within a tolerance class.

    Attributes:
        build: UUID of the build.
        target: Slug of its target.
        scenario: What the figures are of.
        latency_ns: Median latency in nanoseconds; ``offline`` of a query of many samples.
        default_ns: Median latency of the runtime's defaults in the same interleaved run.
        gain: How many times as fast as the defaults; 1.0 where nothing is proved faster.
        low, high: The gain's 95 % confidence interval; ``None`` of the defaults.
        tolerance: Tolerance class of the build itself, which may be stricter than accepted.
        accuracy, accuracy_reference: Of the build and of the published network, from 0 to 1;
            ``None`` if unknown.
        throughput_per_s, execution: ``offline``, samples per second, and the batch and streams as
            in :class:`hpcfair.scenarios.Execution`; else ``None``.
    """

    build: str
    target: str
    scenario: str
    latency_ns: int
    default_ns: int
    gain: float
    low: float | None
    high: float | None
    tolerance: str
    accuracy: float | None
    accuracy_reference: float | None
    throughput_per_s: float | None
    execution: dict[str, Any] | None

    @property
    def default_per_s(self) -> float | None:
        """Samples per second of the defaults at their best batch in the same interleaved run."""
        return None if self.throughput_per_s is None else self.throughput_per_s / self.gain


class TuningProgress(StrEnum):
    """How far a model is tuned, in the order in which one is chosen."""

    NOT_RUNNABLE = "not_runnable"
    RUNNING = "running"
    WAITING = "waiting"
    TUNED = "tuned"
    FAILED = "failed"
    UNTUNED = "untuned"


@dataclass(frozen=True, slots=True)
class TuningState:
    """State of tuning of a model's head.

    Attributes:
        reason: Why it failed or cannot run; "" otherwise.
    """

    progress: TuningProgress
    reason: str = ""


def speeds_of(
    mlmodels: Iterable[MLModel],
    target: str | None = None,
    tolerance: str = ToleranceClass.EXACT,
    scenario: str = Scenario.SINGLE_STREAM,
) -> dict[int, Speed]:
    """Key of an MLModel to its :class:`Speed`; models without builds are left out. One query.

    Args:
        target: Slug; ``None`` for the target of the lowest latency, or of the highest throughput,
            of those of real machines.
        tolerance: The laxest tolerance class that is accepted.
    """
    return speeds_in(best_rows(mlmodels, {tolerance}, {scenario}), target, tolerance, scenario)


def scenario_of(query: Query) -> Scenario:
    """Scenario of the speeds that the results of a query show: ``offline`` where it orders by
    throughput, or compares it and orders by no other number of builds."""
    if query.sort in NUMBERS and NUMBERS[query.sort].is_speed:
        is_offline = query.sort == _THROUGHPUT
    else:
        is_offline = any(bound.name == _THROUGHPUT for bound in query.bounds)
    return Scenario.OFFLINE if is_offline else Scenario.SINGLE_STREAM


def best_rows(
    mlmodels: Iterable[MLModel],
    tolerances: Collection[str],
    scenarios: Collection[str] = (Scenario.SINGLE_STREAM,),
) -> list[BestBuild]:
    """Rows of the table of best builds with target, build and record: highest throughput first,
    then lowest latency."""
    keys = [one.pk for one in mlmodels]
    rows = BestBuild.objects.filter(
        mlmodel__in=keys, scenario__in=scenarios, tolerance__in=tolerances
    )
    rows = rows.select_related("target", "build__record").only(
        *("mlmodel", "tolerance", "p50_ns", "ratio", "accuracy", "accuracy_reference"),
        *("scenario", "throughput_per_s", "build__execution"),
        *(
            "target__slug",
            "target__is_emulated",
            "build__uuid",
            "build__tolerance",
            "build__is_baseline",
        ),
        *("build__record__ratio_low", "build__record__ratio_high"),
    )
    return list(rows.order_by(F("throughput_per_s").desc(nulls_last=True), "p50_ns", "pk"))


def speeds_in(
    rows: Iterable[BestBuild], target: str | None, tolerance: str, scenario: str
) -> dict[int, Speed]:
    """:func:`speeds_of` from :func:`best_rows`."""
    speeds: dict[int, Speed] = {}
    for row in rows:
        is_compared = not row.target.is_emulated if target is None else target == row.target.slug
        if (row.tolerance, row.scenario) == (tolerance, scenario) and is_compared:
            speeds.setdefault(row.mlmodel_id, _speed(row))
    return speeds


def states_at(
    heads: Mapping[int, Revision | None], tuned: Collection[int]
) -> dict[int, TuningState]:
    """Key of an MLModel to the state of its head; a constant number of queries.

    Args:
        heads: By key of the MLModel.
        tuned: Keys of those that have best builds.
    """
    revisions = [revision for revision in heads.values() if revision]
    faults = all_not_runnable([revision.pk for revision in revisions])
    jobs = _jobs_of(revisions)
    return {
        pk: _state(
            fault=faults.get(revision.pk) if revision else None,
            jobs=jobs.get(revision.pk, []) if revision else [],
            is_tuned=pk in tuned,
        )
        for pk, revision in heads.items()
    }


def _jobs_of(revisions: Collection[Revision]) -> dict[int, list[Job]]:
    """Inspections and searches by key of their revision, newest first.

    Repetitions of inconclusive measurements, which are queued for later, are no searches.
    """
    rows = Job.objects.filter(revision__in=revisions, kind__in=[JobKind.INSPECT, JobKind.TUNE])
    columns = ("revision", "kind", "state", "parameters", "failure_code", "failure_detail")
    jobs: dict[int, list[Job]] = {}
    for job in rows.only(*columns).order_by("-id"):
        if "repeats" not in job.parameters:
            jobs.setdefault(job.revision_id, []).append(job)
    return jobs


def _state(*, fault: NotRunnable | None, jobs: list[Job], is_tuned: bool) -> TuningState:
    searches = [job for job in jobs if job.kind == JobKind.TUNE]
    if fault is not None:
        return TuningState(TuningProgress.NOT_RUNNABLE, str(fault))
    if any(job.state == JobState.LEASED for job in searches):
        return TuningState(TuningProgress.RUNNING)
    # An inspection that has not ended comes before the first search.
    if any(job.state in {JobState.QUEUED, JobState.LEASED} for job in jobs):
        return TuningState(TuningProgress.WAITING)
    if is_tuned:
        return TuningState(TuningProgress.TUNED)
    if searches and searches[0].state == JobState.FAILED:
        newest = searches[0]
        return TuningState(TuningProgress.FAILED, newest.failure_detail or newest.failure_code)
    return TuningState(TuningProgress.UNTUNED)


def _speed(row: BestBuild) -> Speed:
    build = row.build
    record = build.record
    low = high = None
    if not build.is_baseline and record.ratio_low and record.ratio_high:
        low, high = 1 / record.ratio_high, 1 / record.ratio_low
    return Speed(
        build=str(build.uuid),
        target=row.target.slug,
        scenario=row.scenario,
        latency_ns=row.p50_ns,
        default_ns=round(row.p50_ns / row.ratio),
        gain=1 / row.ratio,
        low=low,
        high=high,
        tolerance=build.tolerance,
        accuracy=row.accuracy,
        accuracy_reference=row.accuracy_reference,
        throughput_per_s=row.throughput_per_s,
        execution=build.execution,
    )
