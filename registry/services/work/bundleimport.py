"""Imports the results of job bundles: the writes of a device without a network are performed as if
they arrived over HTTP.

The whole file is verified before anything changes: its structure, its digests, the signature of the
bundle's device, and that all results are for claims of the bundle. Then the writes and the end of
each job are performed in one transaction. Writes are numbered, so importing a file twice changes
nothing.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from io import BufferedReader
from pathlib import Path
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from hpcfair.bundle import RESULTS_SCHEMA, RESULTS_TYPE, BundleInvalid
from hpcfair.bundlefile import BlobStream, BundleFile
from registry.attestations.devicekey import SignatureInvalid, open_envelope, unverified_payload
from registry.errors import Conflict, Forbidden, Invalid, NotFound, RegistryError
from registry.schemas import sha256_of
from registry.schemas.bundle import line_fault, results_fault
from registry.selectors.access import Actor, require_staff
from registry.selectors.work.agent import attempt_of
from registry.selectors.work.bundle import bundle_get
from registry.services.audit import audit
from registry.services.work.enrolment import device_hello
from registry.services.work.jobblob import job_blob_store
from registry.services.work.offence import offence_add, offences_of
from registry.services.work.operations import job_write
from registry.services.work.report import job_end
from registry.states import BundleState, DeviceState
from registry.tables import Device, JobBundle
from registry.validation.texts import one_line, unstorable

#: Upper bounds on the journal and on one of its lines, in bytes.
MAX_JOURNAL_BYTES, _MAX_LINE_BYTES = 2**30, 64 * 2**20


@dataclass(slots=True)
class _Claim:
    """The entries of a journal on one claim: digests of files, writes in order, and the end."""

    job: str
    fence: int
    blobs: list[str] = field(default_factory=list)
    writes: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    end: dict[str, Any] | None = None


def bundle_import(*, actor: Actor, path: Path, uuid: str | None = None) -> JobBundle:
    """Import the results in a file, and return their bundle with its ``report``.

    Args:
        uuid: UUID of the bundle that the results must belong to; ``None`` for any.

    Outcomes of a job in the report: that of its end; ``unfinished`` without an end; ``late`` if its
    claim had already ended; ``refused`` with the reason if a write is invalid, in which case
    nothing of the job is stored.

    Raises:
        Unauthenticated, Forbidden: the actor is not an operator of the hub;
            ``device_quarantined``.
        Invalid: ``invalid_bundle``: the file is malformed or damaged, not signed by the device, or
            has results of other jobs, for which the device is put into quarantine. No result is
            stored; the refusal is logged. ``invalid_facts``, ``invalid_target``: the facts of the
            machine have become invalid; the device is put into quarantine.
        NotFound: ``bundle_not_found``.
        OSError: the file cannot be read.
    """
    require_staff(actor)
    with _audited(actor, uuid), _open_results(actor, path) as (bundle, file):
        if uuid not in {None, str(bundle)}:
            raise _refusal(f"they are of bundle {bundle}")
        digest = sha256_of(file.envelope)
        if bundle.results_sha256 == digest:
            return bundle
        claims = _claims(bundle, file)
        _refuse_untrusted(bundle.device)
        _hello(bundle.device, file.manifest)
        report = [_import_claim(claim, file, bundle.device) for claim in claims]
    with transaction.atomic():
        bundle.state, bundle.imported_at = BundleState.IMPORTED, timezone.now()
        bundle.results_sha256, bundle.report = digest, report
        bundle.save(update_fields=["state", "imported_at", "results_sha256", "report"])
        outcomes = [one["outcome"] for one in report]
        detail = {outcome: outcomes.count(outcome) for outcome in set(outcomes)}
        audit(actor, "bundle.import", str(bundle), detail=detail)
    return bundle


@contextmanager
def _audited(actor: Actor, uuid: str | None) -> Iterator[None]:
    """Log the refusal of a file within the block. The refusal is raised again."""
    try:
        yield
    except Invalid as error:
        if error.code == "invalid_bundle":
            audit(actor, "bundle.refuse", uuid or "", detail={"reason": one_line(error.detail)})
        raise


@contextmanager
def _open_results(actor: Actor, path: Path) -> Iterator[tuple[JobBundle, BundleFile]]:
    """The verified results in a file, and the bundle that they belong to."""
    bundles: list[JobBundle] = []

    def verify(envelope: Any) -> Any:
        bundle = bundle_get(actor, str(UUID(unverified_payload(envelope)["bundle"])))
        bundles.append(bundle)
        payload = open_envelope(envelope, RESULTS_TYPE, bundle.device.public_key)
        fault = "its manifest has a value that no database stores" if unstorable(payload) else ""
        if fault := fault or results_fault(payload, RESULTS_SCHEMA):
            raise _refusal(fault)
        return payload

    try:
        file = BundleFile(path, verify)
    except (BundleInvalid, SignatureInvalid) as error:
        raise _refusal(str(error)) from error
    except (KeyError, TypeError, ValueError) as error:
        raise _refusal("its manifest is incomplete") from error
    with file:
        yield bundles[0], file


def _claims(bundle: JobBundle, file: BundleFile) -> list[_Claim]:
    """The entries of the journal by claim, all of which must be claims of the bundle."""
    claims: dict[str, _Claim] = {}
    for number, line in enumerate(_lines(file), 1):
        if fault := line_fault(line):
            raise _refusal(f"line {number} of its journal is malformed: {fault}")
        job, fence = line["job"], line["fence"]
        if bundle.claims.get(job) != fence:
            foreign = _refusal(f"it has results of job {job[:64]}, which is not in bundle {bundle}")
            # The device signed the file, so the device itself sent these results.
            offence_add(bundle.device, job, foreign)
            raise foreign
        if fault := _add(claims.setdefault(job, _Claim(job, fence)), line):
            raise _refusal(f"line {number} of its journal: {fault}")
    missing = {sha256 for claim in claims.values() for sha256 in claim.blobs} - file.blobs.keys()
    if missing:
        raise _refusal(f"it lacks the file {min(missing)}")
    return list(claims.values())


def _add(claim: _Claim, line: dict[str, Any]) -> str:
    """Add a line of the journal; returns its fault, or an empty text."""
    if claim.end is not None:
        return "a job goes on after its end"
    if "keep" in line:
        claim.blobs.append(line["keep"])
    elif "name" in line:
        if line["number"] != len(claim.writes) + 1:
            return "the numbers of its writes have a gap"
        claim.writes.append((line["name"], line["columns"]))
    elif "end" in line:
        claim.end = line["end"]
    return ""


def _lines(file: BundleFile) -> Iterator[Any]:
    digest = file.manifest["journal"]
    if digest not in file.blobs:
        raise _refusal("it has no journal")
    if file.blobs[digest] > MAX_JOURNAL_BYTES:
        raise _refusal(f"its journal is larger than {MAX_JOURNAL_BYTES} bytes")
    stream = BufferedReader(BlobStream(file, digest))
    while line := stream.readline(_MAX_LINE_BYTES):
        try:
            document = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise _refusal("a line of its journal is not JSON") from error
        if unstorable(document):
            raise _refusal("a line of its journal has a value that no database stores")
        yield document


def _hello(device: Device, manifest: dict[str, Any]) -> None:
    """Store the facts and tools of the device, as at the start of an agent."""
    device_hello(
        device=device,
        facts=manifest["facts"],
        tools=manifest["tools"],
        agent_version=manifest["agent_version"],
    )


def _import_claim(claim: _Claim, file: BundleFile, device: Device) -> dict[str, Any]:
    """Perform the writes and the end of a claim; returns a line of the report."""
    try:
        _refuse_untrusted(device)
        job = attempt_of(device, claim.job, claim.fence).job
        with offences_of(device, claim.job):
            for sha256 in dict.fromkeys(claim.blobs):
                job_blob_store(
                    job=job,
                    sha256=sha256,
                    stream=BlobStream(file, sha256),
                    size_bytes=file.blobs[sha256],
                )
            outcome, detail = _perform(claim, device)
    except NotFound as error:
        # The job was deleted.
        outcome, detail = "late", str(error)
    except Conflict as error:
        outcome, detail = "late", str(error)
        # Stored for operators; has no effect.
        with suppress(RegistryError):
            _end(claim, device)
    except RegistryError as error:
        outcome, detail = "refused", f"{error} {json.dumps(error.fields) if error.fields else ''}"
    return {"job": claim.job, "outcome": outcome, "detail": detail.strip()[:2000]}


def _refuse_untrusted(device: Device) -> None:
    """Raise ``Forbidden`` ``device_quarantined`` for a device whose results are not trusted; an
    earlier job of the same file may be the reason."""
    device.refresh_from_db(fields=["state", "reason"])
    if device.state in {DeviceState.QUARANTINED, DeviceState.RETIRED}:
        raise Forbidden("device_quarantined", f"{device} is {device.state}: {device.reason}")


def _perform(claim: _Claim, device: Device) -> tuple[str, str]:
    """Perform the writes and the end of a claim in one transaction; returns outcome and detail."""
    with transaction.atomic():
        for number, (name, columns) in enumerate(claim.writes, 1):
            job_write(
                job_uuid=claim.job,
                fence=claim.fence,
                name=name,
                columns=columns,
                number=number,
                device=device,
            )
        return _end(claim, device)


def _end(claim: _Claim, device: Device) -> tuple[str, str]:
    if claim.end is None:
        return "unfinished", "The device did not end this job; its lease will expire."
    answer = job_end(device=device, job_uuid=claim.job, fence=claim.fence, **claim.end)
    if answer["is_late"]:
        return "late", "The job was given to another worker before these results arrived."
    return str(claim.end["outcome"]), ""


def _refusal(reason: str) -> Invalid:
    return Invalid(
        "invalid_bundle",
        f"The results are refused: {reason}.",
        "Nothing has changed. Export a new bundle, or bring the file that the device wrote.",
    )
