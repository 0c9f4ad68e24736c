"""Description of this machine as a device of a target."""

import os
import socket
from dataclasses import dataclass

from hpcfair import machine
from workers.engine.types import TargetSpec


@dataclass(frozen=True, slots=True)
class ThisMachine:
    """This machine as a device of the hub.

    Attributes:
        device: Name of the device: ``HPCFAIR_DEVICE``, which workers set, else the host's name.
        spec: The target with this machine's facts.
        rank: Rank of the target; of the targets that a machine fits, the highest is the closest.
    """

    device: str
    spec: TargetSpec
    title: str
    rank: int


def this_machine(slug: str | None = None) -> ThisMachine:
    """Describe this machine now; cores and limits may change between calls.

    Args:
        slug: Target to work for: its name, ``gpu`` or ``processor``; default: ``HPCFAIR_TARGET``,
            or else ``processor``. Several workers may serve several targets of one machine.

    Raises:
        ValueError: this machine does not fit the target; the text names those that it fits.
    """
    described = machine.describe()
    target = _target(described, slug or os.environ.get("HPCFAIR_TARGET") or "processor")
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


def _target(described: machine.Machine, slug: str) -> machine.TargetDefinition:
    targets = machine.targets_of(described)
    if slug == "processor":
        return targets[0]
    for target in targets:
        if slug == target.slug or (slug == "gpu" and "cuda" in target.features):
            return target
    slugs = ", ".join(target.slug for target in targets)
    raise ValueError(f"This machine does not fit target {slug!r}; it fits {slugs}.")
