"""Benchmark records: validated, identified by their content, immutable."""

from collections.abc import Iterable
from datetime import datetime
from math import isclose
from statistics import median
from typing import Any

from django.db import transaction

from registry import schemas
from registry.errors import Invalid, Unauthenticated
from registry.scenarios import Scenario
from registry.selectors.access import (
    Actor,
    person,
    readable_records,
    readable_revisions,
    require_scope,
)
from registry.selectors.results.conversion import has_file
from registry.selectors.work.target import target_get
from registry.services.audit import audit
from registry.services.trust.attestation import record_sign
from registry.services.work.lease import held_job, target_of
from registry.states import RecordKind, Scope
from registry.tables import Job, Record, Revision, Target

#: Longest latency of one run, 30 years: columns hold 64 bits.
_LONGEST_NS = 10**18
#: Relative rounding of a throughput.
_ROUNDING = 0.01


def record_add(
    *,
    document: dict[str, Any],
    job_uuid: str | None = None,
    fence: int | None = None,
    actor: Actor = None,
) -> Record:
    """Store a record; adding the same record again returns the stored one.

    Jobs add records under their fence. Users add reproductions of records that they may read.

    Args:
        document: Of schema ``hpcfair.bench/1``; ``record_id`` is optional.

    Raises:
        Conflict: ``lease_lost``; nothing is written.
        Unauthenticated, Forbidden: neither a job nor a user who may write.
        NotFound: ``target_not_found``.
        Invalid: ``invalid_record``: the document violates the schema, contradicts itself, has a
            wrong id, or is of another revision or target; ``fields`` maps JSON paths to reasons.
    """
    document = _validated(document)
    with transaction.atomic():
        if job_uuid is not None and fence is not None:
            job = held_job(job_uuid=job_uuid, fence=fence)
            revision, target = _for_job(document, job)
        else:
            job = None
            revision, target = _for_user(document, actor)
        record, is_new = _store(document, job, revision, target, actor)
        if is_new:
            record_sign(record)
            _audit(actor, record)
        return record


def _audit(actor: Actor, record: Record) -> None:
    mlmodel = record.revision.mlmodel
    audit(
        actor,
        "record.add",
        record.pk,
        namespace=mlmodel.namespace.name,
        detail={"model": mlmodel.full_name, "kind": record.kind},
    )


def _store(
    document: dict[str, Any], job: Job | None, revision: Revision, target: Target, actor: Actor
) -> tuple[Record, bool]:
    if not has_file(revision, document["identity"]["model_sha256"]):
        raise _refusal({"$.identity.model_sha256": "is not a file of the revision"})
    comparison = document.get("comparison", {})
    columns = {
        "document": document,
        "kind": document["identity"]["kind"],
        "revision": revision,
        "target": target,
        # A user's machine may have the name of one of the hub's devices.
        "device": job.device if job else None,
        "job": job,
        "added_by": None if job else person(actor),
        "scenario": document["protocol"]["scenario"],
        "backend": document["config"]["backend"],
        "tolerance": document["config"]["tolerance"],
        "p50_ns": round(document["statistics"]["candidate"]["p50_ns"]),
        "ratio": comparison.get("ratio"),
        "ratio_low": comparison.get("ratio_low"),
        "ratio_high": comparison.get("ratio_high"),
        "verdict": comparison.get("verdict", ""),
        "created_at": datetime.fromisoformat(document["provenance"]["created_at"]),
    }
    return Record.objects.get_or_create(id=document["record_id"], defaults=columns)


def _validated(document: dict[str, Any]) -> dict[str, Any]:
    """The document with its ``record_id``."""
    try:
        own_id = schemas.record_id(document)
    except (TypeError, ValueError, RecursionError) as error:
        raise _refusal({"$": str(error)}) from error
    document = {"record_id": own_id} | document
    if problems := schemas.bench_problems(document) or _contradictions(document):
        raise _refusal(problems)
    if document["record_id"] != own_id:
        raise _refusal({"$.record_id": f"is not the digest of the document, {own_id}"})
    return document


def _contradictions(document: dict[str, Any]) -> dict[str, str]:
    """Values of a valid document that contradict others of it: JSON path to the reason."""
    problems: dict[str, str] = {}
    config = document["config"]
    digest = schemas.sha256_of({"backend": config["backend"], "options": config["options"]})
    if document["identity"]["config_sha256"] != digest:
        problems["$.identity.config_sha256"] = f"should be {digest}"
    per_run = document["protocol"].get("samples_per_run", 1)
    for side, statistics in document["statistics"].items():
        if not _is_throughput(document, statistics, per_run):
            problems[f"$.statistics.{side}.throughput_per_s"] = "does not follow from mean_ns"
        blocks = [block.get(f"{side}_ns", []) for block in document["samples"]["blocks"]]
        samples = [sample for block in blocks for sample in block]
        problems |= _disagreements(f"$.statistics.{side}", statistics, samples)
    try:
        datetime.fromisoformat(document["provenance"]["created_at"])
    except ValueError:
        problems["$.provenance.created_at"] = "is not a date and time"
    return problems


def _is_throughput(document: dict[str, Any], statistics: dict[str, Any], per_run: int) -> bool:
    """Whether the throughput of a side follows from its mean. Samples overlap in the scenario
    ``server``."""
    if document["protocol"]["scenario"] == Scenario.SERVER or not statistics["mean_ns"]:
        return True
    expected = 1e9 * per_run / statistics["mean_ns"]
    return isclose(statistics["throughput_per_s"], expected, rel_tol=_ROUNDING)


def _disagreements(
    path: str, statistics: dict[str, Any], samples: list[int]
) -> Iterable[tuple[str, str]]:
    if not samples:
        yield path, "has no samples"
        return
    if max(samples) > _LONGEST_NS:
        yield path, f"has a sample of more than {_LONGEST_NS} ns"
        return
    computed = {"n": len(samples), "min_ns": min(samples), "p50_ns": median(samples)}
    for name, value in computed.items():
        # A median may be rounded to nanoseconds.
        if abs(statistics[name] - value) > (1 if name == "p50_ns" else 0):
            yield f"{path}.{name}", f"is {value} in the samples"


def _for_job(document: dict[str, Any], job: Job) -> tuple[Revision, Target]:
    identity, provenance = document["identity"], document["provenance"]
    target = target_of(job)
    expected = {
        "$.identity.mlmodel": (identity["mlmodel"], job.revision.mlmodel.full_name),
        "$.identity.revision": (identity["revision"], job.revision.oid),
        "$.target.slug": (document["target"]["slug"], target.slug),
        "$.provenance.job": (provenance.get("job", str(job.uuid)), str(job.uuid)),
    }
    if wrong := {
        path: f"should be {want}" for path, (have, want) in expected.items() if have != want
    }:
        raise _refusal(wrong)
    return job.revision, target


def _for_user(document: dict[str, Any], actor: Actor) -> tuple[Revision, Target]:
    if require_scope(actor, Scope.WRITE) is None:
        raise Unauthenticated("not_authenticated", "Sign in to add a record.")
    identity, reproduces = document["identity"], document["provenance"].get("reproduces")
    if identity["kind"] != RecordKind.REPRODUCTION:
        raise _refusal({"$.identity.kind": "must be reproduction; the hub's jobs add other kinds"})
    original = readable_records(actor).filter(pk=reproduces).first()
    if original is None:
        raise _refusal({"$.provenance.reproduces": "is not a record of this hub"})
    revision = (
        readable_revisions(actor)
        .select_related("mlmodel__namespace")
        .filter(pk=original.revision_id, oid=identity["revision"])
        .first()
    )
    if revision is None or revision.mlmodel.full_name != identity["mlmodel"]:
        raise _refusal({"$.identity": "is not the revision of the reproduced record"})
    return revision, target_get(document["target"]["slug"])


def _refusal(fields: dict[str, str]) -> Invalid:
    return Invalid(
        "invalid_record",
        "The benchmark record is invalid.",
        "Compare it with the schema hpcfair.bench/1.",
        fields=fields,
    )
