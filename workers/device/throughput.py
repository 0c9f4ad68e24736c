"""Measures and publishes the throughput of the builds of a search: the scenario ``offline``."""

from collections.abc import Mapping
from dataclasses import replace
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
_FROM_S = 30.0
_MAX_NOTE = 500


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

    The builds' files must exist. A failure is written into the job's log: the search is published
    already. Returns the job's ``summary``, and in ``offline`` what was measured, in a few words;
    only the summary after a brief search or a repetition.

    Raises LeaseLost, Cancelled: see :class:`~workers.device.ports.Hub`.
    """
    search_s = search_seconds(hub.ticket)
    if search_s < _FROM_S or "repeats" in hub.ticket.parameters:
        return summary
    try:
        offline = measure_offline(
            search, backends, device, result, OFFLINE_SHARE * search_s, progress=hub.progress
        )
    except (NotMeasured, ReferenceFailed, InfrastructureFailed) as error:
        hub.write("note", message=f"offline: {error}"[:_MAX_NOTE])
        return summary
    _publish(hub, here, search, search_key, device, result, offline)
    measurements = [each.confirmed for each in offline.configurations]
    gains = [
        f"{each.build.tolerance} {1 / each.measurement.ratio.value:.2f}x"
        for each in measurements
        if each.measurement.verdict == "faster"
    ]
    return {**summary, "offline": ", ".join(gains) or "the defaults are best"}


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
