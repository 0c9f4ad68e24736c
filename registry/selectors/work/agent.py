"""Reads for the agents of devices: their attempts, and the reason why they get no job."""

from registry.errors import Conflict, NotFound
from registry.ids import parse_uuid
from registry.states import DeviceState, JobState
from registry.tables import Device, Job, JobAttempt


def attempt_of(device: Device, job_uuid: str, fence: int) -> JobAttempt:
    """The attempt of a device with that fence, running or ended, with its job.

    Raises ``NotFound`` ``job_not_found`` if the device never held it; ``Conflict`` ``lease_lost``
    if there is no such job, for example because its model was deleted.
    """
    rows = JobAttempt.objects.filter(job__uuid=parse_uuid(job_uuid), fence=fence, device=device)
    attempt = rows.select_related("job__revision", "job__target", "job__device").first()
    if attempt is None:
        _require_job(job_uuid)
        raise NotFound(
            "job_not_found",
            f"{device.name} never held claim {fence} of job {job_uuid[:64]}.",
            "Report only on jobs that this device has claimed.",
        )
    return attempt


def require_attempt(device: Device, job_uuid: str, fence: int) -> None:
    """Check that a device had the attempt with that fence. Raises as :func:`attempt_of`."""
    rows = JobAttempt.objects.filter(job__uuid=parse_uuid(job_uuid), fence=fence, device=device)
    if not rows.exists():
        attempt_of(device, job_uuid, fence)


def job_of(device: Device, job_uuid: str) -> Job:
    """A job that a device holds or has held in any attempt. Raises as :func:`attempt_of`."""
    rows = JobAttempt.objects.filter(job__uuid=parse_uuid(job_uuid), device=device)
    attempt = rows.select_related("job__revision", "job__target").order_by("-fence").first()
    if attempt is None:
        _require_job(job_uuid)
        raise NotFound("job_not_found", f"{device.name} never held job {job_uuid[:64]}.")
    return attempt.job


def held_job_of(device: Device, job_uuid: str) -> Job:
    """A job that a device holds now. Raises as :func:`attempt_of`; also ``Conflict`` ``lease_lost``
    if the device no longer holds it."""
    job = job_of(device, job_uuid)
    if job.state != JobState.LEASED or job.device_id != device.pk:
        raise Conflict(
            "lease_lost",
            f"{device.name} no longer holds job {job_uuid[:64]}.",
            "Stop working on it: the job has ended or was claimed again.",
        )
    return job


def idle_reason(device: Device) -> str:
    """Why a device got no job, for its operator."""
    if device.state != DeviceState.ACTIVE:
        return f"{device.name} is {device.state}: {device.reason}".removesuffix(": ")
    if not device.target.enabled:
        return f"the target {device.target.slug} is disabled"
    return "no queued job fits this device and its remaining time"


def _require_job(job_uuid: str) -> None:
    """Raise ``Conflict`` ``lease_lost`` if the job was deleted, for example with its model."""
    if not Job.objects.filter(uuid=parse_uuid(job_uuid)).exists():
        raise Conflict(
            "lease_lost",
            f"There is no job {job_uuid[:64]}.",
            "Stop working on it: the job or its model was deleted.",
        )
