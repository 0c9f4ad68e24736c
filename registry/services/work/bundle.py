"""Exports of job bundles: jobs are claimed for a device without a network, and signed.

:mod:`registry.services.work.bundleimport` takes the results. Jobs of a bundle are leased for a
time that the operator states, without heartbeats. After that they are queued again, and late
results have no effect.
"""

import json
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from hpcfair.bundle import JOBS_SCHEMA, JOBS_TYPE, MAX_ENVELOPE_BYTES, BundledBlob
from hpcfair.tickets import JobTicket
from registry.attestations.envelope import sign
from registry.attestations.keys import SigningKey, SigningUnavailable
from registry.errors import Conflict, Invalid, NotFound, Unavailable
from registry.selectors.access import Actor, person, require_staff
from registry.selectors.trust.key import signed_key_list
from registry.selectors.work.bundle import (
    BUNDLED_KINDS,
    bundle_get,
    files_in_answers,
    files_of,
    reads_of,
)
from registry.selectors.work.device import device_get
from registry.selectors.work.job import job_ticket
from registry.services.audit import audit
from registry.services.storage.blob import blob_store_bytes, blobs_hold
from registry.services.trust.key import current_key
from registry.services.work.attempt import job_release
from registry.services.work.catchup import plan_catch_up
from registry.services.work.claim import job_take
from registry.services.work.lease import lease_end, lease_lost, note
from registry.services.work.operations import job_read
from registry.states import BundleState, DeviceState, JobState
from registry.tables import Device, Job, JobBundle

#: Bounds of a bundle: jobs, and seconds of its lease.
MAX_JOBS = 500
LEAST_LEASE_S, LONGEST_LEASE_S = 600.0, 30 * 86_400.0


def bundle_export(*, actor: Actor, device: str, budget_s: float, lease_s: float) -> JobBundle:
    """Claim the next jobs of a device's target and sign them as a bundle.

    Args:
        device: Name of a device that has a key.
        budget_s: Estimated seconds of work; at least one job is exported, however long it takes.
        lease_s: Seconds within which the results must be imported.

    Raises:
        Unauthenticated, Forbidden: the actor is not an operator of the hub.
        NotFound: ``device_not_found``; ``job_not_found``: no job waits for the device.
        Invalid: ``invalid_request``: a bound is exceeded, or the device has no key.
        Unavailable: ``signing_unavailable``.
    """
    require_staff(actor)
    row = device_get(device)
    _check(row, budget_s, lease_s)
    try:
        _, key = current_key()
    except SigningUnavailable as error:
        raise Unavailable("signing_unavailable", str(error)) from error
    plan_catch_up(target=row.target)
    jobs = _claim(row, budget_s)
    try:
        return _export(actor, row, jobs, key, budget_s, lease_s)
    except BaseException:
        _release(jobs)
        raise


def bundle_cancel(*, actor: Actor, uuid: str) -> JobBundle:
    """Cancel a bundle and queue its jobs again.

    Raises ``NotFound`` ``bundle_not_found``; ``Conflict`` ``already_ended`` for a bundle that was
    imported or cancelled; the errors of ``require_staff``.
    """
    bundle = bundle_get(actor, uuid)
    with transaction.atomic():
        rows = JobBundle.objects.filter(pk=bundle.pk, state=BundleState.EXPORTED)
        if not rows.update(state=BundleState.CANCELLED):
            raise Conflict("already_ended", f"Bundle {bundle} is {bundle.state}.")
        audit(actor, "bundle.cancel", str(bundle))
        for job, fence in bundle.claims.items():
            with suppress(Conflict):
                job_release(job_uuid=job, fence=fence)
    bundle.refresh_from_db()
    return bundle


def _check(device: Device, budget_s: float, lease_s: float) -> None:
    faults = {}
    if not 1 <= budget_s <= LONGEST_LEASE_S:
        faults["budget_s"] = f"must be 1 to {LONGEST_LEASE_S:.0f}"
    if not LEAST_LEASE_S <= lease_s <= LONGEST_LEASE_S:
        faults["lease_s"] = f"must be {LEAST_LEASE_S:.0f} to {LONGEST_LEASE_S:.0f}"
    if device.state != DeviceState.ACTIVE:
        faults["device"] = f"{device} is {device.state}"
    elif not device.public_key:
        faults["device"] = f"{device} has no key: enrol it first, see docs/howto/bundle.md"
    if faults:
        raise Invalid("invalid_request", "This bundle cannot be exported.", fields=faults)


def _claim(device: Device, budget_s: float) -> list[Job]:
    """Claim jobs for at most ``budget_s`` seconds, or one that takes longer."""
    jobs: list[Job] = []
    left_s = budget_s
    while left_s > 0 and len(jobs) < MAX_JOBS:
        job = job_take(list(BUNDLED_KINDS), device, is_quick=False)
        if job is None:
            break
        if jobs and job.estimate_s > left_s:
            _release([job])
            break
        jobs.append(job)
        left_s -= job.estimate_s
    if not jobs:
        raise NotFound(
            "job_not_found",
            f"No job waits for a device of target {device.target}.",
            "Publish a model, or submit a search for the target.",
        )
    return jobs


def _release(jobs: Iterable[Job]) -> None:
    for job in jobs:
        # Its normal lease may have expired meanwhile.
        with suppress(Conflict):
            job_release(job_uuid=str(job.uuid), fence=job.fence)


def _export(
    actor: Actor,
    device: Device,
    jobs: Sequence[Job],
    key: SigningKey,
    budget_s: float,
    lease_s: float,
) -> JobBundle:
    tickets = [replace(job_ticket(job), lease_s=lease_s) for job in jobs]
    document, files = _answers(jobs, tickets)
    content = json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode()
    blob = blob_store_bytes(actor=None, data=content)
    until = timezone.now() + timedelta(seconds=lease_s)
    bundle = JobBundle(
        uuid=uuid4(),
        device=device,
        answers=blob,
        claims={ticket.job_uuid: ticket.fence for ticket in tickets},
        budget_s=budget_s,
        lease_until=until,
        created_by=person(actor),
    )
    blobs = list({one.sha256: one for one in (_as_blob(blob), *files)}.values())
    job_entries = [
        {"ticket": asdict(ticket), "estimate_s": job.estimate_s}
        for job, ticket in zip(jobs, tickets, strict=True)
    ]
    bundle.envelope = sign(_manifest(bundle, key, job_entries, blobs), JOBS_TYPE, key)
    if len(json.dumps(bundle.envelope)) > MAX_ENVELOPE_BYTES:
        raise Invalid("invalid_request", "The bundle is too large.", "Export fewer jobs at once.")
    with transaction.atomic():
        blobs_hold([one.sha256 for one in blobs])
        _lease(jobs, until)
        for job in jobs:
            note(job, f"Exported in a bundle; results are due by {until:%Y-%m-%d %H:%M} UTC.")
        bundle.save(force_insert=True)
        audit(
            actor, "bundle.export", str(bundle), detail={"device": device.name, "jobs": len(jobs)}
        )
    return bundle


def _answers(
    jobs: Sequence[Job], tickets: Sequence[JobTicket]
) -> tuple[dict[str, Any], list[BundledBlob]]:
    """The answers to the reads of all jobs, each distinct value once, and all files of the jobs."""
    values: dict[str, int] = {}
    answers: dict[str, list[dict[str, Any]]] = {}
    files: list[BundledBlob] = []
    for job, ticket in zip(jobs, tickets, strict=True):
        _lease([job], lease_end(timezone.now()))
        of_job = answers.setdefault(ticket.job_uuid, [])
        values_read: dict[str, Any] = {}
        for name, parameters in reads_of(job):
            value = job_read(
                job_uuid=ticket.job_uuid, fence=ticket.fence, name=name, parameters=parameters
            )
            text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
            number = values.setdefault(text, len(values))
            of_job.append({"name": name, "parameters": parameters, "value": number})
            values_read[name] = value
        files += [*files_of(ticket, values_read), *files_in_answers(values_read)]
    return {"values": [json.loads(text) for text in values], "answers": answers}, files


def _manifest(
    bundle: JobBundle,
    key: SigningKey,
    job_entries: Sequence[dict[str, Any]],
    blobs: Sequence[BundledBlob],
) -> dict[str, Any]:
    return {
        "schema": JOBS_SCHEMA,
        "hub": settings.HUB_URL,
        # With this list the device verifies a key that is newer than the one it trusts.
        "keys": signed_key_list(key),
        "bundle": str(bundle.uuid),
        "device": {"name": bundle.device.name, "public_key": bundle.device.public_key},
        "target": bundle.device.target.slug,
        "budget_s": bundle.budget_s,
        "created_at": timezone.now().isoformat(timespec="seconds"),
        "lease_until": bundle.lease_until.isoformat(timespec="seconds"),
        "answers": bundle.answers_id,
        "jobs": list(job_entries),
        "blobs": [asdict(one) for one in blobs],
    }


def _lease(jobs: Sequence[Job], until: datetime) -> None:
    """Lease the jobs until a time. Raises ``Conflict`` ``lease_lost`` if a claim was lost."""
    for job in jobs:
        rows = Job.objects.filter(pk=job.pk, state=JobState.LEASED, fence=job.fence)
        if not rows.update(lease_until=until):
            raise lease_lost(str(job.uuid), job.fence)


def _as_blob(blob: Any) -> BundledBlob:
    return BundledBlob(blob.sha256, blob.size_bytes)
