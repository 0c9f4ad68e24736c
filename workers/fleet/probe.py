"""What this machine is: the target it belongs to and the device it appears as."""

import os
import socket
from dataclasses import dataclass

from hpcfair import machine
from workers.engine.types import TargetSpec


@dataclass(frozen=True, slots=True)
class ThisMachine:
    """This machine as the hub knows it.

    Attributes:
        device: Name of the device: ``HPCFAIR_DEVICE``, else the host's name.
        spec: The target with this machine's facts.
        title: The target's name for people.
        rank: Orders targets that a machine can use; higher is closer.
    """

    device: str
    spec: TargetSpec
    title: str
    rank: int


def this_machine(asked: str | None = None) -> ThisMachine:
    """Describe this machine now: cores and limits may have changed since the last call.

    Args:
        asked: The target it shall work for, by default ``HPCFAIR_TARGET``, else its processor's.
            One machine works for several targets by several workers: ``nvidia-h200`` or ``gpu`` for
            the GPU in it.

    Raises:
        ValueError: this machine has no such target; names those it has.
    """
    described = machine.describe()
    target = _target(described, asked or os.environ.get("HPCFAIR_TARGET") or "processor")
    return ThisMachine(
        device=os.environ.get("HPCFAIR_DEVICE") or socket.gethostname(),
        spec=TargetSpec(
            slug=target.slug,
            architecture=described.architecture,
            features=frozenset(target.features),
            cores=described.cores,
            memory_bytes=described.memory_bytes,
            facts=described.to_dict(),
        ),
        title=target.title,
        rank=target.rank,
    )


def _target(described: machine.Machine, asked: str) -> machine.Target:
    targets = machine.targets_of(described)
    if asked == "processor":
        return targets[0]
    for target in targets:
        if asked == target.slug or (asked == "gpu" and "cuda" in target.features):
            return target
    slugs = ", ".join(target.slug for target in targets)
    raise ValueError(f"This machine is no {asked!r}; it can work for {slugs}.")
