"""Profiles the best builds of a search, each run once more under its runtime's profiler."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from workers.device.errors import HubError
from workers.device.ports import Hub
from workers.engine.confirmation import ConfirmedResult
from workers.engine.errors import CandidateFailed
from workers.engine.ports import Device
from workers.engine.profile import Profile, profile_to_dict
from workers.engine.testset import TestSet

_MAX_NOTE = 500


def profile_winners(
    hub: Hub,
    device: Device,
    tests: TestSet,
    winners: Sequence[ConfirmedResult],
    folder: Path,
) -> None:
    """Profile published builds: ``winners``, see :func:`workers.device.best.profiled_results`.

    Profilers slow runs down, so profiles follow all measurements and are not part of records.
    If a build cannot be profiled, the job's log says why. ``folder`` is private, for kernels' code.

    Raises LeaseLost and Cancelled.
    """
    for number, confirmed in enumerate(winners):
        name = confirmed.trial.candidate.backend
        hub.progress("profile", number, len(winners), name)
        code = folder / f"profile-{number}"
        code.mkdir()
        try:
            profile = device.profile(name, confirmed.build, tests.timing, code)
            _store(hub, confirmed, profile, code)
        except (CandidateFailed, HubError, OSError) as error:
            message = f"No profile of {name}: {error}"[:_MAX_NOTE]
            hub.write("note", message=message)


def _store(hub: Hub, confirmed: ConfirmedResult, profile: Profile, code: Path) -> None:
    document: dict[str, Any] = profile_to_dict(profile)
    for kernel in document["kernels"]:
        kernel["code"] = {kind: hub.keep(code / path) for kind, path in kernel["code"].items()}
    hub.write("profile_store", config_sha256=confirmed.trial.candidate.sha256, profile=document)
