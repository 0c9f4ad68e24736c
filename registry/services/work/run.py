"""Remote runs: a network runs on a device of a target with inputs of the person who requests it.

Access, target, build, quotas, and the fit of the inputs to the network's signature are checked
before a job is queued. A run, its inputs and its outputs are private to
that person and are deleted after ``settings.RUN_KEEP``, or when the person deletes them.
"""

from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from registry import schemas
from registry.errors import Conflict, Invalid, NotFound, TooLarge, Unauthenticated
from registry.selectors.access import Actor, person, require_person, require_scope
from registry.selectors.repository.gate import require_fetch
from registry.selectors.results.graph import graph_of
from registry.selectors.storage.blob import blob_get, blob_open
from registry.selectors.work.run import RunChoice, best_for_run, build_for_run
from registry.services.audit import audit
from registry.services.storage import gc
from registry.services.storage.blob import blobs_hold
from registry.services.storage.quota import quota_check_jobs, quota_check_run
from registry.services.work.job import job_create
from registry.services.work.lease import held_job
from registry.states import JobKind, JobState, Scope, ToleranceClass
from registry.tables import Blob, Job, RemoteRun, Revision, Target, User
from registry.transitions import JOB_ENDED
from registry.validation.arrays import input_faults, read_headers
from registry.validation.texts import check_json

#: Priority of jobs that a person waits for; see :data:`registry.fairshare.LEVELS`.
_PRIORITY = 100
#: Most runs that one call deletes.
_AT_ONCE = 200


def run_submit(
    *,
    actor: Actor,
    revision: Revision,
    target: Target,
    inputs: str,
    tolerance: str | float = ToleranceClass.EXACT,
    min_accuracy: float | None = None,
    build: str | None = None,
) -> RemoteRun:
    """Queue a run of a revision's network on a device of ``target``.

    Args:
        actor: A person who may fetch the model's files.
        inputs: SHA-256 of a ``.npz`` of arrays by the name of an input, which the person uploaded.
        tolerance: Laxest tolerance class of the build, or its largest relative L2 error.
        min_accuracy: Least accuracy of the build on labelled samples, 0 to 1.
        build: UUID of the build to run; excludes both limits. Default: the build that a machine of
            the target would load.

    Raises:
        Unauthenticated, Forbidden: the person may not fetch the files or upload, or has no quota
            left: ``quota_exceeded``.
        NotFound: ``graph_not_found``, ``build_not_found``, ``blob_not_found``.
        Invalid: ``invalid_target``; ``invalid_inputs``, with the inputs in its fields.
        TooLarge: ``body_too_large``.
    """
    user = _requester(actor, revision)
    _check_target(target)
    graph = graph_of(revision)
    if graph is None:
        raise NotFound(
            "graph_not_found",
            f"Revision {revision.oid[:10]} has no inspected network.",
            "Wait for its inspection, or add an ONNX or TensorFlow Lite file.",
        )
    blob = blob_get(actor, inputs)
    arrays = _check_inputs(blob, graph.signature)
    choice = (
        best_for_run(revision, target, tolerance, min_accuracy)
        if build is None
        else build_for_run(actor, revision, target, build)
    )
    with transaction.atomic():
        quota_check_jobs(actor, 1)
        quota_check_run(user, added_bytes=blob.size_bytes, limit_s=settings.RUN_S)
        blobs_hold([blob.sha256])
        return _queue(user, revision, target, blob, arrays, choice)


def run_store(*, job_uuid: str, fence: int, report: dict[str, Any], outputs: str) -> RemoteRun:
    """Store the report and the outputs of a run, before its job ends. Idempotent.

    Args:
        report: Times and deviation, as ``registry/schemas/remote-run.json`` describes them.
        outputs: SHA-256 of the stored ``.npz`` of outputs.

    Raises:
        Conflict: ``lease_lost``; nothing is written.
        NotFound: ``run_not_found``: the run was deleted.
        Invalid: ``invalid_request``, ``blob_missing``.
        Forbidden: ``quota_exceeded``.
        TooLarge: ``body_too_large``.
    """
    if faults := schemas.remote_run_problems(check_json(report)):
        raise Invalid("invalid_request", "The report of the run is invalid.", fields=faults)
    with transaction.atomic():
        job = held_job(job_uuid=job_uuid, fence=fence)
        run = RemoteRun.objects.select_for_update(of=("self",)).select_related("owner")
        row = run.filter(job=job).exclude(inputs=None).first()
        if row is None:
            raise NotFound("run_not_found", f"Run {job_uuid[:64]!r} was deleted.")
        blobs_hold([outputs])
        blob = Blob.objects.get(pk=outputs)
        _check_size(blob, "outputs")
        if row.outputs_id != outputs:
            quota_check_run(row.owner, added_bytes=blob.size_bytes)
        row.report, row.outputs = report, blob
        row.expires_at = timezone.now() + settings.RUN_KEEP
        row.save(update_fields=["report", "outputs", "expires_at"])
    return row


def run_delete(*, actor: Actor, run: RemoteRun) -> None:
    """Delete the inputs, the outputs and the report of a run that has ended; its job stays listed
    until the run expires.

    Raises ``Unauthenticated`` or ``Forbidden`` without a token that may write; ``Conflict``:
    ``not_ended``.
    """
    require_scope(actor, Scope.WRITE)
    with transaction.atomic():
        job = Job.objects.select_for_update().get(pk=run.job_id)
        if job.state not in JOB_ENDED:
            raise Conflict("not_ended", f"Run {job.uuid} has not ended.", "Cancel it first.")
        digests = _bytes_of(run)
        run.inputs = run.outputs = None
        run.report, run.arrays = {}, {}
        run.save(update_fields=["inputs", "outputs", "report", "arrays"])
        audit(actor, "run.delete", str(job.uuid))
    gc.erase(digests, owner=run.owner)


def runs_expire() -> int:
    """Delete expired runs with their jobs and bytes; returns their number.

    A run that a worker holds is deleted by a later call.
    """
    due = RemoteRun.objects.filter(expires_at__lt=timezone.now())
    due = due.exclude(job__state=JobState.LEASED).order_by("expires_at")
    keys = list(due.values_list("pk", flat=True)[:_AT_ONCE])
    return sum(_expire(key) for key in keys)


def _expire(key: int) -> bool:
    with transaction.atomic():
        run = RemoteRun.objects.select_related("owner").filter(pk=key).first()
        if run is None:
            return False
        unclaimed = ~Q(state=JobState.LEASED)
        job = Job.objects.select_for_update().filter(unclaimed, pk=run.job_id).first()
        if job is None:
            return False
        digests = _bytes_of(run)
        audit(None, "run.expire", str(job.uuid))
        # This deletes the run and the log as well.
        job.delete()
    gc.erase(digests, owner=run.owner)
    return True


def _requester(actor: Actor, revision: Revision) -> User:
    mlmodel = revision.mlmodel
    user = person(actor)
    if user is None:
        raise Unauthenticated(
            "not_authenticated", "Nobody is signed in.", "Sign in, or send a token."
        )
    require_person(user, Scope.WRITE, mlmodel.namespace)
    require_fetch(user, mlmodel)
    return user


def _check_target(target: Target) -> None:
    if not target.enabled:
        raise Invalid(
            "invalid_target",
            f"Target {target.slug} is disabled.",
            "Choose one of the enabled targets.",
        )


def _check_size(blob: Blob, what: str) -> None:
    if blob.size_bytes > settings.RUN_BYTES:
        raise TooLarge(
            "body_too_large",
            f"The {what} take {blob.size_bytes} bytes; a run may have {settings.RUN_BYTES}.",
            "Run the network on fewer samples at a time.",
        )


def _check_inputs(blob: Blob, signature: dict[str, Any]) -> dict[str, Any]:
    """Check the headers of the inputs; returns element type and shape by input name."""
    _check_size(blob, "inputs")
    with blob_open(blob) as stream:
        headers = read_headers(stream, blob.size_bytes)
    if faults := input_faults(headers, signature):
        raise Invalid(
            "invalid_inputs",
            "The inputs do not fit the network: "
            + "; ".join(f"{name} {fault}" for name, fault in faults.items())
            + ".",
            "Give one array for each input, of its element type and shape.",
            fields=faults,
        )
    total_bytes = sum(header.size_bytes for header in headers.values())
    if total_bytes > settings.RUN_BYTES:
        raise TooLarge(
            "body_too_large",
            f"The inputs take {total_bytes} bytes in memory; a run may have {settings.RUN_BYTES}.",
            "Run the network on fewer samples at a time.",
        )
    return {
        name: {"dtype": header.dtype, "shape": list(header.shape)}
        for name, header in headers.items()
    }


def _queue(
    user: User,
    revision: Revision,
    target: Target,
    blob: Blob,
    arrays: dict[str, Any],
    choice: RunChoice,
) -> RemoteRun:
    """Queue the job of a run in the current transaction; returns the run."""
    job = job_create(
        actor=user,
        kind=JobKind.RUN,
        revision=revision,
        target=target,
        parameters={},
        priority=_PRIORITY,
    )
    return RemoteRun.objects.create(
        job=job,
        owner=user,
        build=choice.build,
        reason=choice.reason,
        inputs=blob,
        arrays=arrays,
        limit_s=float(settings.RUN_S),
        expires_at=timezone.now() + settings.RUN_KEEP,
    )


def _bytes_of(run: RemoteRun) -> list[str]:
    return [digest for digest in (run.inputs_id, run.outputs_id) if digest]
