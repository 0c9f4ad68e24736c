"""Conversion of data between the worker and the children that search and run schedules."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from hpcfair.isolation.limits import Limits
from workers.engine.child import call
from workers.engine.errors import CandidateFailed
from workers.engine.normalform import read_paths
from workers.engine.schedules.types import ScheduleCandidate, ScheduleTask
from workers.engine.types import Network, TargetSpec

#: Package of the modules that run in children.
PACKAGE = "workers.backends.tvm.tuning"
#: Longest valid time in seconds; MetaSchedule writes 1e10 for failures.
_LONGEST_S = 1e6


def tasks_of(
    network: Network, target: TargetSpec, *, limits: Limits, scratch: Path, passes: str = ""
) -> list[ScheduleTask]:
    """Extract the workloads of a network in a child, in the empty folder ``scratch``.

    ``passes`` is the pipeline that determines the loop nests; by default that of candidates with
    schedules. Raises CandidateFailed if TVM does not support the network.
    """
    tasks = call(
        f"{PACKAGE}.extract:tasks",
        limits=limits,
        workspace=scratch,
        readable=read_paths(network),
        network=network,
        target=target,
        passes=passes,
    )
    try:
        return [task_from(task) for task in tasks]
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise CandidateFailed("crash", f"invalid workloads: {error}") from error


def task_from(fields: Mapping[str, Any]) -> ScheduleTask:
    """A workload from the fields of :func:`workers.backends.tvm.tuning.extract.describe`."""
    return ScheduleTask(
        key=str(fields["key"]),
        name=str(fields["name"]),
        anchor=str(fields["anchor"]),
        arguments=tuple(fields["arguments"]),
        flops=float(fields["flops"]),
        calls=int(fields["calls"]),
        features=tuple(map(float, fields["features"])),
        source=fields["source"].tobytes(),
        structural_hash=str(fields["structural_hash"]),
        blocks=tuple(fields["blocks"]),
        target=dict(fields["target"]),
    )


def source_of(task: ScheduleTask) -> Any:
    """A workload's source as an array, for a child."""
    return np.frombuffer(task.source, np.uint8)


def candidates_of(task: ScheduleTask, answer: Any) -> list[ScheduleCandidate]:
    """Candidates from the answer of a child; raises CandidateFailed if the answer is invalid."""
    try:
        return [
            ScheduleCandidate(
                task.key, c["sketch"], c["decisions"], str(c["proposed_by"]), c["predicted"]
            )
            for c in answer
        ]
    except (KeyError, TypeError) as error:
        raise CandidateFailed("crash", f"invalid candidates: {error}") from error


def seconds_of(answer: Any) -> tuple[float, ...]:
    """Times from a child, which runs untrusted code; raises CandidateFailed for an invalid
    answer."""
    try:
        seconds = tuple(map(float, answer))
    except (TypeError, ValueError) as error:
        raise CandidateFailed("crash", f"invalid times: {error}", "protocol") from error
    if not seconds or not all(0 < second < _LONGEST_S for second in seconds):
        raise CandidateFailed("crash", "times out of range", "protocol")
    return seconds
