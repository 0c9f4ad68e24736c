"""A network's builds in the scenarios of queries, ``offline`` and ``multi-stream``, for the page of
its model."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self

from django.conf import settings

from registry.scenarios import Scenario
from registry.selectors.results.best import facts_of
from registry.selectors.results.speed import InputShape, offers_of
from registry.selectors.work.job import longest_search_s
from registry.states import JobState, RecordKind, ToleranceClass, Verdict
from registry.tables import Build, Graph, Job, Record

_WHAT = {
    Scenario.OFFLINE: "The throughput of many samples is",
    Scenario.MULTI_STREAM: "Queries of eight samples are",
}


@dataclass(frozen=True, slots=True)
class SweepPoint:
    """Samples per second of a side with a batch and a number of streams."""

    side: str
    batch: int
    streams: int
    throughput_per_s: float

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """From an entry of ``protocol.sweep`` of a benchmark record."""
        return cls(
            str(data["side"]),
            int(data["batch"]),
            int(data["streams"]),
            float(data["throughput_per_s"]),
        )


@dataclass(frozen=True, slots=True)
class QueryBuilds:
    """Builds of a network on a target in a scenario of queries.

    Attributes:
        default: The runtime's defaults at their best batch.
        offers: The build that each tolerance class brings, strictest first.
        points: Of the last offer and of the defaults, by which batch and streams were chosen.
        inputs: Inputs of the queries.
        unproved: Records of the same search's builds that were not proved faster than the default,
            strictest class first; of each class its fastest build was measured.
    """

    default: Build
    offers: list[Build]
    points: list[SweepPoint]
    inputs: tuple[InputShape, ...]
    unproved: list[Record]

    @property
    def best(self) -> Build:
        """The build that answers queries soonest."""
        return self.offers[-1]


@dataclass(frozen=True, slots=True)
class UnmeasuredQueries:
    """Why the newest search of a network on a target measured no queries of a scenario.

    Attributes:
        job: UUID of the search.
        target: Slug.
        reason: In one sentence.
        budget_s: Seconds of a search that may measure it; ``None`` if none that the hub allows can.
    """

    job: str
    target: str
    reason: str
    budget_s: float | None


def query_builds(graph: Graph, target: str, scenario: Scenario) -> QueryBuilds | None:
    """Builds of a network on a target (slug) in a scenario; ``None`` if it is not measured
    there."""
    rows = Build.objects.filter(
        graph=graph, target__slug=target, scenario=scenario, withdrawn_at=None
    )
    rows = rows.select_related("target", "record")
    rows = rows.defer("record__document", "record__envelope", "provenance")
    builds = {build.pk: build for build in rows}
    default = next((build for build in builds.values() if build.is_baseline), None)
    offers = [builds[each.key] for each in offers_of(facts_of(list(builds.values())))]
    if default is None or not offers:
        return None
    names = ("document__protocol__sweep", "document__identity__inputs")
    record = Record.objects.filter(pk=offers[-1].record_id).values_list(*names).get()
    sweep, inputs = record
    return QueryBuilds(
        default,
        offers,
        _latest(map(SweepPoint.from_json, sweep or ())),
        tuple(InputShape.from_json(each) for each in inputs or ()),
        _unproved(default),
    )


def unmeasured_queries(graph: Graph, target: str, scenario: Scenario) -> UnmeasuredQueries | None:
    """Why :func:`query_builds` is ``None``; ``None`` if no search on the target (slug) has ended,
    or if it measured the scenario."""
    jobs = Job.objects.filter(
        builds__graph=graph,
        builds__scenario=Scenario.SINGLE_STREAM,
        builds__is_baseline=True,
        builds__withdrawn_at=None,
        target__slug=target,
        state=JobState.SUCCEEDED,
    )
    row = jobs.values_list("uuid", "result").first()
    # As the worker names it: hpcfair.scenarios.result_member.
    member = scenario.name.lower()
    if row is None or member in row[1]:
        return None
    job, result = row
    # A search by an older version of the hub states nothing.
    reason = "the search does not state why; a new one will"
    budget_s: float | None = settings.TUNE_BUDGET_S
    match result.get(f"{member}_unmeasured"):
        case {"reason": str(stated), "budget_s": (None | int() | float()) as needed_s}:
            reason, budget_s = stated, needed_s
    longest_s = longest_search_s()
    if budget_s is not None and budget_s > longest_s:
        reason = (
            f"{reason}; a search of {budget_s:.0f} s may measure it, and this hub allows at most "
            f"{longest_s:.0f} s"
        )
        budget_s = None
    reason = f"{_WHAT[scenario]} not measured on {target}: {reason.rstrip('.')}."
    return UnmeasuredQueries(str(job), target, reason, budget_s)


def _unproved(default: Build) -> list[Record]:
    """:attr:`QueryBuilds.unproved` of the search that published ``default``."""
    if default.job_id is None:
        return []
    rows = Record.objects.filter(
        job=default.job_id, scenario=default.scenario, kind=RecordKind.CONFIRMED
    )
    rows = rows.exclude(pk=default.record_id).exclude(verdict__in=("", Verdict.FASTER))
    order = list(ToleranceClass.values)
    return sorted(
        rows.defer("document", "envelope"), key=lambda record: order.index(record.tolerance)
    )


def _latest(points: Iterable[SweepPoint]) -> list[SweepPoint]:
    """The last point of each side, batch and number of streams: some are measured again."""
    latest = {(point.side, point.batch, point.streams): point for point in points}
    return sorted(latest.values(), key=lambda point: (point.side, point.batch, point.streams))
