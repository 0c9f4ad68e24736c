"""Reads and writes of a device for the job that it has claimed, as plain JSON.

The hub's own workers, agents over HTTP and imported bundles all use these services. A write is
validated by its JSON Schema (:mod:`registry.schemas.operations`) before a service sees it, names
the fence of its claim, and may have a number. A numbered write takes effect once; a repeated one
gets the first reply again.
"""

import base64
import binascii
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, is_dataclass
from datetime import datetime
from typing import Any

from django.db import transaction

from registry.errors import Invalid
from registry.ids import parse_uuid
from registry.schemas.operations import READS, WRITES, problems
from registry.selectors.analysis import ablation, crossapplication
from registry.selectors.analysis.principle import principles_for_search
from registry.selectors.analysis.roof import roof_tools
from registry.selectors.analysis.workloadjob import workload_of_job
from registry.selectors.results import passes, reproduction, schedule, testtensor, trial
from registry.selectors.results.build import has_confirmed_builds
from registry.selectors.results.inconclusive import inconclusive_candidates
from registry.selectors.work.queue import is_search_due
from registry.selectors.work.run import run_of_job
from registry.services.analysis.ablation import ablation_add
from registry.services.analysis.crossapplication import cross_application_add
from registry.services.analysis.roof import roofs_store
from registry.services.results.build import builds_add, builds_publish
from registry.services.results.passes import pass_trial_add, portfolio_store
from registry.services.results.profile import profile_store
from registry.services.results.record import record_add
from registry.services.results.reproduction import reproduction_add
from registry.services.results.schedule import (
    schedule_confirm,
    schedule_task_add,
    schedule_trial_add,
)
from registry.services.results.testtensor import tests_store
from registry.services.results.trial import trial_add
from registry.services.work.attempt import candidate_begin, job_note, job_progress, job_yield
from registry.services.work.evidence import check_evidence
from registry.services.work.jobwrite import write_once
from registry.services.work.lease import lease_lost, target_of
from registry.services.work.plan import plan_follow_up
from registry.services.work.run import run_store
from registry.states import JobState
from registry.tables import Build, Device, Job

#: Idempotent writes, whose numbers are not stored.
UNNUMBERED = frozenset({"progress", "candidate_begin"})


def job_read(*, job_uuid: str, fence: int, name: str, parameters: Mapping[str, Any]) -> Any:
    """The value of a read, as JSON: dates in ISO 8601, bytes in Base64.

    Target, revision and device are those of the job. Raises ``Conflict`` ``lease_lost``;
    ``Invalid`` ``invalid_request`` for an unknown read, or parameters that its schema refuses.
    """
    values = _validate(READS, name, parameters)
    job = (
        Job.objects.select_related("target", "revision")
        .filter(uuid=parse_uuid(job_uuid), state=JobState.LEASED, fence=fence)
        .first()
    )
    if job is None:
        raise lease_lost(job_uuid, fence)
    return plain(_READ[name](job, **values))


def job_write(
    *,
    job_uuid: str,
    fence: int,
    name: str,
    columns: Mapping[str, Any],
    number: int | None = None,
    device: Device | None = None,
) -> Any:
    """Perform a write under the fence of a claim; returns its reply, as JSON.

    Args:
        columns: Arguments of the service of that name, without job and fence.
        number: Number of the write within the claim. A repeated number changes nothing and gets
            the first reply, even after the claim has ended. ``None`` for callers that never
            repeat a write.
        device: The sending device, whose results must be plausible and may name only its blobs;
            ``None`` for the hub's own workers.

    Raises:
        Conflict: ``lease_lost``; ``write_differs``: the number was used for another write.
        Invalid: ``invalid_request`` for an unknown write, or columns that its schema refuses;
            ``impossible_result``; the errors of the service. Nothing is written.
    """
    values = _validate(WRITES, name, columns)
    if number is None or name in UNNUMBERED:
        with transaction.atomic():
            return _perform(job_uuid, fence, name, values, device)
    return write_once(
        job_uuid=job_uuid,
        fence=fence,
        number=number,
        content=[name, values],
        perform=lambda: _perform(job_uuid, fence, name, values, device),
    )


def plain(value: Any) -> Any:
    """``value`` as JSON: tuples as lists, dates in ISO 8601, bytes in Base64, data classes as
    objects. Raises ``Invalid`` ``invalid_request`` for numbers that are not finite."""
    try:
        return json.loads(json.dumps(value, default=_json, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise Invalid("invalid_request", f"The value is not JSON: {error}.") from error


def _json(value: Any) -> Any:
    match value:
        case datetime():
            return value.isoformat()
        case bytes():
            return base64.b64encode(value).decode()
        case _ if is_dataclass(value) and not isinstance(value, type):
            return asdict(value)
    raise TypeError(f"{type(value).__name__} cannot be represented in JSON")


def _validate(schemas: Mapping[str, Any], name: str, values: Mapping[str, Any]) -> dict[str, Any]:
    if name not in schemas:
        raise Invalid(
            "invalid_request",
            f"There is no operation {name[:64]!r}.",
            f"Use one of {', '.join(schemas)}.",
        )
    document: dict[str, Any] = plain(dict(values))
    if faults := problems(name, document):
        raise Invalid("invalid_request", f"The columns of {name} are invalid.", fields=faults)
    return document


def _perform(
    job_uuid: str, fence: int, name: str, columns: dict[str, Any], device: Device | None
) -> Any:
    if device is not None:
        check_evidence(job_uuid=job_uuid, fence=fence, name=name, columns=columns)
    result = _WRITE[name](job_uuid=job_uuid, fence=fence, **columns)
    return plain(_REPLY[name](result)) if name in _REPLY else {}


def _slug(job: Job) -> str:
    return target_of(job).slug


def _task_add(*, source: str, **columns: Any) -> None:
    try:
        data = base64.b64decode(source, validate=True)
    except binascii.Error:
        fields = {"source": "is not Base64"}
        raise Invalid("invalid_request", "The source is not Base64.", fields=fields) from None
    schedule_task_add(source=data, **columns)


def _builds(rows: list[Build]) -> dict[str, list[str]]:
    return {"builds": [str(row.uuid) for row in rows]}


_READ: dict[str, Callable[..., Any]] = {
    "trials_of_job": lambda job: trial.trials_of_job(str(job.uuid)),
    "history": lambda job, search_key: trial.history(search_key, job),
    "experience": lambda job, search_key: trial.experience(search_key, job),
    "inconclusive_candidates": lambda job: inconclusive_candidates(str(job.uuid)),
    "has_confirmed_builds": lambda job: has_confirmed_builds(str(job.uuid)),
    "schedules_best": lambda job, **which: schedule.schedules_best(_slug(job), **which),
    "schedules_similar": lambda job, **which: schedule.schedules_similar(_slug(job), **which),
    "schedule_trials": lambda job, **which: schedule.schedule_trials(_slug(job), **which),
    "schedule_trials_of_job": lambda job: schedule.schedule_trials_of_job(str(job.uuid)),
    "principles": lambda _, anchors: principles_for_search(anchors),
    "workload_of_job": workload_of_job,
    "ablations_of_job": ablation.ablations_of_job,
    "foreign_schedules_of_job": crossapplication.foreign_schedules_of_job,
    "cross_applications_of_job": crossapplication.cross_applications_of_job,
    "class_trials": lambda job, **which: passes.class_trials(target=_slug(job), **which),
    "pass_trials_of_job": lambda job, backend: passes.pass_trials_of_job(str(job.uuid), backend),
    "portfolio_of": lambda job, **which: passes.portfolio_of(_slug(job), **which),
    "builds_of_job": lambda job: reproduction.builds_of_job(str(job.uuid)),
    "outcomes_of_job": lambda job: reproduction.outcomes_of_job(str(job.uuid)),
    "tests_of_job": lambda job: testtensor.tests_of_job(str(job.uuid)),
    "is_search_due": lambda job: is_search_due(str(job.uuid)),
    "run_of_job": lambda job: run_of_job(str(job.uuid)),
    "roof_tools": roof_tools,
}

_WRITE: dict[str, Callable[..., Any]] = {
    "progress": job_progress,
    "note": job_note,
    "yield": job_yield,
    "candidate_begin": candidate_begin,
    "trial_add": trial_add,
    "record_add": record_add,
    "builds_publish": builds_publish,
    "builds_add": builds_add,
    "profile_store": profile_store,
    "schedule_task_add": _task_add,
    "schedule_trial_add": schedule_trial_add,
    "schedule_confirm": schedule_confirm,
    "ablation_add": ablation_add,
    "cross_application_add": cross_application_add,
    "pass_trial_add": pass_trial_add,
    "portfolio_store": portfolio_store,
    "plan_follow_up": plan_follow_up,
    "reproduction_add": reproduction_add,
    "tests_store": tests_store,
    "run_store": run_store,
    "roofs_store": roofs_store,
}

#: Functions that turn the result of a service into the reply; other writes reply ``{}``.
_REPLY: dict[str, Callable[[Any], Any]] = {
    "record_add": lambda record: {"record_id": record.pk},
    "builds_publish": _builds,
    "builds_add": _builds,
    "tests_store": list,
}
