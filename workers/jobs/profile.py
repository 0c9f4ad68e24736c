"""Profiles the best builds of a search, each run once more under its runtime's profiler."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from registry.errors import Conflict, RegistryError
from registry.services.results.profile import profile_store
from registry.services.storage.blob import blob_adopt
from registry.services.work.attempt import job_note
from registry.tickets import JobTicket
from workers.engine.confirmation import ConfirmedResult
from workers.engine.errors import CandidateFailed, LeaseLost
from workers.engine.ports import Device
from workers.engine.profile import Profile, profile_to_dict
from workers.engine.testset import TestSet
from workers.jobs.lease import Lease

_MAX_NOTE = 500


def profile_winners(
    ticket: JobTicket,
    lease: Lease,
    device: Device,
    tests: TestSet,
    winners: Sequence[ConfirmedResult],
    folder: Path,
) -> None:
    """Profile the published baseline and the best build of each tolerance class: ``winners``.

    Profilers slow runs down, so profiles follow all measurements and are not part of records.
    If a build cannot be profiled, the job's log says why. ``folder`` is private, for kernels' code.

    Raises:
        LeaseLost, Cancelled: see :class:`~workers.jobs.lease.Lease`.
    """
    for number, confirmed in enumerate(winners):
        name = confirmed.trial.candidate.backend
        lease.progress("profile", number, len(winners), name)
        code = folder / f"profile-{number}"
        code.mkdir()
        try:
            profile = device.profile(name, confirmed.build, tests.timing, code)
            _store(ticket, confirmed, profile, code)
        except Conflict as error:
            raise LeaseLost(str(error)) from error
        except (CandidateFailed, RegistryError, OSError) as error:
            message = f"No profile of {name}: {error}"[:_MAX_NOTE]
            job_note(job_uuid=ticket.job_uuid, fence=ticket.fence, message=message)


def _store(ticket: JobTicket, confirmed: ConfirmedResult, profile: Profile, code: Path) -> None:
    document: dict[str, Any] = profile_to_dict(profile)
    for kernel in document["kernels"]:
        kernel["code"] = {
            kind: blob_adopt(path=code / path).sha256 for kind, path in kernel["code"].items()
        }
    profile_store(
        job_uuid=ticket.job_uuid,
        fence=ticket.fence,
        config_sha256=confirmed.trial.candidate.sha256,
        profile=document,
    )
