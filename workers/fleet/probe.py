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


def this_machine() -> ThisMachine:
    """Describe this machine now: cores and limits may have changed since the last call."""
    described = machine.describe()
    target = machine.target_of(described)
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
