"""Programs of TVM's RPC on the loopback interface of this machine."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_PATIENCE_S = 600.0


def free_port() -> int:
    """A port for a program of TVM, which does not listen on one that is bound."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


@contextmanager
def _without_torch() -> Iterator[dict[str, str]]:
    """The environment of Python programs that find no PyTorch, as on a small device: TVM imports it
    in each of its processes if it can, which takes most of their processor time."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "torch.py").write_text("raise ImportError\n")
        path = os.pathsep.join(filter(None, (folder, os.environ.get("PYTHONPATH"))))
        yield os.environ | {"PYTHONPATH": path}


@contextmanager
def program(module: str, port: int, *arguments: str) -> Iterator["subprocess.Popen[bytes]"]:
    """A program of TVM, until it listens on its port of the loopback interface."""
    with _without_torch() as environment, _started(module, port, arguments, environment) as process:
        yield process


@contextmanager
def _started(
    module: str, port: int, arguments: tuple[str, ...], environment: dict[str, str]
) -> Iterator["subprocess.Popen[bytes]"]:
    command = [
        sys.executable, "-m", f"tvm.exec.{module}",
        "--host", "127.0.0.1", "--port", str(port), "--port-end", str(port + 1), *arguments,
    ]  # fmt: skip
    process = subprocess.Popen(
        command, start_new_session=True, stderr=subprocess.DEVNULL, env=environment
    )
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
