"""Where the time of the winning builds goes: they are run once more, under their profilers."""

from pathlib import Path
from typing import Any

from registry.errors import Conflict, RegistryError
from registry.services.results.profile import profile_store
from registry.services.storage.blob import blob_adopt
from registry.services.work.attempt import job_note
from registry.tickets import JobTicket
from workers.engine.errors import CandidateFailed, LeaseLost
from workers.engine.evaluation import ConfirmedResult
from workers.engine.ports import Device
from workers.engine.profile import Profile, profile_to_dict
from workers.engine.tune import SearchResult
from workers.jobs.best import best_results
from workers.jobs.lease import Lease

_LONGEST_NOTE = 500


def profile_winners(
    ticket: JobTicket, lease: Lease, device: Device, result: SearchResult, folder: Path
) -> None:
    """Profile the baseline and the best build of each tolerance class, once they are published.

    Profilers disturb, so this comes after every measurement and no record holds its figures. A
    build that cannot be profiled is a line in the job's log, and nothing worse.

    Args:
        folder: Existing and private; kernels' code passes through it.

    Raises:
        LeaseLost, Cancelled: as the lease says.
    """
    winners = best_results(result)
    for number, confirmed in enumerate(winners):
        name = confirmed.trial.candidate.backend
        lease.progress("profile", number, len(winners), name)
        code = folder / f"profile-{number}"
        code.mkdir()
        try:
            found = device.profile(name, confirmed.build, result.tests.timing, code)
            _store(ticket, confirmed, found, code)
        except Conflict as error:
            raise LeaseLost(str(error)) from error
        except (CandidateFailed, RegistryError, OSError) as error:
            message = f"No profile of {name}: {error}"[:_LONGEST_NOTE]
            job_note(job_uuid=ticket.job_uuid, fence=ticket.fence, message=message)


def _store(ticket: JobTicket, confirmed: ConfirmedResult, found: Profile, code: Path) -> None:
    document: dict[str, Any] = profile_to_dict(found)
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
