"""Opens a network without optimisations, in confined child processes."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from hpcfair.isolation.limits import Limits
from workers.backends.registry import available, reference_for
from workers.device.errors import JobFailure
from workers.engine.errors import BackendUnavailable, CandidateFailed
from workers.engine.local import LocalDevice
from workers.engine.ports import Backend, RunningSession
from workers.engine.requests import TuningRequest
from workers.engine.types import Network, Options, TargetSpec
from workers.fleet.probe import this_machine

_MAX_DETAIL = 2000
#: Causes of failures that say nothing about a network but its size.
_OF_SIZE = frozenset({"memory", "cpu-time", "file-size", "disk", "files", "processes"})


@dataclass(frozen=True, slots=True)
class OpenReference:
    """A network that is open without optimisations, on a device."""

    network: Network
    device: LocalDevice
    session: RunningSession


@contextmanager
def open_reference(
    network: Network,
    format: str,  # noqa: A002  as in the API
    scratch: Path,
    limits: Limits,
) -> Iterator[OpenReference]:
    """The network, open without optimisations on a processor, whatever target this worker serves.

    Args:
        format: Of the network's file.
        scratch: A folder to be created.
        limits: Of opening the network, and of each run.

    Raises:
        BackendUnavailable: the runtime is not installed here.
        CandidateFailed: the network does not open within the limits.
        JobFailure: ``network_fails``: nor do the runtime's defaults open it, on any machine.
    """
    target = this_machine("processor").spec
    name = reference_for(target, format)
    backends, missing = available(target, [name])
    if name not in backends:
        raise BackendUnavailable(missing[name])
    scratch.mkdir()
    search = TuningRequest(network, target, (name,), limits=limits)
    with LocalDevice(search, backends, scratch) as device:
        backend = backends[name]
        unoptimised = backend.reference(network, target)
        with closing(_opened(device, backend, unoptimised, network, target)) as session:
            yield OpenReference(network, device, session)


def _opened(
    device: LocalDevice, backend: Backend, options: Options, network: Network, target: TargetSpec
) -> RunningSession:
    """The network as ``options`` open it. Raises CandidateFailed; JobFailure ``network_fails`` if
    the runtime's defaults do not open it either."""
    try:
        return _open(device, backend, options)
    except CandidateFailed as error:
        if not _is_of_network(error):
            raise
        fault = error
    try:
        _open(device, backend, backend.default(network, target)).close()
    except CandidateFailed as error:
        if _is_of_network(error):
            detail = f"{network.model_path.name} does not open in {backend.name}: {error}"
            raise JobFailure("invalid", "network_fails", detail[:_MAX_DETAIL]) from error
    raise fault


def _open(device: LocalDevice, backend: Backend, options: Options) -> RunningSession:
    build = device.build(backend.name, options)
    if build.outcome != "measured":
        raise CandidateFailed(build.outcome, build.detail)
    return device.open(backend.name, build, "reference", {})


def _is_of_network(error: CandidateFailed) -> bool:
    """Whether a child failed by the network itself, not by its size or by the machine."""
    return error.outcome in {"invalid", "crash"} and error.cause not in _OF_SIZE
