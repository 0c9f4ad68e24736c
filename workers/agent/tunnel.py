"""A tunnel to a device that is too small for the agent, by SSH.

TVM's RPC server listens on the loopback interface of the device; the tunnel makes it reachable on
the loopback interface of this machine, for local users only. Accounts of other people on either
machine can reach it as well: use machines of your own.
"""

import select
import socket
import subprocess
import time
from pathlib import Path
from typing import Self

_LOOPBACK = "127.0.0.1"
_PATIENCE_S = 30.0


class TunnelFailed(Exception):
    """The tunnel was not opened; the message is that of ssh."""


class Tunnel:
    """A tunnel from a free port of this machine to a port of a device's loopback interface; a
    context manager.

    Attributes:
        port: Port on the loopback interface of this machine.
    """

    def __init__(
        self,
        destination: str,
        remote_port: int,
        *,
        identity: Path | None = None,
        ssh: str = "ssh",
    ) -> None:
        """
        Args:
            destination: ``user@host`` or a name of the configuration of SSH, which must know the
                host's key already.
            identity: File of the private key; by default those of the user.
            ssh: Program name or path.

        Raises:
            ValueError: the destination would be an option of ssh.
        """
        if destination.startswith("-") or not destination:
            raise ValueError(f"{destination!r} is not a destination of ssh")
        self.port = _free_port()
        self._command = [
            ssh, "-N", "-T",
            "-o", "BatchMode=yes",
            "-o", "ExitOnForwardFailure=yes",
            "-o", "StrictHostKeyChecking=yes",
            "-o", "ServerAliveInterval=15",
            "-o", "ServerAliveCountMax=3",
            *(["-i", str(identity)] if identity else []),
            "-L", f"{_LOOPBACK}:{self.port}:{_LOOPBACK}:{remote_port}",
            "--", destination,
        ]  # fmt: skip
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        """Open it. Raises TunnelFailed, OSError."""
        self._process = subprocess.Popen(
            self._command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        try:
            self._wait(self._process)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stderr:
            self._process.stderr.close()
        self._process = None

    def restore(self) -> None:
        """Open it again if ssh has ended, for example with the network. Raises TunnelFailed,
        OSError."""
        if not self.is_open:
            self.__exit__()
            self.__enter__()

    @property
    def is_open(self) -> bool:
        """Whether ssh still runs."""
        return self._process is not None and self._process.poll() is None

    def _wait(self, process: "subprocess.Popen[bytes]") -> None:
        """Return once the port accepts connections."""
        deadline = time.monotonic() + _PATIENCE_S
        while time.monotonic() < deadline:
            if process.poll() is not None:
                raise TunnelFailed(_text(process))
            try:
                socket.create_connection((_LOOPBACK, self.port), 1).close()
            except OSError:
                time.sleep(0.05)
            else:
                return
        raise TunnelFailed(f"ssh has not opened the port within {_PATIENCE_S:.0f} s")


def _text(process: "subprocess.Popen[bytes]") -> str:
    assert process.stderr is not None  # noqa: S101 - a pipe
    ready = select.select([process.stderr], [], [], 1)[0]
    text = process.stderr.read(2000).decode(errors="replace").strip() if ready else ""
    return text or f"ssh ended with status {process.returncode}"


def _free_port() -> int:
    with socket.create_server((_LOOPBACK, 0)) as server:
        return int(server.getsockname()[1])
