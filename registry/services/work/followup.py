"""Queues the jobs that follow a successful one, for workers, agents and bundles alike."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from django.conf import settings

from registry.errors import Invalid
from registry.ids import parse_uuid
from registry.selectors.results.graph import graph_of
from registry.services.analysis.ablation import plan_ablations
from registry.services.analysis.crossapplication import plan_cross_applications
from registry.services.fair.assessment import assess_after, assess_again
from registry.services.results.passes import plan_pass_study
from registry.services.results.reproduction import plan_after_search
from registry.services.results.schedule import plan_schedules
from registry.services.work.attempt import job_succeed
from registry.services.work.plan import REINSPECTION_PRIORITY, plan, plan_repetition
from registry.states import JobKind
from registry.tables import Job


def job_complete(*, job_uuid: str, fence: int, result: dict[str, Any]) -> None:
    """End a job as succeeded, then queue the jobs that follow it.

    Idempotent: a repeated call queues the jobs that an interrupted one did not. Raises ``Conflict``
    ``lease_lost``; ``Invalid`` ``invalid_request`` if the result is not storable JSON.
    """
    job_succeed(job_uuid=job_uuid, fence=fence, result=result)
    follow_up(Job.objects.get(uuid=parse_uuid(job_uuid)))


def follow_up(job: Job) -> None:
    """Queue the jobs that follow a successful one, except those that are queued already. None
    follows the renewal of an old inspection."""
    if job.kind == JobKind.INSPECT and job.priority == REINSPECTION_PRIORITY:
        return
    for follow in _FOLLOWING.get(JobKind(job.kind), ()):
        follow(job)


def _searches(job: Job) -> None:
    """Queue searches of a network that was inspected."""
    # Without any device there are none; they are queued when the first device joins.
    with suppress(Invalid):
        plan(actor=None, revision=job.revision)


def _repetition(job: Job) -> None:
    if job.result.get("inconclusive"):
        plan_repetition(job_uuid=str(job.uuid))


def _reproduction(job: Job) -> None:
    plan_after_search(job_uuid=str(job.uuid))


def _schedules(job: Job) -> None:
    if settings.SCHEDULE_S and _is_onnx(job):
        plan_schedules(job_uuid=str(job.uuid))


def _analyses(job: Job) -> None:
    """Queue experiments with the schedules that a job found."""
    if settings.ABLATION_S:
        plan_ablations(job_uuid=str(job.uuid))
        plan_cross_applications(job_uuid=str(job.uuid))


def _passes(job: Job) -> None:
    if settings.PASSES_S and _is_onnx(job):
        plan_pass_study(job_uuid=str(job.uuid))


def _assessment(job: Job) -> None:
    assess_after(job_uuid=str(job.uuid))


def _next_assessment(job: Job) -> None:
    assess_again(job_uuid=str(job.uuid))


def _is_onnx(job: Job) -> bool:
    graph = graph_of(job.revision)
    return graph is not None and graph.facts.get("format", "onnx") == "onnx"


_FOLLOWING: dict[JobKind, tuple[Callable[[Job], None], ...]] = {
    JobKind.INSPECT: (_searches, _assessment),
    JobKind.TABLES: (_assessment,),
    JobKind.TUNE: (_repetition, _reproduction, _schedules, _passes, _assessment),
    JobKind.SCHEDULE: (_analyses,),
    JobKind.REPRODUCE: (_assessment,),
    JobKind.DOI: (_assessment,),
    JobKind.ASSESS: (_next_assessment,),
}
