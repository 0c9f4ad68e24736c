"""The measured servers: the hub as ``make serve`` runs it, and nginx alone."""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from benchmarks.lifetime import ending_with_us

ROOT = Path(__file__).resolve().parents[1]
_START_S = 120.0
_STOP_S = 60.0
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
    access_log off;
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
def hub(
    data: Path,
    port: int,
    environment: Mapping[str, str],
    *,
    workers: bool = False,
    probe: str = "/readyz",
    start_s: float = _START_S,
) -> Iterator[int]:
    """``manage.py serve`` while the block lasts; yields its process id once ``probe`` answers.

    It also ends with this process. Raises RuntimeError if ``probe`` does not answer within
    ``start_s`` seconds.
    """
    command = ending_with_us(sys.executable, "manage.py", "serve", "--port", str(port))
    if not workers:
        command.append("--no-workers")
    with (data.parent / f"hub-{port}.log").open("wb") as log:
        process = subprocess.Popen(
            command, cwd=ROOT, env=_environment(data) | dict(environment), stdout=log, stderr=log
        )
        try:
            _await(f"{address(port)}{probe}", process, start_s)
            yield process.pid
        finally:
            _stop(process)


@contextmanager
def nginx(*, home: Path, files: Path, port: int) -> Iterator[None]:
    """nginx of the system alone while the block lasts.

    Args:
        home: A new folder of its own.
        files: Served at ``/files/``; it takes PUT below ``/put/``.

    Raises:
        RuntimeError: nginx is not installed.
    """
    (home / "put").mkdir(parents=True)
    config = home / "nginx.conf"
    config.write_text(
        _NGINX.format(
            home=home,
            files=files,
            static_port=port,
            processors=len(os.sched_getaffinity(0)),
        )
    )
    # As root, nginx runs its workers as another user, who must be able to read the files.
    user = ["-g", "user root;"] if os.geteuid() == 0 else []
    process = subprocess.Popen([_nginx_program(), "-p", str(home), "-c", str(config), *user])
    try:
        _await(f"{address(port)}/", process)
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
    for pid in below(process):
        place = Path("/proc") / str(pid)
        if b"gunicorn" in (place / "cmdline").read_bytes():
            lines = (place / "smaps_rollup").read_text().splitlines()
            total += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return total / 1024


def below(process: int) -> Iterator[int]:
    """The ids of all processes below ``process``; some may have ended meanwhile."""
    for child in (Path("/proc") / str(process) / "task").glob("*/children"):
        try:
            pids = child.read_text().split()
        except OSError:
            continue
        for pid in pids:
            yield int(pid)
            yield from below(int(pid))


def _stop(process: "subprocess.Popen[bytes]") -> None:
    """Stop ``manage.py serve``. The processes below it end with it."""
    process.terminate()
    try:
        process.wait(timeout=_STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        raise


def _environment(data: Path) -> dict[str, str]:
    own = {
        "DJANGO_SETTINGS_MODULE": "hub.settings.production",
        "HPCFAIR_DATA": str(data),
        "HPCFAIR_LOG_LEVEL": "WARNING",
    }
    return os.environ | own


def _await(url: str, process: "subprocess.Popen[bytes]", start_s: float = _START_S) -> None:
    deadline = time.monotonic() + start_s
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(url, timeout=5):  # noqa: S310 (our own)
                return
        except urllib.error.HTTPError as error:
            if error.code < 500:
                return
            time.sleep(0.1)
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
