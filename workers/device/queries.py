"""Measures and publishes queries with the builds of a search: ``offline`` and ``multi-stream``."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import ceil
from typing import Any, Final

from hpcfair.scenarios import MULTI_STREAM, OFFLINE, Scenario, result_member
from workers.device.budget import search_seconds
from workers.device.ports import Hub, JobDevice
from workers.device.publish import build_columns, origin_of
from workers.engine.errors import InfrastructureFailed, ReferenceFailed
from workers.engine.ports import Backend
from workers.engine.queries.configuration import QueryMeasurement
from workers.engine.queries.errors import NotMeasured
from workers.engine.queries.explore import QueryRequest, QueryResult, measure_queries
from workers.engine.records import bench_record
from workers.engine.requests import TuningRequest
from workers.engine.search_result import SearchResult
from workers.fleet.probe import ThisMachine

#: Scenarios of queries, the largest queries first, with the time that each gets after a search, in
#: relation to the time of the search.
QUERY_SHARES: Final[Mapping[Scenario, float]] = {OFFLINE: 1.0, MULTI_STREAM: 0.75}
#: Seconds of a search from which queries are measured as well.
QUERIES_FROM_S = 30.0
#: Longest reason, in characters: a note of a job has at most 500.
_MAX_REASON = 400


def publish_queries(
    hub: Hub,
    here: ThisMachine,
    search: TuningRequest,
    search_key: str,
    backends: Mapping[str, Backend],
    device: JobDevice,
    result: SearchResult,
    summary: dict[str, Any],
) -> dict[str, Any]:
    """Measure queries with a search's builds and publish the fastest ones of each scenario.

    The builds' files must exist. A failure is no failure of the job: the search is published
    already. Returns the job's ``summary``, and for each scenario, such as ``offline``, what was
    measured, in a few words; or else in ``offline_unmeasured`` the ``reason``, which is also
    written into the job's log, and ``budget_s``, the seconds of a search that may measure it, or
    ``None`` if none can. Only the summary after a repetition.

    Raises LeaseLost, Cancelled: see :class:`~workers.device.ports.Hub`.
    """
    if "repeats" in hub.ticket.parameters:
        return summary
    search_s = search_seconds(hub.ticket)
    if search_s < QUERIES_FROM_S:
        reason = f"a search of {search_s:.0f} s is too short for it"
        return summary | _unmeasured(hub, list(QUERY_SHARES), reason, QUERIES_FROM_S)
    measured: QueryResult | None = None
    for scenario, share in QUERY_SHARES.items():
        try:
            measured = measure_queries(
                search,
                backends,
                device,
                result,
                QueryRequest(scenario, share * search_s, measured),
                progress=hub.progress,
            )
        except NotMeasured as error:
            needed_s = None if error.needed_s is None else error.needed_s / share
            summary |= _unmeasured(hub, [scenario], str(error), needed_s)
        except (ReferenceFailed, InfrastructureFailed) as error:
            summary |= _unmeasured(hub, [scenario], str(error), search_s)
        else:
            _publish(hub, here, search, search_key, device, result, scenario, measured)
            summary |= {result_member(scenario): _gains(measured)}
    return summary


def _gains(measured: QueryResult) -> str:
    """The gains that are proved, such as ``exact 1.31x, int8 2.40x``."""
    gains = [
        f"{each.confirmed.build.tolerance} {1 / each.confirmed.measurement.ratio.value:.2f}x"
        for each in measured.configurations
        if each.confirmed.measurement.verdict == "faster"
    ]
    return ", ".join(gains) or "no build is proved faster"


def _unmeasured(
    hub: Hub, scenarios: Sequence[Scenario], reason: str, budget_s: float | None
) -> dict[str, Any]:
    """Write into the job's log why scenarios are not measured, with the next step; returns the same
    as members of the job's result."""
    reason, then = reason[:_MAX_REASON], ""
    if budget_s is not None:
        budget_s = float(ceil(budget_s))
        then = f"; search again (`hpcfair tune --budget {budget_s:.0f}s`)"
    hub.write("note", message=f"Not measured: {' and '.join(scenarios)}: {reason}{then}")
    stated = {"reason": reason, "budget_s": budget_s}
    return {f"{result_member(scenario)}_unmeasured": stated for scenario in scenarios}


def _publish(
    hub: Hub,
    here: ThisMachine,
    search: TuningRequest,
    search_key: str,
    device: JobDevice,
    result: SearchResult,
    scenario: Scenario,
    queries: QueryResult,
) -> None:
    origin = origin_of(hub, here, search_key, device.isolation or "none")
    # Records state the samples of the queries as their inputs.
    measured = replace(
        result,
        baseline=queries.baseline.confirmed,
        confirmed_results=tuple(each.confirmed for each in queries.configurations),
        tests=replace(result.tests, timing=queries.rows.inputs),
    )
    builds = []
    for each in (queries.baseline, *queries.configurations):
        document = bench_record(search, measured, each.confirmed, origin)
        record_id = hub.write("record_add", document=document)["record_id"]
        if each is queries.baseline or each.confirmed.measurement.verdict == "faster":
            columns = build_columns(hub, each.confirmed, measured, search, record_id)
            throughput = document["statistics"]["candidate"]["throughput_per_s"]
            builds.append(columns | _execution_columns(each, throughput))
    hub.write("builds_publish", builds=builds, scenario=scenario)


def _execution_columns(measured: QueryMeasurement, throughput_per_s: float) -> dict[str, object]:
    return {"execution": measured.execution.to_json(), "throughput_per_s": throughput_per_s}
