"""Workloads with searched schedules, for tests of what is learned from them."""

from typing import Any

from hpcfair.tickets import JobTicket
from registry import schemas
from registry.services.results.schedule import (
    schedule_confirm,
    schedule_task_add,
    schedule_trial_add,
)
from registry.services.work.attempt import job_succeed
from registry.services.work.job import job_submit
from registry.states import JobKind
from registry.tables import Graph, Job, Revision, ScheduleTask, ScheduleTrial, Target
from tests.registry import shopfloor

TOOLCHAIN = "apache-tvm 0.27.0.post1"
KEY = "1" * 64
#: A tile of 64 iterations in four loops, and the unrolling.
SKETCH: list[Any] = [
    ["GetSBlock", [], ["conv2d_nhwc", "main"], ["b0"]],
    ["GetLoops", ["b0"], [], ["l1"]],
    ["SamplePerfectTile", ["l1"], [4, 64], ["v1", "v2", "v3", "v4"]],
    ["SampleCategorical", [], [[0, 16, 64, 512], [0.25] * 4], ["v5"]],
]
BEST = [[2, [1, 2, 2, 16]], [3, 2]]


def digest_of(decisions: Any, sketch: Any = None) -> str:
    return schemas.sha256_of({"sketch": sketch or SKETCH, "decisions": decisions})


def searched(
    name: str = "alice/squeezenet",
    *,
    private: bool = False,
    graph_hash: str = "a" * 64,
    key: str = KEY,
    target: str = shopfloor.SLUG,
    seconds: float = 0.001,
    decisions: Any = None,
    **columns: Any,
) -> ScheduleTrial:
    """A model whose search for schedules has ended; returns the best schedule of its workload."""
    revision = Revision.objects.filter(
        mlmodel__name=name.partition("/")[2], mlmodel__namespace__name=name.partition("/")[0]
    ).first()
    if revision is None:
        revision = shopfloor.make_revision(name, private=private)
        shopfloor.make_graph(revision)
        Graph.objects.filter(revision=revision).update(graph_hash=graph_hash)
    device = f"on-{target}"
    row, _ = shopfloor.make_machine(target, name=device)
    job_submit(actor=None, kind=JobKind.SCHEDULE, revision=revision, target=row)
    ticket = claim(JobKind.SCHEDULE, device=device, target=target)
    add_task(ticket, key=key, **columns)
    trial = add_trial(ticket, 0, key=key, decisions=decisions or BEST, seconds=[seconds] * 5)
    row_of = confirm(ticket, trial, seconds, key=key)
    job_succeed(job_uuid=ticket.job_uuid, fence=ticket.fence, result={"summary": "done"})
    return row_of


def claim(
    kind: JobKind, *, device: str = f"on-{shopfloor.SLUG}", target: str = shopfloor.SLUG
) -> JobTicket:
    ticket = shopfloor.job_claim(device_name=device, kinds=[kind], target=target)
    assert ticket is not None
    return ticket


def add_task(ticket: JobTicket, *, key: str = KEY, calls: int = 3, **columns: Any) -> ScheduleTask:
    task = {
        "key": key,
        "toolchain": TOOLCHAIN,
        "name": "conv2d1",
        "anchor": "conv2d_nhwc",
        "arguments": [{"dtype": "float32", "shape": [1, 56, 56, 64]}],
        "flops": 2.3e8,
        "features": [19.2, 12.2],
    }
    return schedule_task_add(
        job_uuid=ticket.job_uuid,
        fence=ticket.fence,
        task=task | columns,
        source=b"loops of " + key.encode(),
        calls=calls,
    )


def add_trial(
    ticket: JobTicket,
    number: int,
    *,
    decisions: Any,
    seconds: list[float],
    key: str = KEY,
    sketch: Any = None,
    proposed_by: str = "random",
) -> ScheduleTrial:
    trial = {
        "key": key,
        "toolchain": TOOLCHAIN,
        "number": number,
        "sketch": sketch or SKETCH,
        "decisions": decisions,
        "digest": digest_of(decisions, sketch),
        "proposed_by": proposed_by,
        "outcome": "measured",
        "seconds": seconds,
        "duration_s": 0.3,
    }
    return schedule_trial_add(job_uuid=ticket.job_uuid, fence=ticket.fence, trial=trial)


def confirm(
    ticket: JobTicket, trial: ScheduleTrial, seconds: float, *, key: str = KEY
) -> ScheduleTrial:
    return schedule_confirm(
        job_uuid=ticket.job_uuid,
        fence=ticket.fence,
        key=key,
        toolchain=TOOLCHAIN,
        digest=trial.digest,
        seconds=[seconds] * 5,
        trace=[trial.sketch.instructions, trial.decisions],
    )


def comparison(best: ScheduleTrial, ratio: float = 1.8, **columns: Any) -> dict[str, Any]:
    """A measured comparison with the best schedule, as ``ablation_add`` takes it."""
    verdict = "slower" if ratio > 1.02 else "faster" if ratio < 0.98 else "same"
    return {
        "key": best.task.key,
        "toolchain": best.task.toolchain,
        "digest": best.digest,
        "outcome": "measured",
        "failure_detail": "",
        "seconds": [0.001 * ratio] * 12,
        "best_seconds": [0.001] * 12,
        "ratio": ratio,
        "ratio_low": ratio * 0.98,
        "ratio_high": ratio * 1.02,
        "verdict": verdict,
        "duration_s": 0.5,
        **columns,
    }


def ablation(
    best: ScheduleTrial, number: int = 0, *, position: int = 1, alternative: Any = 0,
    ratio: float = 1.8, **columns: Any,
) -> dict[str, Any]:  # fmt: skip
    """A reverted decision, as ``ablation_add`` takes it; position -1 is the control."""
    decisions = [list(decision) for decision in best.decisions]
    if position >= 0:
        decisions[position][1] = alternative
    return comparison(best, ratio) | {
        "number": number,
        "position": position,
        "alternative": alternative if position >= 0 else None,
        "reason": "0, the plain loop" if position >= 0 else "the same schedule, built twice",
        "variant": digest_of(decisions, best.sketch.instructions),
        **columns,
    }


def targets() -> list[str]:
    return list(Target.objects.order_by("slug").values_list("slug", flat=True))


def jobs(kind: JobKind) -> list[Job]:
    return list(Job.objects.filter(kind=kind).order_by("id"))
