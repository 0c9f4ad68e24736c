"""Tunnels of real SSH, to a server of this machine."""

import getpass
import os
import socket
import socketserver
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.ports import reserved_ports
from tests.programs import needs, path_of
from workers.agent.tunnel import Tunnel, TunnelFailed

pytestmark = needs("ssh")


@dataclass(frozen=True)
class SshServer:
    """A server that only the key of the test may use, and a program ``ssh`` that knows it."""

    ssh: Path
    identity: Path


def accepts(port: int) -> bool:
    """Whether a server of this machine listens on a port."""
    with socket.socket() as connection:
        return connection.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture
def ssh_server(tmp_path: Path) -> Iterator[SshServer]:
    for name in ("host", "user"):
        keygen = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(tmp_path / name)]
        subprocess.run(keygen, check=True)
    with reserved_ports(1) as (port,):
        config = {
            "Port": port, "ListenAddress": "127.0.0.1", "HostKey": tmp_path / "host",
            "AuthorizedKeysFile": tmp_path / "user.pub", "StrictModes": "no", "UsePAM": "no",
            "PidFile": "none",
        }  # fmt: skip
        lines = [f"{name} {value}\n" for name, value in config.items()]
        (tmp_path / "sshd_config").write_text("".join(lines))
        host = (tmp_path / "host.pub").read_text()
        (tmp_path / "known").write_text(f"[127.0.0.1]:{port} {host}")
        ssh = tmp_path / "ssh"
        ssh.write_text(
            f'#!/bin/sh\nexec ssh -F none -p {port} -o UserKnownHostsFile={tmp_path}/known "$@"\n'
        )
        ssh.chmod(0o700)
        command = [path_of("sshd"), "-D", "-e", "-f", str(tmp_path / "sshd_config")]
        if os.geteuid() == 0:
            # Debian makes it when the service starts, which it does not in containers.
            Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
        errors = tmp_path / "sshd.log"
        with errors.open("wb") as log:
            server = subprocess.Popen(command, stderr=log)
        try:
            deadline = time.monotonic() + 20
            while not accepts(port):
                assert server.poll() is None, errors.read_text()
                assert time.monotonic() < deadline, errors.read_text()
                time.sleep(0.05)
            yield SshServer(ssh, tmp_path / "user")
        finally:
            server.kill()
            server.wait()


@contextmanager
def serving_port() -> Iterator[int]:
    """A port of this machine where each connection receives ``served``."""

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            self.request.sendall(b"served")

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


@needs("sshd")
def test_a_port_of_the_device_is_reached_through_the_tunnel(ssh_server: SshServer) -> None:
    with serving_port() as port:
        destination = f"{getpass.getuser()}@127.0.0.1"
        tunnel = Tunnel(destination, port, identity=ssh_server.identity, ssh=str(ssh_server.ssh))
        with tunnel:
            assert tunnel.is_open
            with socket.create_connection(("127.0.0.1", tunnel.port), 5) as connection:
                assert connection.recv(16) == b"served"
        assert not tunnel.is_open
        with pytest.raises(OSError, match="refused"):
            socket.create_connection(("127.0.0.1", tunnel.port), 1)


@needs("sshd")
def test_a_host_that_ssh_does_not_know_is_refused(ssh_server: SshServer) -> None:
    (ssh_server.identity.parent / "known").write_text("")
    destination = f"{getpass.getuser()}@127.0.0.1"
    tunnel = Tunnel(destination, 9, identity=ssh_server.identity, ssh=str(ssh_server.ssh))
    with pytest.raises(TunnelFailed, match="Host key verification failed"), tunnel:
        pass


def test_without_a_server_the_reason_is_that_of_ssh() -> None:
    with reserved_ports(1) as (port,):
        tunnel = Tunnel(f"ssh://nobody@127.0.0.1:{port}", 9090)
        with pytest.raises(TunnelFailed, match="Connection refused"), tunnel:
            pass


@pytest.mark.parametrize("destination", ["", "-oProxyCommand=touch /tmp/x"])
def test_a_destination_cannot_be_an_option(destination: str) -> None:
    with pytest.raises(ValueError, match="not a destination"):
        Tunnel(destination, 9090)
