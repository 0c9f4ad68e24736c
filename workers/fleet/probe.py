"""Description of this machine as a device of a target."""

import os
import socket
from dataclasses import dataclass

from hpcfair import machine
from hpcfair.isolation.process import Interpreter
from workers.engine.types import TargetSpec
from workers.fleet import runner as runners


@dataclass(frozen=True, slots=True)
class ThisMachine:
    """This machine as a device of the hub.

    Attributes:
        device: Name of the device: ``HPCFAIR_DEVICE``, which workers set, else the host's name.
        spec: The target with this machine's facts.
        rank: Rank of the target; of the targets that a machine fits, the highest is the closest.
        runner: Python of the described machine, if it only runs builds that this one makes.
    """

    device: str
    spec: TargetSpec
    title: str
    rank: int
    runner: Interpreter | None = None

    @property
    def definition(self) -> machine.TargetDefinition:
        """The target without the facts of this machine."""
        features = tuple(sorted(self.spec.features))
        return machine.TargetDefinition(
            self.spec.slug, self.title, self.spec.architecture, self.rank, features
        )


def this_machine(slug: str | None = None) -> ThisMachine:
    """Describe this machine now; cores and limits may change between calls.

    Args:
        slug: Target to work for: its name, ``gpu`` or ``processor``; default: ``HPCFAIR_TARGET``,
            or else ``processor``. Several workers may serve several targets of one machine.

    Raises:
        ValueError: this machine does not fit the target; the text names those that it fits.
    """
    described = machine.describe()
    return _as_device(described, _chosen(described, slug), _name())


def served_machine(slug: str | None = None) -> ThisMachine:
    """The machine whose jobs this process does: this one, or its runner (``HPCFAIR_RUNNER``).

    Raises as :func:`this_machine`; ValueError for a malformed description of a runner,
    CandidateFailed if it does not answer.
    """
    interpreter = runners.runner_here()
    if interpreter is None:
        return this_machine(slug)
    described = runners.describe(interpreter)
    return _as_device(described, _chosen(described, slug), _name(), interpreter)


def machine_for(
    target: machine.TargetDefinition, device: str, runner: Interpreter | None = None
) -> ThisMachine:
    """Describe a machine now, as the device ``device`` of a target that the hub chose for it.

    Args:
        runner: Python of the machine, if it is not this one.
    """
    described = machine.describe() if runner is None else runners.describe(runner)
    return _as_device(described, target, device, runner)


def _name() -> str:
    return os.environ.get("HPCFAIR_DEVICE") or socket.gethostname()


def _chosen(described: machine.Machine, slug: str | None) -> machine.TargetDefinition:
    return _target(described, slug or os.environ.get("HPCFAIR_TARGET") or "processor")


def _as_device(
    described: machine.Machine,
    target: machine.TargetDefinition,
    device: str,
    runner: Interpreter | None = None,
) -> ThisMachine:
    return ThisMachine(
        device=device,
        spec=TargetSpec(
            slug=target.slug,
            architecture=target.architecture,
            features=frozenset(target.features),
            cores=described.cores,
            memory_bytes=described.memory_bytes,
            facts=described.to_dict(),
        ),
        title=target.title,
        rank=target.rank,
        runner=runner,
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
