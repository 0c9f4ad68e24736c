"""The machine and the runtimes that a build is chosen for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from hpcfair import machine
from hpcfair.errors import BadInput, MissingPackage
from hpcfair.formats import ONNX_RUNTIME
from hpcfair.runtimes import registry


@dataclass(frozen=True, slots=True)
class Host:
    """A machine, and the versions of its runtimes by name."""

    machine: machine.Machine
    runtimes: Mapping[str, str]

    @classmethod
    def here(cls) -> "Host":
        """This machine."""
        return cls(machine.describe(), registry.installed())


def common_host(hosts: Sequence[Host]) -> Host:
    """What all hosts have: a build for it runs on each.

    Raises BadInput: their architectures differ, so that no build does.
    """
    architectures = sorted({host.machine.architecture for host in hosts})
    if len(architectures) > 1:
        raise BadInput(
            f"The ranks run on {' and '.join(architectures)}, for which no build is the same.",
            "Load with one communicator for each.",
        )
    features = set.intersection(*(set(host.machine.features) for host in hosts))
    names = set.intersection(*(set(host.runtimes) for host in hosts))
    first = hosts[0]
    return Host(
        replace(first.machine, features=tuple(sorted(features))),
        {name: version for name, version in first.runtimes.items() if name in names},
    )


def require_runtime(host: Host | None = None) -> None:
    """Raise MissingPackage if nothing can be opened there; by default, on this machine."""
    if not (host or Host.here()).runtimes:
        raise MissingPackage(
            "No runtime is installed.", registry.RUNTIMES[ONNX_RUNTIME.runtime].hint
        )
