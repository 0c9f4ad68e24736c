"""What crosses between the worker and the children that search and run schedules."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from workers.engine.child import call
from workers.engine.errors import CandidateFailed
from workers.engine.requests import Limits
from workers.engine.schedules.types import ScheduleCandidate, ScheduleTask
from workers.engine.types import Network, TargetSpec

#: Package of what runs in the children.
ROOM = "workers.backends.tvm.tuning"
#: A time beyond this is no time: MetaSchedule itself writes 1e10 for a failure.
_LONGEST_S = 1e6


def tasks_of(
    network: Network, target: TargetSpec, *, limits: Limits, scratch: Path, passes: str = ""
) -> list[ScheduleTask]:
    """The workloads of a network, found in a child.

    Args:
        scratch: Empty folder for the child.
        passes: The pipeline that makes them; by default the one that candidates with schedules
            take.

    Raises:
        CandidateFailed: TVM cannot take the network.
    """
    found = call(
        f"{ROOM}.extract:tasks",
        limits=limits,
        workspace=scratch,
        readable=[network.model_path.parent],
        network=network,
        target=target,
        passes=passes,
    )
    try:
        return [task_from(described) for described in found]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise CandidateFailed("crash", f"workloads that make no sense: {error}") from error


def task_from(described: Mapping[str, Any]) -> ScheduleTask:
    """A workload as :func:`workers.backends.tvm.tuning.extract.described` tells it."""
    return ScheduleTask(
        key=str(described["key"]),
        name=str(described["name"]),
        anchor=str(described["anchor"]),
        arguments=tuple(described["arguments"]),
        flops=float(described["flops"]),
        calls=int(described["calls"]),
        features=tuple(map(float, described["features"])),
        source=described["source"].tobytes(),
    )


def packed(task: ScheduleTask) -> Any:
    """A workload's source as it crosses into a child."""
    return np.frombuffer(task.source, np.uint8)


def candidates_of(task: ScheduleTask, found: Any) -> list[ScheduleCandidate]:
    """Candidates as a child tells them; raises ``CandidateFailed`` for anything else."""
    try:
        return [
            ScheduleCandidate(
                task.key, c["sketch"], c["decisions"], str(c["proposed_by"]), c["predicted"]
            )
            for c in found
        ]
    except (KeyError, TypeError) as error:
        raise CandidateFailed("crash", f"candidates that make no sense: {error}") from error


def seconds_of(found: Any) -> tuple[float, ...]:
    """Times as a child tells them; it runs strangers' loops, so it may say anything.

    Raises:
        CandidateFailed: they cannot be.
    """
    try:
        seconds = tuple(map(float, found))
    except (TypeError, ValueError) as error:
        raise CandidateFailed("crash", f"times that make no sense: {error}", "protocol") from error
    if not seconds or not all(0 < second < _LONGEST_S for second in seconds):
        raise CandidateFailed("crash", "times that cannot be", "protocol")
    return seconds
