"""Progress reports of jobs that may run in the background."""

from hpcfair.tickets import JobTicket
from workers.device.ports import Hub
from workers.engine.ports import PhaseTime, Progress

#: First level of background jobs; see ``registry.fairshare.LEVELS``.
_BACKGROUND = 2


def progress_of(hub: Hub) -> Progress:
    """Reports progress; a background job gives way to others after each step.

    A call raises LeaseLost and Cancelled as :meth:`~workers.device.ports.Hub.progress`, and
    LeaseLost if the job gave way.
    """
    if not _is_background(hub.ticket):
        return hub.progress

    def progress(
        phase: str, done: int, total: int | None, message: str, phase_time: PhaseTime | None = None
    ) -> None:
        hub.progress(phase, done, total, message, phase_time)
        hub.give_way()

    return progress


def _is_background(ticket: JobTicket) -> bool:
    return ticket.settings.get("level", _BACKGROUND) >= _BACKGROUND
