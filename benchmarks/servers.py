"""The measured servers: the hub as ``make serve`` runs it, the hub behind nginx, nginx alone."""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_START_S = 120.0
# Nothing listens there: a second hub on the data folder must not start a second broker.
_NO_BROKER = "redis://127.0.0.1:9/0"
_NGINX = """
daemon off;
worker_processes {processors};
pid {home}/nginx.pid;
error_log {home}/error.log;
events {{ worker_connections 512; }}
http {{
    # As Debian's and Docker's packages have it.
    sendfile on;
    tcp_nopush on;
    keepalive_timeout 65;
    keepalive_requests 1000000;
    log_format sizes "$server_port $request_length $uri";
    access_log {home}/access.log sizes;
    client_body_temp_path {home}/body;
    proxy_temp_path {home}/proxy;
    fastcgi_temp_path {home}/fastcgi;
    uwsgi_temp_path {home}/uwsgi;
    scgi_temp_path {home}/scgi;
    server {{
        listen 127.0.0.1:{static_port};
        client_max_body_size 0;
        location /files/ {{ alias {files}/; }}
        location /put/ {{
            root {home};
            dav_methods PUT;
            create_full_put_path on;
        }}
    }}
{production}
}}
"""


def free_port() -> int:
    """A free port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def address(port: int) -> str:
    """Address of a server on this machine."""
    return f"http://127.0.0.1:{port}"


@contextmanager
def hub(data: Path, port: int, environment: Mapping[str, str]) -> Iterator[int]:
    """``manage.py serve`` without workers while the block lasts; yields its process id."""
    command = [sys.executable, "manage.py", "serve", "--no-workers", "--port", str(port)]
    with (data.parent / f"hub-{port}.log").open("wb") as log:
        process = subprocess.Popen(
            command, cwd=ROOT, env=_environment(data) | dict(environment), stdout=log, stderr=log
        )
        try:
            _await(f"{address(port)}/healthz", process)
            yield process.pid
        finally:
            process.terminate()
            process.wait(timeout=60)


def production(nginx_port: int) -> dict[str, str]:
    """Settings of the hub behind nginx that differ from the embedded default."""
    return {
        "HPCFAIR_ACCEL": "/_blobs/",
        "HPCFAIR_BEHIND_PROXY": "1",
        "HPCFAIR_URL": address(nginx_port),
        "REDIS_URL": _NO_BROKER,
    }


@contextmanager
def nginx(*, home: Path, data: Path, files: Path, ports: Mapping[str, int]) -> Iterator[None]:
    """nginx while the block lasts: ``docker/nginx.conf`` in front of a hub, and by itself.

    Args:
        home: A new folder of its own.
        files: Served at ``/files/`` by nginx alone; it takes PUT below ``/put/``.
        ports: ``static``, ``production``, and ``web`` for the hub behind it.

    Raises:
        RuntimeError: nginx is not installed, or ``docker/nginx.conf`` has an unexpected form.
    """
    (home / "put").mkdir(parents=True)
    config = home / "nginx.conf"
    config.write_text(
        _NGINX.format(
            home=home,
            files=files,
            static_port=ports["static"],
            processors=len(os.sched_getaffinity(0)),
            production=_committed(data, ports),
        )
    )
    # As root, nginx runs its workers as another user, who must be able to read the files.
    user = ["-g", "user root;"] if os.geteuid() == 0 else []
    process = subprocess.Popen([_nginx_program(), "-p", str(home), "-c", str(config), *user])
    try:
        _await(f"{address(ports['production'])}/healthz", process)
        yield
    finally:
        process.terminate()
        process.wait(timeout=30)


def token(data: Path, name: str) -> str:
    """A token of a new user, created by an operator's command."""
    command = [sys.executable, "manage.py", "user", name, "--token"]
    made = subprocess.run(
        command, cwd=ROOT, env=_environment(data), check=True, capture_output=True, text=True
    )
    return str(json.loads(made.stdout)["token"])


def memory_mib(process: int) -> float:
    """Memory of the web processes below ``process``, with shared pages divided among them."""
    total = 0
    for pid in _below(process):
        place = Path("/proc") / str(pid)
        if b"gunicorn" in (place / "cmdline").read_bytes():
            lines = (place / "smaps_rollup").read_text().splitlines()
            total += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return total / 1024


def _below(process: int) -> Iterator[int]:
    for child in (Path("/proc") / str(process) / "task").glob("*/children"):
        for pid in child.read_text().split():
            yield int(pid)
            yield from _below(int(pid))


def _committed(data: Path, ports: Mapping[str, int]) -> str:
    """``docker/nginx.conf`` with the addresses and folders of this run."""
    text = (ROOT / "docker" / "nginx.conf").read_text()
    for theirs, ours in (
        ("listen 80;", f"listen 127.0.0.1:{ports['production']};"),
        ("web:8000", f"127.0.0.1:{ports['web']}"),
        ("/data/blobs/", f"{data}/blobs/"),
    ):
        if theirs not in text:
            raise RuntimeError(f"docker/nginx.conf has no {theirs!r} any more")
        text = text.replace(theirs, ours)
    return text


def _environment(data: Path) -> dict[str, str]:
    return {**os.environ, "HPCFAIR_DATA": str(data), "HPCFAIR_LOG_LEVEL": "WARNING"}


def _await(url: str, process: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(url, timeout=5):  # noqa: S310 (our own)
                return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError(f"nothing answered at {url}")


def nginx_version() -> str:
    """Name and version of nginx."""
    done = subprocess.run([_nginx_program(), "-v"], capture_output=True, text=True, check=True)
    return done.stderr.strip().partition("nginx/")[2]


def _nginx_program() -> str:
    program = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
    if program is None:
        raise RuntimeError("nginx is not installed: apt-get install nginx-light")
    return program
