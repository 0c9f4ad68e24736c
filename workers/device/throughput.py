"""Measures and publishes the throughput of the builds of a search: the scenario ``offline``."""

from collections.abc import Mapping
from dataclasses import replace
from math import ceil
from typing import Any

from hpcfair.scenarios import OFFLINE
from workers.device.budget import search_seconds
from workers.device.ports import Hub, JobDevice
from workers.device.publish import build_columns, origin_of
from workers.engine.errors import InfrastructureFailed, ReferenceFailed
from workers.engine.offline.configuration import OfflineMeasurement
from workers.engine.offline.errors import NotMeasured
from workers.engine.offline.explore import OFFLINE_SHARE, OfflineResult, measure_offline
from workers.engine.ports import Backend
from workers.engine.records import bench_record
from workers.engine.requests import TuningRequest
from workers.engine.search_result import SearchResult
from workers.fleet.probe import ThisMachine

#: Seconds of a search from which the throughput is measured as well.
THROUGHPUT_FROM_S = 30.0
#: Longest reason, in characters: a note of a job has at most 500.
_MAX_REASON = 400


def publish_throughput(
    hub: Hub,
    here: ThisMachine,
    search: TuningRequest,
    search_key: str,
    backends: Mapping[str, Backend],
    device: JobDevice,
    result: SearchResult,
    summary: dict[str, Any],
) -> dict[str, Any]:
    """Measure the throughput of a search's builds and publish the fastest ones.

    The builds' files must exist. A failure is no failure of the job: the search is published
    already. Returns the job's ``summary``, and in ``offline`` what was measured, in a few words;
    or else in ``offline_unmeasured`` the ``reason``, which is also written into the job's log, and
    ``budget_s``, the seconds of a search that may measure it, or ``None`` if none can. Only the
    summary after a repetition.

    Raises LeaseLost, Cancelled: see :class:`~workers.device.ports.Hub`.
    """
    search_s = search_seconds(hub.ticket)
    if "repeats" in hub.ticket.parameters:
        return summary
    if search_s < THROUGHPUT_FROM_S:
        reason = f"a search of {search_s:.0f} s is too short for it"
        return summary | _unmeasured(hub, reason, THROUGHPUT_FROM_S)
    try:
        offline = measure_offline(
            search, backends, device, result, OFFLINE_SHARE * search_s, progress=hub.progress
        )
    except NotMeasured as error:
        needed_s = None if error.needed_s is None else error.needed_s / OFFLINE_SHARE
        return summary | _unmeasured(hub, str(error), needed_s)
    except (ReferenceFailed, InfrastructureFailed) as error:
        return summary | _unmeasured(hub, str(error), search_s)
    _publish(hub, here, search, search_key, device, result, offline)
    measurements = [each.confirmed for each in offline.configurations]
    gains = [
        f"{each.build.tolerance} {1 / each.measurement.ratio.value:.2f}x"
        for each in measurements
        if each.measurement.verdict == "faster"
    ]
    return {**summary, "offline": ", ".join(gains) or "no build is proved faster"}


def _unmeasured(hub: Hub, reason: str, budget_s: float | None) -> dict[str, Any]:
    """Write into the job's log why there is no throughput, with the next step; returns the same for
    the job's result."""
    reason, then = reason[:_MAX_REASON], ""
    if budget_s is not None:
        budget_s = float(ceil(budget_s))
        then = f"; search again (`hpcfair tune --budget {budget_s:.0f}s`)"
    hub.write("note", message=f"The throughput is not measured: {reason}{then}")
    return {"offline_unmeasured": {"reason": reason, "budget_s": budget_s}}


def _publish(
    hub: Hub,
    here: ThisMachine,
    search: TuningRequest,
    search_key: str,
    device: JobDevice,
    result: SearchResult,
    offline: OfflineResult,
) -> None:
    origin = origin_of(hub, here, search_key, device.isolation or "none")
    # Records state the samples of the queries as their inputs.
    measured = replace(
        result,
        baseline=offline.baseline.confirmed,
        confirmed_results=tuple(each.confirmed for each in offline.configurations),
        tests=replace(result.tests, timing=offline.rows.inputs),
    )
    builds = []
    for each in (offline.baseline, *offline.configurations):
        document = bench_record(search, measured, each.confirmed, origin)
        record_id = hub.write("record_add", document=document)["record_id"]
        if each is offline.baseline or each.confirmed.measurement.verdict == "faster":
            columns = build_columns(hub, each.confirmed, measured, search, record_id)
            throughput = document["statistics"]["candidate"]["throughput_per_s"]
            builds.append(columns | _execution_columns(each, throughput))
    hub.write("builds_publish", builds=builds, scenario=OFFLINE)


def _execution_columns(measured: OfflineMeasurement, throughput_per_s: float) -> dict[str, object]:
    return {"execution": measured.execution.to_json(), "throughput_per_s": throughput_per_s}
