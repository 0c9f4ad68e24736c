"""Publishes the results of a search: records first, then all builds in one transaction."""

from collections.abc import Sequence
from typing import Any, Literal

from workers.device.best import best_results, published_results
from workers.device.inconclusive import (
    decided_by,
    inconclusive_of,
    summary_of,
    unproved_classes,
)
from workers.device.ports import Hub
from workers.device.software import own_versions
from workers.engine.artifacts import artifact_files
from workers.engine.confirmation import ConfirmedResult
from workers.engine.records import Origin, bench_record
from workers.engine.requests import TuningRequest
from workers.engine.search_result import SearchResult
from workers.fleet.probe import ThisMachine


def publish(
    hub: Hub,
    here: ThisMachine,
    search: TuningRequest,
    search_key: str,
    result: SearchResult,
    isolation: str,
    kind: Literal["headline", "search-trial"] = "headline",
    *,
    repeated: Sequence[dict[str, Any]] | None = None,
) -> dict[str, Any]:
    """Store records of all results; publish the baseline and
    :func:`workers.device.best.published_results`.

    The builds' files must exist. Returns a summary.

    Args:
        search_key: See :func:`workers.device.tune.search_key`.
        isolation: Confinement of the child processes, for the records.
        kind: ``search-trial`` during a search; the next call withdraws such builds.
        repeated: What an earlier search left inconclusive, if that was measured again: the earlier
            builds, the baseline among them, stay published beside the new ones.

    Raises:
        LeaseLost: nothing is published.
    """
    origin = origin_of(hub, here, search_key, isolation)
    builds = []
    published = published_results(result)
    if repeated is None:
        published.append(result.baseline)
    for confirmed in (result.baseline, *result.confirmed_results):
        document = bench_record(search, result, confirmed, origin, kind)
        record_id = hub.write("record_add", document=document)["record_id"]
        if any(confirmed is one for one in published):
            builds.append(build_columns(hub, confirmed, result, search, record_id))
    inconclusive = inconclusive_of(result, repeated or ())
    if repeated is None:
        hub.write(
            "builds_publish",
            builds=builds,
            undecided=sorted(unproved_classes(result, inconclusive)),
            decided=sorted(decided_by(result)),
        )
    else:
        hub.write("builds_add", builds=builds)
    return _summary(result, inconclusive)


def origin_of(hub: Hub, here: ThisMachine, search_key: str, isolation: str) -> Origin:
    """The parts of records that the engine does not know; see :func:`publish`."""
    ticket = hub.ticket
    return Origin(
        mlmodel=ticket.mlmodel,
        revision=ticket.revision_oid,
        device=here.device,
        sandbox=isolation,
        created_at=hub.now().strftime("%Y-%m-%dT%H:%M:%SZ"),
        tools=own_versions(),
        search_key=search_key,
        provenance={"job": ticket.job_uuid, "attempt": ticket.attempt, "fence": ticket.fence},
    )


def build_columns(
    hub: Hub,
    confirmed: ConfirmedResult,
    result: SearchResult,
    search: TuningRequest,
    record_id: str,
) -> dict[str, Any]:
    """Columns of a build with its record; its files are stored."""
    build, candidate = confirmed.build, confirmed.trial.candidate
    assert build.directory is not None  # noqa: S101 - artifact_files has just read it
    files = {file.path: hub.keep(build.directory / file.path) for file in artifact_files(build)}
    is_baseline = confirmed is result.baseline
    measured = confirmed.measurement
    return {
        "config_sha256": candidate.sha256,
        "candidate": candidate.as_dict(),
        "runtime": build.runtime,
        "runtime_options": dict(build.runtime_options),
        "entry_point": build.entry_point,
        "tolerance": build.tolerance,
        "is_baseline": is_baseline,
        "record_id": record_id,
        "ratio": 1.0 if is_baseline else measured.ratio.value,
        "verdict": "same" if is_baseline else measured.verdict,
        "p50_ns": measured.candidate_p50_ns,
        "deviation": confirmed.output_check.figures,
        "accuracy": confirmed.output_check.accuracy,
        "accuracy_reference": result.reference_accuracy,
        "provenance": {
            **build.provenance,
            "made_from": search.network.model_sha256,
            "toolchain": dict(build.toolchain),
            "compile_s": round(build.compile_s, 3),
        },
        "files": files,
    }


def _summary(result: SearchResult, inconclusive: list[dict[str, Any]]) -> dict[str, Any]:
    gains = [
        f"{best.build.tolerance} {1 / best.measurement.ratio.value:.2f} times as fast"
        for best in best_results(result)[1:]
    ]
    return {
        "summary": f"{summary_of(gains, inconclusive)} after {len(result.trials)} trials",
        "ended": result.stop_reason,
        "trials": len(result.trials),
        "reference_accuracy": result.reference_accuracy,
        "inconclusive": inconclusive,
    }
