"""Checks the results of a device before a service stores them.

The hub's own workers are trusted; other devices are not. Their results must be possible and belong
to the job that the device holds. They may name only files that the device sent for the job or may
read.
"""

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

from django.utils import timezone

from registry import schemas
from registry.errors import Invalid
from registry.selectors.results.graph import graph_of
from registry.selectors.work.jobblob import blobs_of_job
from registry.services.analysis.roof import work_of
from registry.services.work.lease import held_job
from registry.tables import Job, Record, ScheduleTrial
from registry.validation.plausibility import (
    Circumstances,
    comparison_faults,
    record_faults,
    roof_faults,
    times_faults,
    trial_faults,
)

#: Errors of reading a document without the structure of its schema.
_MALFORMED = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
_Faults = Iterator[tuple[str, str]]


def check_evidence(*, job_uuid: str, fence: int, name: str, columns: dict[str, Any]) -> None:
    """Check a write of a device, whose columns match their schema, in the transaction of the write.

    Raises ``Conflict`` ``lease_lost``; ``Invalid``: ``impossible_result``, or ``blob_missing`` for
    bytes that were not sent.
    """
    if name not in _DIGESTS and name not in _FAULTS:
        return
    job = held_job(job_uuid=job_uuid, fence=fence)
    if name in _DIGESTS:
        _require_blobs(job, set(_DIGESTS[name](columns)))
    if name not in _FAULTS:
        return
    faults = dict(_FAULTS[name](job, columns))
    if faults:
        raise Invalid(
            "impossible_result",
            f"The device {job.device} cannot have measured this.",
            "; ".join(f"{path} {fault}" for path, fault in faults.items())[:1000],
            fields=faults,
        )


def _circumstances(job: Job) -> Circumstances:
    now, graph = timezone.now(), graph_of(job.revision)
    started_at = job.started_at or now
    device = job.device
    facts = device.facts if device else {}
    return Circumstances(
        elapsed_s=(now - started_at) / timedelta(seconds=1),
        earliest=started_at,
        latest=now,
        macs=graph.macs if graph else None,
        device=device.name if device else "",
        graph_hash=graph.graph_hash if graph else "",
        processor=str(facts.get("processor") or ""),
    )


def _trial(job: Job, columns: dict[str, Any]) -> _Faults:
    trial = columns["trial"]
    yield from trial_faults(trial, _circumstances(job))
    yield from _configuration(trial, "")


def _configuration(columns: dict[str, Any], prefix: str) -> _Faults:
    """The fault of a digest that does not belong to its candidate."""
    try:
        digest = schemas.sha256_of(columns["candidate"])
    except ValueError as error:
        yield f"{prefix}candidate", str(error)
        return
    if columns["config_sha256"] != digest:
        yield f"{prefix}config_sha256", "is not the digest of the candidate"


def _record(job: Job, columns: dict[str, Any]) -> _Faults:
    document = columns["document"]
    try:
        faults = list(record_faults(document, _circumstances(job)))
    except _MALFORMED:
        return
    # The service refuses a malformed document with its own reason.
    if faults and not schemas.bench_problems({"record_id": "0" * 64} | document):
        yield from faults


def _builds(_: Job, columns: dict[str, Any]) -> _Faults:
    """Faults of builds whose figures differ from those of their records."""
    builds = columns["builds"]
    records = Record.objects.in_bulk([build["record_id"] for build in builds])
    for number, build in enumerate(builds):
        yield from _configuration(build, f"{number}.")
        record = records.get(build["record_id"])
        if record is None:
            continue
        stored = {"ratio": record.ratio, "verdict": record.verdict, "tolerance": record.tolerance}
        if build["is_baseline"]:
            # The baseline is compared with itself, so its verdict is only a convention.
            stored |= {"ratio": 1.0, "verdict": "same"}
        for column, value in stored.items():
            if build[column] != value:
                yield f"{number}.{column}", f"is {value} in its record"
        candidate = record.document["statistics"]["candidate"]
        if build.get("throughput_per_s") not in {None, candidate["throughput_per_s"]}:
            yield f"{number}.throughput_per_s", "is another one in its record"
        most_ns = candidate.get("max_ns", build["p50_ns"])
        if not candidate["min_ns"] <= build["p50_ns"] <= most_ns:
            yield f"{number}.p50_ns", "is not among the samples of its record"


def _schedule_trial(job: Job, columns: dict[str, Any]) -> _Faults:
    yield from times_faults(columns["trial"]["seconds"], _circumstances(job), "seconds")


def _confirmation(job: Job, columns: dict[str, Any]) -> _Faults:
    yield from times_faults(columns["seconds"], _circumstances(job), "seconds")


def _ablation(job: Job, columns: dict[str, Any]) -> _Faults:
    ablation = columns["ablation"]
    yield from comparison_faults(ablation, _circumstances(job))
    best = _best(job, ablation["digest"])
    if best is None:
        return
    decisions = [list(decision) for decision in best.decisions]
    position, value = ablation["position"], ablation["alternative"]
    if position >= len(decisions):
        return
    if position >= 0:
        if decisions[position][1] == value:
            yield "alternative", "is the value of the best schedule"
        decisions[position][1] = value
    schedule = {"sketch": best.sketch.instructions, "decisions": decisions}
    if ablation["variant"] != schemas.sha256_of(schedule):
        yield "variant", "is not the digest of the best schedule with this decision reverted"


def _cross_application(job: Job, columns: dict[str, Any]) -> _Faults:
    yield from comparison_faults(columns["application"], _circumstances(job))


def _best(job: Job, digest: str) -> ScheduleTrial | None:
    """A trial of the schedule with that digest; the service refuses a digest without one."""
    rows = ScheduleTrial.objects.filter(digest=digest, task__target=job.target_id)
    return rows.select_related("sketch").first()


def _pass_trial(job: Job, columns: dict[str, Any]) -> _Faults:
    trial, graph = columns["trial"], graph_of(job.revision)
    for column in ("graph_hash", "architecture_class"):
        if graph is None or trial[column] != getattr(graph, column):
            yield column, "is not that of the job's network"


def _portfolio(job: Job, columns: dict[str, Any]) -> _Faults:
    graph = graph_of(job.revision)
    if graph is None or columns["architecture_class"] != graph.architecture_class:
        yield "architecture_class", "is not that of the job's network"


def _roofs(job: Job, columns: dict[str, Any]) -> _Faults:
    if columns["tools_sha256"] != schemas.sha256_of(columns["tools"]):
        yield "tools_sha256", "is not the digest of the tools"
    context = _circumstances(job)
    for number, roof in enumerate(columns["roofs"]):
        unit = "operations" if "size" in roof else "bytes"
        yield from roof_faults(unit, work_of(roof), roof["rounds"], context, f"roofs.{number}")


def _require_blobs(job: Job, sha256s: set[str]) -> None:
    if missing := sha256s - blobs_of_job(job, sha256s).keys():
        raise Invalid(
            "blob_missing",
            f"The bytes of {min(missing)} were not sent for this job.",
            "Send them, then repeat the write.",
            fields=dict.fromkeys(sorted(missing)[:20], "was not sent"),
        )


def _code(columns: dict[str, Any]) -> Iterator[str]:
    """Digests of kernels' code. Malformed parts of the profile are left to its service."""
    kernels = columns["profile"].get("kernels")
    for kernel in kernels if isinstance(kernels, list) else ():
        code = kernel.get("code") if isinstance(kernel, dict) else None
        if isinstance(code, dict):
            yield from (str(sha256) for sha256 in code.values())


_FAULTS: dict[str, Callable[[Job, dict[str, Any]], _Faults]] = {
    "trial_add": _trial,
    "record_add": _record,
    "builds_publish": _builds,
    "builds_add": _builds,
    "schedule_trial_add": _schedule_trial,
    "schedule_confirm": _confirmation,
    "ablation_add": _ablation,
    "cross_application_add": _cross_application,
    "pass_trial_add": _pass_trial,
    "portfolio_store": _portfolio,
    "roofs_store": _roofs,
}

_DIGESTS: dict[str, Callable[[dict[str, Any]], Iterator[str]]] = {
    "builds_publish": lambda columns: (
        sha256 for build in columns["builds"] for sha256 in build["files"].values()
    ),
    "builds_add": lambda columns: (
        sha256 for build in columns["builds"] for sha256 in build["files"].values()
    ),
    "profile_store": _code,
    "tests_store": lambda columns: (tensor["sha256"] for tensor in columns["tensors"]),
    "run_store": lambda columns: iter([columns["outputs"]]),
}
