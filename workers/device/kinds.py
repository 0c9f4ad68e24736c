"""The kinds of jobs that a device does for its target."""

from typing import Any, Final, Protocol

from workers.device import ablate, cross, passes, reproduce, run, schedule, tune
from workers.device.ports import DeviceSettings, Hub
from workers.fleet.probe import ThisMachine


class Work(Protocol):
    """Does a job on this machine and returns its result, which has a ``summary``.
    :func:`workers.device.end.end_of` handles its exceptions."""

    def __call__(self, hub: Hub, settings: DeviceSettings, here: ThisMachine) -> dict[str, Any]: ...


#: Kind of a job to its work.
WORK: Final[dict[str, Work]] = {
    "tune": tune.work,
    "schedule": schedule.work,
    "ablate": ablate.work,
    "cross": cross.work,
    "passes": passes.work,
    "reproduce": reproduce.work,
    "run": run.work,
}
#: Kinds of jobs of a device whose builds run on a server; the others need programs of their own.
_OF_SERVERS = ("reproduce", "tune")


def kinds_of(settings: DeviceSettings) -> list[str]:
    """The kinds of jobs that a device does."""
    return sorted(WORK if settings.server is None else _OF_SERVERS)
