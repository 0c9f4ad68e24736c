"""A server of TVM's RPC, and the connection to it.

DANGER: TVM's RPC is remote execution by design. Anybody who reaches a server can run any code on
its machine: the key is not a secret, and nothing is encrypted. A server that is not on the loopback
interface, or behind a tunnel that ends there, is therefore refused. In the other direction, TVM
parses the answers of the server in this process: use only devices of your own.
"""

import ipaddress
import secrets
import socket
import struct
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import workers.backends.tvm.without_torch  # noqa: F401
from workers.engine.errors import InfrastructureFailed


@dataclass(frozen=True, slots=True)
class RpcServer:
    """Address of an RPC server, or of a tracker that lists servers.

    Attributes:
        host, port: Its address, or that of the tunnel to it; on the loopback interface.
        key: Name of the kind of device; selects a server of a tracker, and is not a secret.
        is_tracker: Whether the address is that of a tracker, which gives each server one session
            at a time.
        session_s: Seconds after which the server ends a session.
        patience_s: Seconds to wait for a server that is busy.
    """

    host: str
    port: int
    key: str = ""
    is_tracker: bool = False
    session_s: int = 600
    patience_s: float = 60.0

    def __post_init__(self) -> None:
        """Raises ValueError for an address that others can reach."""
        require_loopback(self.host)


class RpcConnection:
    """The session on a server, shared by all libraries there. A server has one session at a time
    and lets other clients wait without a limit, but a search has the baseline and a candidate open
    at once.

    The session ends if a library crashes the server's process, and after the session's time.
    :meth:`machine` then opens a new one.
    """

    def __init__(self, server: RpcServer) -> None:
        self._server = server
        self._session: Any = None
        self._opened_at = 0.0
        self._machines: dict[Path, Any] = {}
        self._uploads = 0

    @property
    def processor(self) -> Any:
        """The device of the open session that libraries run on."""
        return self._session.cpu(0)

    def machine(self, library: Path) -> Any:
        """TVM's virtual machine of a library, which is uploaded if the session does not have it.

        Raises:
            InfrastructureFailed: the server does not answer.
            Exception: TVM cannot open the library; its errors share no base class.
        """
        # The caller has at least half of the session's time.
        if time.monotonic() - self._opened_at > self._server.session_s / 2:
            self.close()
        if self._session is None:
            self._session = connect(self._server)
            self._opened_at = time.monotonic()
        if library not in self._machines:
            self._machines[library] = self._upload(library)
        return self._machines[library]

    def unload(self, library: Path) -> None:
        """Release a library. The session stays open for others."""
        self._machines.pop(library, None)

    def close_if_lost(self) -> None:
        """Give up the session if the server no longer answers in it."""
        try:
            self._session.get_function("runtime.NumThreads")
        # TVM's exceptions share no base below Exception.
        except Exception:  # noqa: BLE001
            self.close()

    def close(self) -> None:
        """End the session, so that the server accepts the next one. The end must be explicit:
        objects in frames of an exception or in reference cycles would keep the session open."""
        self._machines.clear()
        if self._session is not None:
            session, self._session = self._session, None
            # TVM's exceptions share no base below Exception. The server may have ended it already.
            with suppress(Exception):
                # TVM has no public way to end a session.
                session._sess["CloseRPCConnection"]()  # noqa: SLF001

    def _upload(self, library: Path) -> Any:
        from tvm import relax  # noqa: PLC0415  heavy

        # Libraries of one session share a folder, and candidates' libraries share a name.
        self._uploads += 1
        name = f"{self._uploads}-{library.name}"
        self._session.upload(bytearray(library.read_bytes()), name)
        return relax.VirtualMachine(self._session.load_module(name), self.processor)


def connect(server: RpcServer) -> Any:
    """Open a session on a server, directly or by its tracker.

    Raises:
        InfrastructureFailed: the server cannot be reached, or gives no session within
            ``patience_s`` seconds, because it is busy or its last session crashed.
    """
    from tvm import rpc  # noqa: PLC0415  heavy

    try:
        if not server.is_tracker:
            _await(lambda: _accepts_session(server), server.patience_s)
            return rpc.connect(
                server.host, server.port, server.key, session_timeout=server.session_s
            )
        tracker = rpc.connect_tracker(server.host, server.port)
        for server_info in tracker.summary()["server_info"]:
            # The client connects to any address that the tracker names.
            require_loopback(str(server_info["addr"][0]))
        _await(lambda: _is_free(tracker.summary(), server.key), server.patience_s)
        return tracker.request(server.key, session_timeout=server.session_s)
    # TVM's exceptions share no base below Exception.
    except Exception as error:
        detail = str(error).strip().splitlines()[-1:]
        raise InfrastructureFailed(
            f"no session of the RPC server at {server.host}:{server.port}: {' '.join(detail)}"
        ) from error


def _await(condition: Callable[[], bool], seconds: float) -> None:
    """Wait for a condition. Raises TimeoutError, whereas TVM's own client waits without a limit."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(
                f"it serves another client, or its last session crashed; no answer "
                f"for {seconds:g} s. Restart the server if nobody else uses it."
            )
        time.sleep(0.1)


def _accepts_session(server: RpcServer) -> bool:
    """Whether a server accepts a session now. It refuses this probe, because its key is random."""
    from tvm.rpc import base  # noqa: PLC0415  heavy

    key = b"client:%s" % secrets.token_hex(8).encode()
    with socket.create_connection((server.host, server.port), server.patience_s) as probe:
        probe.settimeout(1)
        try:
            probe.sendall(struct.pack("<ii", base.RPC_MAGIC, len(key)) + key)
            answer = probe.recv(4, socket.MSG_WAITALL)
        except TimeoutError:
            return False
    return answer == struct.pack("<i", base.RPC_CODE_MISMATCH)


def _is_free(summary: Mapping[str, Any], key: str) -> bool:
    queue = summary["queue_info"].get(key)
    return queue is not None and queue["free"] > 0


def require_loopback(host: str) -> None:
    """Raise ValueError unless an address is on the loopback interface."""
    try:
        is_loopback = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        is_loopback = False
    if not is_loopback:
        raise ValueError(
            f"An RPC server at {host} runs any code that anybody sends. Let it listen on 127.0.0.1 "
            "of its machine, and reach it through a tunnel."
        )
