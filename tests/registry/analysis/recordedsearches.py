"""Searches of operator workloads as rows: recorded ones, and planted ones."""

from base64 import b64decode
from collections.abc import Sequence
from datetime import timedelta
from statistics import median
from typing import Any

from django.utils import timezone

from registry.schemas import sha256_of
from registry.services.results.schedule import schedule_task_add
from registry.services.work.job import job_submit
from registry.states import JobKind
from registry.tables import Job, ScheduleSketch, ScheduleTask, ScheduleTrial
from tests.registry.shopfloor import Floor
from tests.registry.traces.recorded import Recorded, recorded

TOOLCHAIN = "apache-tvm 0.27.0.post1"
#: The instruction that tiles ``ff`` in every sketch of the recorded searches of a convolution: it
#: samples the fourth of the loops nn, yy, xx, ff, ry, rx, rc.
TILE_OF_FF = 13


def add_workload(floor: Floor, search: Recorded, *, key: str = "", calls: int = 2) -> ScheduleTask:
    """The workload of a recorded search, as a schedule job of ``floor`` stores it."""
    job_submit(actor=None, kind=JobKind.SCHEDULE, revision=floor.revision, target=floor.target)
    ticket = floor.claim(JobKind.SCHEDULE)
    names = ("name", "anchor", "arguments", "flops", "features", "structural_hash", "blocks")
    task = {
        **{name: search.task[name] for name in names},
        "key": key or search.task["key"],
        "toolchain": TOOLCHAIN,
        "compiler_target": search.target,
    }
    source = b64decode(search.task["source"])
    return schedule_task_add(
        job_uuid=ticket.job_uuid, fence=ticket.fence, task=task, source=source, calls=calls
    )


def add_search(floor: Floor, name: str, *, key: str = "", most: int | None = None) -> ScheduleTask:
    """A recorded search with its trials, and its best schedule confirmed."""
    search = recorded(name)
    task = add_workload(floor, search, key=key)
    rows = add_trials(task, search.sketches, search.trials[:most], Job.objects.latest("pk"))
    if search.winner and most is None:
        best = min((row for row in rows if row.median_s), key=lambda row: row.median_s or 0.0)
        best.confirmed = list(search.winner["seconds"])
        best.confirmed_s = median(best.confirmed)
        best.confirmed_at = timezone.now()
        best.trace = search.winner["trace"]
        best.save()
    return task


def add_trials(
    task: ScheduleTask, sketches: Sequence[Any], trials: Sequence[dict[str, Any]], job: Job | None
) -> list[ScheduleTrial]:
    """Trials of a workload, each with the number of its sketch."""
    rows = {
        number: ScheduleSketch.objects.get_or_create(
            digest=sha256_of(sketch), defaults={"instructions": sketch}
        )[0]
        for number, sketch in enumerate(sketches)
    }
    start = task.trials.count()
    made = [
        ScheduleTrial(
            task=task,
            job=job,
            number=start + at,
            sketch=rows[trial["sketch"]],
            decisions=trial["decisions"],
            digest=sha256_of([trial["sketch"], trial["decisions"], start + at]),
            proposed_by=trial["proposed_by"],
            predicted=trial["predicted"],
            outcome=trial["outcome"],
            failure_detail=trial["failure_detail"],
            seconds=trial["seconds"],
            median_s=median(trial["seconds"]) if trial["seconds"] else None,
            duration_s=trial["duration_s"],
        )
        for at, trial in enumerate(trials)
    ]
    ScheduleTrial.objects.bulk_create(made)
    # Bulk rows share a time; searches do not.
    for at, row in enumerate(made):
        row.created_at = timezone.now() + timedelta(seconds=at)
    ScheduleTrial.objects.bulk_update(made, ["created_at"], batch_size=200)
    return made


def tile_of_ff(trial: dict[str, Any]) -> list[int]:
    """The extents of the loops into which a schedule divides ``ff``, outermost first."""
    (tile,) = (value for at, value in trial["decisions"] if at == TILE_OF_FF)
    extents: list[int] = tile
    return extents


def planted(count: int = 400, *, width: int = 16, seed: int = 0) -> list[dict[str, Any]]:
    """Trials of the recorded random schedules with planted times: an innermost width of ``ff`` of
    ``width`` is three times as fast, nothing else matters."""
    search = recorded("conv-random")
    trials = []
    for at in range(count):
        trial = search.trials[at % len(search.trials)]
        # Deterministic noise of 20 %.
        noise = 1 + 0.2 * ((at * 7919 + seed) % 101) / 101
        middle = 1e-3 * noise * (1 / 3 if tile_of_ff(trial)[-1] == width else 1.0)
        seconds = [round(middle * (1 + 0.01 * step), 9) for step in (-2, -1, 0, 1, 2)]
        trials.append(
            {**trial, "outcome": "measured", "failure_detail": "", "seconds": seconds,
             "proposed_by": "random", "predicted": round(-middle * 1e3 * (1 + 0.3 * (at % 3)), 6)}
        )  # fmt: skip
    return trials
