"""``manage.py serve``: a complete hub on this machine."""

import argparse
import os
import resource
import socket
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import CommandError

from hub import broker, proxy
from hub.management.command import OperatorCommand
from hub.settings.address import keep_address
from hub.supervisor import Service, StartFailed, Supervisor

_COLOURS = {
    "hub": 36,
    "broker": 35,
    "proxy": 31,
    "pages": 32,
    "transfers": 32,
    "beat": 34,
    "inspector": 33,
    "tuner": 33,
}
# Descriptors of one process: each client of the proxy needs one or two.
_OPEN_FILES = 32_768
# Of each of two processes for uploads and for answers that are made while they are sent.
_TRANSFER_THREADS = 16


class Command(OperatorCommand):
    help = (
        "Run the hub: proxy, web servers, broker and workers, supervised. All data is in "
        "HPCFAIR_DATA (default ./.hpcfair) and survives a restart. Ctrl-C stops everything."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--host", default="127.0.0.1", help="address to listen on")
        parser.add_argument(
            "--port", type=int, default=8000, help="port to listen on; 0: any free port"
        )
        parser.add_argument(
            "--threads", type=int, default=8, help="threads of each of two processes for pages"
        )
        parser.add_argument(
            "--no-workers", action="store_true", help="run no workers: pages and API only"
        )
        parser.add_argument(
            "--prepared",
            action="store_true",
            help="neither migrate the database nor collect static files: both were done before",
        )

    def handle(self, *_: Any, **options: Any) -> None:
        port = options["port"] or _free_port(options["host"])
        if not _is_free(options["host"], port):
            raise CommandError(
                f"Port {port} is in use. Stop the program there, or choose another: --port 8001"
            )
        address = f"http://{options['host']}:{port}"
        self._say("hub", f"data folder {settings.DATA_DIR}")
        settings.DATA_DIR.mkdir(parents=True, exist_ok=True)
        if not options["prepared"]:
            self._prepare()
        # Children read the same settings from the environment.
        keep_address(settings.DATA_DIR, os.environ.setdefault("HPCFAIR_URL", address))
        os.environ["HPCFAIR_ACCEL"] = proxy.ACCEL_PREFIX
        os.environ["HPCFAIR_DATA"] = str(settings.DATA_DIR)
        # Workers are started again when they die: their age is not that of the hub.
        os.environ["HPCFAIR_SERVING_SINCE"] = str(time.monotonic())

        # Not in the data folder: several hosts may share that, and socket paths are short.
        with tempfile.TemporaryDirectory(prefix="hpcfair-") as run:
            self._supervise(_services(Path(run), options, port), address)
        self._say("hub", "stopped; the same command starts it again, and no data is lost")

    def _supervise(self, services: list[Service], address: str) -> None:
        try:
            Supervisor(services, self._say).run(on_ready=lambda: self._welcome(address))
        except StartFailed as error:
            raise CommandError(str(error)) from error

    def _prepare(self) -> None:
        self._say("hub", f"migrating {_without_password(settings.DATABASE_URL)}")
        call_command("migrate", interactive=False, verbosity=0)
        call_command("collectstatic", interactive=False, verbosity=0)

    def _welcome(self, address: str) -> None:
        self._say("hub", f"ready: {address}")
        self._say("hub", "sign up there, or: python manage.py user NAME --token")
        self._say("hub", "Ctrl-C stops everything")

    def _say(self, name: str, line: str) -> None:
        if "overcommit_memory" in line:
            # Advice for servers that save to disk; this one does not.
            return
        label = f"{name:<9} |"
        if self.stdout.isatty():
            label = f"\x1b[{_COLOURS[name]}m{label}\x1b[0m"
        self.stdout.write(f"{label} {line}")
        self.stdout.flush()


def _broker_services() -> list[Service]:
    path = broker.socket_of(settings.REDIS_URL)
    if path is None:
        return []
    path.parent.mkdir(parents=True, exist_ok=True)
    return [Service("broker", broker.command(path), ready=lambda: broker.answers(path))]


def _services(run: Path, options: dict[str, Any], port: int) -> list[Service]:
    """All services, in the order in which they start: the proxy ends after what it stands for, and
    pages, which answer ``/readyz``, begin after transfers."""
    _allow_open_files()
    services = [
        *_broker_services(),
        _proxy(run, options["host"], port),
        _web("transfers", run, _TRANSFER_THREADS),
        _web("pages", run, options["threads"]),
    ]
    return services if options["no_workers"] else services + _worker_services()


def _allow_open_files() -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = _OPEN_FILES if most == resource.RLIM_INFINITY else min(_OPEN_FILES, most)
    resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, most))


def _proxy(run: Path, host: str, port: int) -> Service:
    command = proxy.configure(
        proxy.ProxySettings(
            run=run,
            host=host,
            port=port,
            blobs=settings.DATA_DIR / "blobs",
            static=Path(settings.STATIC_ROOT),
            hub_url=os.environ["HPCFAIR_URL"].rstrip("/"),
            behind_proxy=settings.BEHIND_PROXY,
        )
    )
    return Service("proxy", command, ready=lambda: _accepts(host, port))


def _web(name: str, run: Path, threads: int) -> Service:
    """A web server of the hub on the socket that the proxy passes requests of this kind to."""
    path = run / f"{name}.sock"
    command = (
        *(sys.executable, "-m", "gunicorn", "hub.wsgi", "--bind", f"unix:{path}"),
        *("--worker-class", "hub.pace.PacedWorker", "--workers", "2", "--threads", str(threads)),
        # Long uploads occupy a thread, not the worker: only a dead worker times out.
        *("--timeout", "60", "--graceful-timeout", "5", "--limit-request-line", "8190"),
        # Imported once and shared by both processes, which start at once after a failure.
        *("--preload", "--log-level", "warning", "--no-control-socket"),
    )
    return Service(name, command, ready=partial(proxy.answers, path))


def _worker_services() -> list[Service]:
    names = {"beat": "beat", "inspector": "hub", "tuner": "target"}
    return [Service(name, (sys.executable, "-m", "workers", role)) for name, role in names.items()]


def _accepts(host: str, port: int) -> bool:
    try:
        with socket.create_connection((host, port), timeout=2):
            return True
    except OSError:
        return False


def _is_free(host: str, port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True


def _free_port(host: str) -> int:
    with socket.socket() as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])


def _without_password(url: str) -> str:
    head, _, tail = url.rpartition("@")
    return url if not head else f"{head.split('://')[0]}://...@{tail}"
