"""Reports of devices about the ends of attempts: signed, effective once, stored even if late."""

from typing import Any

from django.db import transaction

from hpcfair.bundle import end_bytes
from registry.attestations.devicekey import is_signed
from registry.errors import CODES, Conflict, Invalid
from registry.services.work.attempt import job_fail, job_release, job_succeed
from registry.services.work.ban import crash_add
from registry.services.work.devicestate import device_attempt_report
from registry.services.work.followup import follow_up
from registry.services.work.jobwrite import locked_attempt
from registry.services.work.lease import note
from registry.states import AttemptEnd, FailureClass, JobState
from registry.tables import Device, Job, JobAttempt, JobReport
from registry.validation.texts import check_json

OUTCOMES = ("succeeded", "failed", "released")
_LONGEST_DETAIL = 10_000
#: Failure code of an attempt during which the machine went down, reported after its restart.
_TAKEN_DOWN = "job_interrupted"


def job_end(
    *,
    device: Device,
    job_uuid: str,
    fence: int,
    outcome: str,
    result: dict[str, Any] | None = None,
    failure: dict[str, Any] | None = None,
    signature: str,
) -> dict[str, Any]:
    """End the attempt of a device as it reports. A repeated report gets the first answer.

    A report of an attempt that had already ended in another way, such as an expired lease, is
    stored as late and changes nothing.

    Args:
        device: The device of the attempt; see
            :func:`registry.selectors.work.jobattempt.attempt_of`.
        outcome: One of :data:`OUTCOMES`.
        result: Result of a job that succeeded.
        failure: ``class``, ``code`` and ``detail`` of a job that failed.
        signature: Signature by the device's key over :func:`hpcfair.bundle.end_bytes`, in Base64.
            The bytes contain the result, the failure, or ``{}`` for a released job.

    Returns:
        ``{"state": state of the job, "is_late": whether the report had no effect}``

    Raises:
        Conflict: ``lease_lost``; ``already_ended``: the device reported another end before.
        Invalid: ``signature_invalid``, ``invalid_request``.
    """
    signed_result = _signed_result(outcome, result, failure)
    signed = end_bytes(job=job_uuid, fence=fence, outcome=outcome, result=signed_result)
    if not is_signed(device.public_key, signature, signed):
        raise Invalid(
            "signature_invalid",
            f"The end of job {job_uuid} is not signed by the key of {device.name}.",
            "Sign it with the key that the device was enrolled with.",
        )
    with transaction.atomic():
        attempt = locked_attempt(job_uuid, fence)
        report = _report(attempt, {"outcome": outcome, "result": signed_result}, signature)
    job = Job.objects.get(pk=attempt.job_id)
    if not report.is_late and job.state == JobState.SUCCEEDED and job.fence == fence:
        # Again after a repeated report: the hub may have stopped after the first one.
        follow_up(job)
    return {"state": job.state, "is_late": report.is_late}


def _report(attempt: JobAttempt, document: dict[str, Any], signature: str) -> JobReport:
    """Store the report of an attempt, whose job is locked, and end the attempt. Returns the stored
    report of an attempt that has one."""
    stored = JobReport.objects.filter(attempt=attempt).first()
    if stored is None:
        is_late = attempt.end != ""
        stored = JobReport.objects.create(
            attempt=attempt, document=document, signature=signature, is_late=is_late
        )
        if is_late:
            note(attempt.job, f"A late report of claim {attempt.fence} changed nothing.")
            if attempt.end == AttemptEnd.LOST and attempt.device_id is not None:
                device_attempt_report(device_id=attempt.device_id)
        else:
            _end(attempt, document["outcome"], document["result"])
    elif stored.document != document:
        raise Conflict(
            "already_ended",
            f"Claim {attempt.fence} of job {attempt.job.uuid} was reported with another end.",
        )
    return stored


def _end(attempt: JobAttempt, outcome: str, signed_result: dict[str, Any]) -> None:
    claim: dict[str, Any] = {"job_uuid": str(attempt.job.uuid), "fence": attempt.fence}
    match outcome:
        case "succeeded":
            job_succeed(**claim, result=signed_result)
        case "failed":
            if signed_result["code"] == _TAKEN_DOWN:
                crash_add(attempt.job)
            job_fail(
                **claim,
                failure_class=FailureClass(signed_result["class"]),
                code=signed_result["code"],
                detail=signed_result["detail"],
            )
        case _:
            job_release(**claim)


def _signed_result(
    outcome: str, result: dict[str, Any] | None, failure: dict[str, Any] | None
) -> dict[str, Any]:
    """The result or failure that the signature covers. Raises ``Invalid`` ``invalid_request``."""
    fields: dict[str, str] = {}
    if outcome not in OUTCOMES:
        fields["outcome"] = f"must be one of {', '.join(OUTCOMES)}"
    elif outcome == "succeeded" and not isinstance((result or {}).get("summary"), str):
        fields["result"] = "must be an object with a summary"
    elif outcome == "failed":
        fields = _failure_faults(failure or {})
    if (outcome != "succeeded" and result) or (outcome != "failed" and failure):
        fields["outcome"] = "contradicts result or failure"
    if fields:
        raise Invalid("invalid_request", "The end of the job is invalid.", fields=fields)
    signed_result = {"succeeded": result, "failed": failure}.get(outcome)
    return check_json(signed_result or {})


def _failure_faults(failure: dict[str, Any]) -> dict[str, str]:
    if failure.keys() != {"class", "code", "detail"}:
        return {"failure": "must have class, code and detail"}
    faults = {}
    if failure["class"] not in FailureClass.values:
        faults["failure.class"] = f"must be one of {', '.join(FailureClass.values)}"
    if failure["code"] not in CODES:
        faults["failure.code"] = "is not a code of this hub"
    detail = failure["detail"]
    if not isinstance(detail, str) or len(detail) > _LONGEST_DETAIL:
        faults["failure.detail"] = f"must be a text of at most {_LONGEST_DETAIL} characters"
    return faults
