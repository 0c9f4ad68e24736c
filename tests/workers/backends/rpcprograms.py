"""Programs of TVM's RPC on the loopback interface of this machine."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

_PATIENCE_S = 600.0


def free_port() -> int:
    """A port for a program of TVM, which does not listen on one that is bound."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


@contextmanager
def program(module: str, port: int, *arguments: str) -> Iterator["subprocess.Popen[bytes]"]:
    """A program of TVM, until it listens on its port of the loopback interface."""
    command = [
        sys.executable, "-m", f"tvm.exec.{module}",
        "--host", "127.0.0.1", "--port", str(port), "--port-end", str(port + 1), *arguments,
    ]  # fmt: skip
    process = subprocess.Popen(command, start_new_session=True, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + _PATIENCE_S
    try:
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                assert process.poll() is None
                assert time.monotonic() < deadline
                time.sleep(0.05)
        yield process
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
