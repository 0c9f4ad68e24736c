"""A device that is too small for the agent, which runs beside it: TVM's RPC runs its builds.

Its operator describes the device in a file, which ``join`` copies into the state folder.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hpcfair.machine import TargetDefinition
from workers.agent.tunnel import Tunnel, TunnelFailed
from workers.device.ports import BuildServer, JobDevice
from workers.engine.errors import InfrastructureFailed
from workers.engine.ports import Backend
from workers.engine.requests import TuningRequest
from workers.engine.types import TargetSpec
from workers.fleet.probe import ThisMachine

_FILE = "board.json"
#: Facts that the hub and records need, and their types.
_REQUIRED: Mapping[str, type] = {
    "architecture": str,
    "features": list,
    "cores": int,
    "logical_cpus": int,
    "memory_bytes": int,
    "processor": str,
    "os": str,
    "kernel": str,
}


class BoardInvalid(ValueError):
    """The description of a device cannot be used, or the options do not fit it; the message says
    why."""


@dataclass(frozen=True, slots=True)
class BoardOptions:
    """How the agent reaches a device that runs builds by TVM's RPC.

    Attributes:
        port: Port of TVM's RPC server on the loopback interface of the device, or of this machine.
        tunnel: SSH destination if the port is on another machine, else ``None``.
        key: Name of the kind of device if the port is that of a tracker, else empty.
    """

    port: int
    tunnel: str | None = None
    key: str = ""


@dataclass(frozen=True, slots=True)
class Board:
    """A device that is described by its facts, in the form of
    :meth:`hpcfair.machine.Machine.to_dict`."""

    facts: dict[str, Any]

    @classmethod
    def read(cls, path: Path) -> "Board":
        """The description in a file. Raises BoardInvalid."""
        try:
            facts = json.loads(path.read_text("utf-8"))
        except (OSError, ValueError) as error:
            raise BoardInvalid(f"{path} cannot be read: {error}") from error
        if not isinstance(facts, dict):
            raise BoardInvalid(f"{path} is not a JSON object")
        wrong = [name for name, kind in _REQUIRED.items() if not isinstance(facts.get(name), kind)]
        if wrong:
            raise BoardInvalid(f"{path}: missing or of a wrong type: {', '.join(wrong)}")
        return cls(facts)

    @classmethod
    def of_state(cls, state: Path) -> "Board | None":
        """The device of a state folder; ``None`` if that is this machine. Raises BoardInvalid."""
        path = state / _FILE
        return cls.read(path) if path.exists() else None

    def store(self, state: Path) -> None:
        """Store the description in a state folder."""
        (state / _FILE).write_text(json.dumps(self.facts, indent=2), "utf-8")

    def as_device(self, target: TargetDefinition | None = None, device: str = "") -> ThisMachine:
        """The device as one of ``target``; before the hub has chosen a target, of none."""
        facts = self.facts
        features = tuple(facts["features"])
        if target is None:
            target = TargetDefinition("", "", facts["architecture"], 0, features)
        spec = TargetSpec(
            slug=target.slug,
            architecture=target.architecture,
            features=frozenset(target.features),
            cores=facts["cores"],
            memory_bytes=facts["memory_bytes"],
            facts=facts,
        )
        return ThisMachine(device, spec, target.title, target.rank)


@contextmanager
def server_of(board: Board | None, options: BoardOptions | None) -> Iterator[BuildServer | None]:
    """The server that runs builds on the device, with a tunnel to it; ``None`` if the device is
    this machine.

    Raises:
        BoardInvalid: the options do not fit the device, or TVM is missing.
        TunnelFailed, OSError: the tunnel was not opened.
    """
    if board is None and options is None:
        yield None
        return
    if options is None:
        raise BoardInvalid("This device runs builds by TVM's RPC: name its port with --rpc-port.")
    if board is None:
        raise BoardInvalid(
            "--rpc-port is only for devices that a file describes: join with --facts FILE."
        )
    if options.tunnel is None:
        yield _server(options, None)
        return
    with Tunnel(options.tunnel, options.port) as tunnel:
        yield _server(options, tunnel)


def _server(options: BoardOptions, tunnel: Tunnel | None) -> BuildServer:
    try:
        from workers.backends.tvm import rpc, rpcserver  # noqa: PLC0415  heavy
    except ImportError as error:
        raise BoardInvalid(
            f"Builds for the device need TVM: pip install 'hpcfair-agent[tvm]' ({error})."
        ) from error

    def open_device(
        request: TuningRequest, backends: Mapping[str, Backend], scratch: Path
    ) -> JobDevice:
        port = options.port
        if tunnel is not None:
            try:
                tunnel.restore()
            except (TunnelFailed, OSError) as error:
                raise InfrastructureFailed(f"no tunnel to {options.tunnel}: {error}") from error
            port = tunnel.port
        server = rpcserver.RpcServer("127.0.0.1", port, options.key, is_tracker=bool(options.key))
        return rpc.RpcDevice(request, backends, scratch, server)

    return BuildServer(rpc.BACKEND, open_device)
