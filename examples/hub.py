"""An embedded hub as a child process, for the demo and for scripts."""

import json
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

_ROOT = Path(__file__).resolve().parent.parent
_START_S = 400.0


@contextmanager
def embedded_hub(
    data: Path, *, environment: Mapping[str, str] | None = None, verbose: bool = False
) -> Iterator[str]:
    """Run ``manage.py serve`` on a free port while the block lasts; yields its address.

    Args:
        data: Data folder of the hub.
        environment: Settings, such as ``{"HPCFAIR_TUNE_SECONDS": "30"}``.
        verbose: Show the hub's output, which is always in ``data/serve.log``.

    Raises:
        RuntimeError: the hub did not start; the message contains its last lines.
    """
    data.mkdir(parents=True, exist_ok=True)
    address = f"http://127.0.0.1:{_free_port()}"
    log = data / "serve.log"
    process = subprocess.Popen(
        [sys.executable, "manage.py", "serve", "--port", address.rpartition(":")[2]],
        cwd=_ROOT,
        env=_environment(data, address, environment or {}),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    ready = threading.Event()
    reader = threading.Thread(
        target=_copy, args=(process, log, ready), kwargs={"verbose": verbose}, daemon=True
    )
    reader.start()
    try:
        _await(process, address, ready, log)
        yield address
    finally:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=60)
        process.kill()
        reader.join(timeout=5)


def user_token(data: Path, name: str) -> str:
    """A token of a new user, made as an operator would on the hub's machine."""
    made = subprocess.run(
        [sys.executable, "manage.py", "user", name, "--token"],
        cwd=_ROOT,
        env=_environment(data, "http://127.0.0.1", {}),
        check=True,
        capture_output=True,
        text=True,
    )
    return str(json.loads(made.stdout)["token"])


def _environment(data: Path, address: str, more: Mapping[str, str]) -> dict[str, str]:
    return {**os.environ, "HPCFAIR_DATA": str(data), "HPCFAIR_URL": address, **more}


def _await(
    process: "subprocess.Popen[str]", address: str, ready: threading.Event, log: Path
) -> None:
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline and process.poll() is None:
        if ready.wait(0.2) and _answers(address):
            return
    last = "\n".join(log.read_text().splitlines()[-20:]) if log.exists() else ""
    raise RuntimeError(f"the hub did not start:\n{last}")


def _answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(f"{address}/readyz", timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def _copy(
    process: "subprocess.Popen[str]", log: Path, ready: threading.Event, *, verbose: bool
) -> None:
    assert process.stdout is not None
    with log.open("a") as file, process.stdout as lines:
        for line in lines:
            file.write(line)
            file.flush()
            if "| ready:" in line:
                ready.set()
            if verbose:
                sys.stderr.write(line)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
