"""Searches and ablations at the hub in which one trait decides the speed."""

import random

from registry.services.analysis.ablation import ablation_add, ablation_submit
from registry.services.work.attempt import job_succeed
from registry.services.work.job import job_submit
from registry.states import JobKind
from registry.tables import ScheduleTrial
from tests.registry import shopfloor
from tests.registry.analysis import workloads
from tests.registry.analysis.schedules import SKETCH, decisions, drawn
from tests.registry.analysis.workloads import ablation, claim


def search(
    number: int, *, name: str = "", private: bool = False, helps: bool = True, trials: int = 160
) -> ScheduleTrial:
    """A search in which the unrolling helps or hurts, and an ablation that shows it."""
    rng = random.Random(number)  # noqa: S311
    revision = shopfloor.make_revision(name or f"alice/net{number}", private=private)
    shopfloor.make_graph(revision)
    target, _ = shopfloor.make_machine()
    job_submit(actor=None, kind=JobKind.SCHEDULE, revision=revision, target=target)
    ticket = claim(JobKind.SCHEDULE, device="floor-1")
    key = f"{number:064x}"
    workloads.add_task(ticket, key=key, name=f"conv{number}")
    first = workloads.add_trial(
        ticket, 0, decisions=decisions(unroll=3 if helps else 0), seconds=[0.0002], key=key,
        sketch=SKETCH,
    )  # fmt: skip
    rows = []
    for count in range(1, trials):
        decided = drawn(rng)
        fast = (decided[1][1] >= 2) == helps
        seconds = (0.0005 if fast else 0.001) * rng.lognormvariate(0, 0.2)
        rows.append(
            ScheduleTrial(
                task=first.task, job=first.job, number=count, sketch=first.sketch,
                decisions=decided, digest=workloads.digest_of(decided, SKETCH),
                proposed_by="random", outcome="measured", seconds=[seconds], median_s=seconds,
                duration_s=0.1,
            )
        )  # fmt: skip
    ScheduleTrial.objects.bulk_create(rows)
    best = workloads.confirm(ticket, first, 0.0002, key=key)
    job_succeed(job_uuid=ticket.job_uuid, fence=ticket.fence, result={"summary": "done"})
    ablation_submit(actor=None, task=best.task)
    measuring = claim(JobKind.ABLATE, device="floor-1")
    row = ablation(best, position=1, alternative=0 if helps else 3)
    ablation_add(job_uuid=measuring.job_uuid, fence=measuring.fence, ablation=row)
    job_succeed(job_uuid=measuring.job_uuid, fence=measuring.fence, result={"summary": "done"})
    return best
