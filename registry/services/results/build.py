"""Builds: published for a target by a search, withdrawn by the next search that decides."""

from collections.abc import Collection
from typing import Any

from django.db import transaction
from django.utils import timezone

from registry import schemas
from registry.errors import Invalid
from registry.scenarios import Scenario
from registry.services.audit import audit
from registry.services.results.best import best_builds_update
from registry.services.results.graph import required_graph
from registry.services.trust.attestation import builds_sign
from registry.services.work.lease import held_job, target_of
from registry.states import ToleranceClass, Verdict
from registry.tables import Blob, Build, BuildFile, Graph, Job, OutboxEntry, Record
from registry.validation.paths import check_path, check_together
from registry.validation.texts import check_json

_REQUIRED = frozenset(
    {
        "config_sha256", "candidate", "runtime", "entry_point", "tolerance", "is_baseline",
        "record_id", "ratio", "verdict", "p50_ns", "files",
    }
)  # fmt: skip
_OPTIONAL = frozenset(
    {
        *("runtime_options", "deviation", "accuracy", "accuracy_reference", "provenance"),
        *("execution", "throughput_per_s"),
    }
)


def builds_publish(
    *,
    job_uuid: str,
    fence: int,
    builds: list[dict[str, Any]],
    undecided: Collection[str] = (),
    decided: Collection[str] = (),
    scenario: str = Scenario.SINGLE_STREAM,
) -> list[Build]:
    """Publish the builds of a search in a scenario and withdraw the earlier ones of its network,
    target and scenario.

    Both become visible at once. Publishing the same builds again has no effect.

    A brief search, or one on a disturbed machine, proves nothing, so it withdraws nothing that was
    proved: builds of earlier searches that are faster than the defaults stay in ``undecided``
    classes, unless this search decided about their configuration.

    Args:
        builds: Columns of :class:`registry.tables.Build`, with ``record_id`` and ``files``
            (path to blob's SHA-256). Exactly one is the baseline. Each record must be of this
            revision, target, scenario and configuration, and of an artefact of exactly these
            files.
        undecided: Tolerance classes without a conclusion.
        decided: Digests of configurations with one.

    Raises:
        Conflict: ``lease_lost``; nothing is written.
        NotFound: ``graph_not_found``.
        Invalid: ``invalid_request``, ``invalid_path``, ``blob_missing``, ``invalid_record``.
    """
    builds = [{**build, "scenario": scenario} for build in builds]
    _check(builds)
    with transaction.atomic():
        job = held_job(job_uuid=job_uuid, fence=fence)
        graph = required_graph(job)
        _check_records(builds, job)
        _check_blobs(builds)
        published = Build.objects.filter(
            graph=graph, target=target_of(job), scenario=scenario, withdrawn_at=None
        )
        proved = published.filter(
            is_baseline=False, verdict=Verdict.FASTER, tolerance__in=undecided
        ).exclude(job=job)
        configs = {*decided, *(build["config_sha256"] for build in builds)}
        left = list(proved.exclude(config_sha256__in=configs).values_list("pk", flat=True))
        published = published.exclude(pk__in=left)
        stored = {(build.config_sha256, build.record_id): build for build in published}
        if stored.keys() == {(build["config_sha256"], build["record_id"]) for build in builds}:
            return [stored[build["config_sha256"], build["record_id"]] for build in builds]
        published.update(withdrawn_at=timezone.now())
        return _publish(builds, job, graph)


def builds_add(*, job_uuid: str, fence: int, builds: list[dict[str, Any]]) -> list[Build]:
    """Publish builds for a single stream beside the earlier ones of their network and target.

    An earlier build of the same configuration is withdrawn. Publishing a build again has no effect.

    Args:
        builds: As of :func:`builds_publish`, without a baseline.

    Raises:
        Conflict, NotFound, Invalid: as :func:`builds_publish`.
    """
    builds = [{**build, "scenario": Scenario.SINGLE_STREAM} for build in builds]
    _check(builds, baselines=0)
    with transaction.atomic():
        job = held_job(job_uuid=job_uuid, fence=fence)
        graph = required_graph(job)
        _check_records(builds, job)
        _check_blobs(builds)
        published = Build.objects.filter(
            graph=graph,
            target=target_of(job),
            scenario=Scenario.SINGLE_STREAM,
            withdrawn_at=None,
        )
        stored = set(published.values_list("config_sha256", "record_id"))
        added = [
            build for build in builds if (build["config_sha256"], build["record_id"]) not in stored
        ]
        published.filter(config_sha256__in=[build["config_sha256"] for build in added]).update(
            withdrawn_at=timezone.now()
        )
        return _publish(added, job, graph) if added else []


def _publish(builds: list[dict[str, Any]], job: Job, graph: Graph) -> list[Build]:
    rows = [_create(build, job, graph) for build in builds]
    builds_sign(rows)
    mlmodel = job.revision.mlmodel
    best_builds_update(mlmodel, target=target_of(job))
    OutboxEntry.objects.create(mlmodel_uuid=mlmodel.uuid)
    audit(
        None,
        "build.publish",
        f"{mlmodel.full_name}@{job.revision.oid}",
        namespace=mlmodel.namespace.name,
        detail={"job": str(job.uuid), "builds": [str(build.uuid) for build in rows]},
    )
    return rows


def _create(columns: dict[str, Any], job: Job, graph: Graph) -> Build:
    columns = dict(columns)
    files: dict[str, str] = columns.pop("files")
    build = Build.objects.create(graph=graph, target=target_of(job), job=job, **columns)
    BuildFile.objects.bulk_create(
        BuildFile(build=build, path=path, blob_id=sha256) for path, sha256 in sorted(files.items())
    )
    return build


def _check(builds: list[dict[str, Any]], *, baselines: int = 1) -> None:
    fields: dict[str, str] = {}
    for number, build in enumerate(builds):
        faults = dict.fromkeys(_REQUIRED - build.keys(), "is missing")
        unknown = build.keys() - _REQUIRED - _OPTIONAL - {"scenario"}
        faults |= dict.fromkeys(unknown, "is not known")
        fields |= {f"{number}.{name}": fault for name, fault in (faults or _faults(build)).items()}
    if not fields and sum(build["is_baseline"] for build in builds) != baselines:
        expected = "exactly one build" if baselines else "no build"
        fields["is_baseline"] = f"must be true of {expected}"
    configs = [build.get("config_sha256") for build in builds]
    if len(set(configs)) != len(configs):
        fields["config_sha256"] = "must differ between builds"
    if fields:
        raise Invalid("invalid_request", "These builds cannot be published.", fields=fields)
    for build in builds:
        check_json(build)
        check_together(check_path(path) for path in build["files"])


def _faults(build: dict[str, Any]) -> dict[str, str]:
    faults = {}
    if build["tolerance"] not in ToleranceClass.values:
        faults["tolerance"] = f"must be one of {', '.join(ToleranceClass.values)}"
    if build["scenario"] not in Scenario.values:
        faults["scenario"] = f"must be one of {', '.join(Scenario.values)}"
    is_single = build["scenario"] == Scenario.SINGLE_STREAM
    if is_single == bool(build.get("execution")):
        faults["execution"] = "must be given, but not for a single stream"
    if build["verdict"] not in Verdict.values:
        faults["verdict"] = f"must be one of {', '.join(Verdict.values)}"
    if build["entry_point"] not in build["files"]:
        faults["entry_point"] = "must be one of the files"
    return faults


def _check_records(builds: list[dict[str, Any]], job: Job) -> None:
    records = Record.objects.in_bulk([build["record_id"] for build in builds])
    fields = {}
    for build in builds:
        record = records.get(build["record_id"])
        if record is None:
            fields[build["record_id"]] = "is not stored"
            continue
        identity = record.document["identity"]
        if (record.revision_id, record.target_id) != (job.revision_id, job.target_id):
            fields[build["record_id"]] = "is of another revision or target"
        elif record.scenario != build["scenario"]:
            fields[build["record_id"]] = "is of another scenario"
        elif identity["config_sha256"] != build["config_sha256"]:
            fields[build["record_id"]] = "is of another configuration"
        elif identity["artifact_sha256"] != schemas.artifact_sha256(build["files"]):
            fields[build["record_id"]] = "is of an artefact of other files"
    if fields:
        raise Invalid(
            "invalid_record",
            "Each build needs the record of its own measurement.",
            "Add the records of these artefacts first.",
            fields=fields,
        )


def _check_blobs(builds: list[dict[str, Any]]) -> None:
    digests = {sha256 for build in builds for sha256 in build["files"].values()}
    # Locked until the transaction ends, so that none is deleted before a row refers to it.
    rows = Blob.objects.select_for_update(no_key=True).filter(pk__in=digests, condemned_at=None)
    missing = digests - set(rows.order_by("pk").values_list("pk", flat=True))
    if missing:
        raise Invalid(
            "blob_missing",
            f"{len(missing)} of the builds' files are not stored.",
            "Store their bytes first.",
            fields=dict.fromkeys(sorted(missing), "is not stored"),
        )
