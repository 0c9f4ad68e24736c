"""Requirements of jobs as rows, which many jobs share."""

from typing import Any

from registry.matching import memory_step, step_up
from registry.selectors.results.graph import graph_of
from registry.selectors.work.matching import is_served, requirement_of_job
from registry.states import JobKind
from registry.tables import JobRequirement, Revision, Target


def requirement_row(
    kind: JobKind,
    revision: Revision,
    target: Target | None,
    parameters: dict[str, Any],
    seconds: float,
) -> JobRequirement | None:
    """The row with the requirement of a job; ``None`` for jobs of the hub.

    Backends that no device of the target lists are not required: the device that takes the job then
    reports how to install them.

    Args:
        seconds: Expected duration of the job.
    """
    if target is None:
        return None
    graph = graph_of(revision)
    needs = requirement_of_job(
        kind,
        parameters,
        weight_bytes=int(graph.facts.get("weight_bytes") or 0) if graph else 0,
        seconds=seconds,
    )
    memory_bytes, length_s = memory_step(needs.memory_bytes), step_up(needs.seconds)
    tools = sorted(needs.tools) if is_served(target, needs.tools) else []
    key = f"{memory_bytes} {length_s:.6g} {','.join(tools)}"[:300]
    row, _ = JobRequirement.objects.get_or_create(
        key=key, defaults={"tools": tools, "memory_bytes": memory_bytes, "seconds": length_s}
    )
    return row
