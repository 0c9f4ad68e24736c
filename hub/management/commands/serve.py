"""``manage.py serve``: a complete hub on this machine."""

import argparse
import os
import socket
import sys
import urllib.request
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError

from hub import broker
from hub.supervisor import Service, StartFailed, Supervisor

_COLOURS = {"hub": 36, "broker": 35, "web": 32, "beat": 34, "inspector": 33, "tuner": 33}


class Command(BaseCommand):
    help = (
        "Run the hub: web server, broker and workers, supervised. All data is in HPCFAIR_DATA "
        "(default ./.hpcfair) and survives a restart. Ctrl-C stops everything."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--host", default="127.0.0.1", help="address to listen on")
        parser.add_argument(
            "--port", type=int, default=8000, help="port to listen on; 0: any free port"
        )
        parser.add_argument("--threads", type=int, default=8, help="threads of each web process")
        parser.add_argument(
            "--no-workers", action="store_true", help="run no workers: pages and API only"
        )

    def handle(self, *_: Any, **options: Any) -> None:
        port = options["port"] or _free_port(options["host"])
        if not _is_free(options["host"], port):
            raise CommandError(
                f"Port {port} is in use. Stop the program there, or choose another: --port 8001"
            )
        address = f"http://{options['host']}:{port}"
        self._prepare()
        # Children read the same settings from the environment.
        os.environ.setdefault("HPCFAIR_URL", address)
        os.environ["HPCFAIR_DATA"] = str(settings.DATA_DIR)

        services = [*_broker_services(), _web(options, port, address)]
        if not options["no_workers"]:
            services += _worker_services()
        try:
            Supervisor(services, self._say).run(on_ready=lambda: self._welcome(address))
        except StartFailed as error:
            raise CommandError(str(error)) from error
        self._say("hub", "stopped; the same command starts it again, and no data is lost")

    def _prepare(self) -> None:
        self._say("hub", f"data folder {settings.DATA_DIR}")
        settings.DATA_DIR.mkdir(parents=True, exist_ok=True)
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


def _web(options: dict[str, Any], port: int, address: str) -> Service:
    command = (
        *(sys.executable, "-m", "gunicorn", "hub.wsgi"),
        *("--bind", f"{options['host']}:{port}", "--workers", "2"),
        *("--worker-class", "gthread", "--threads", str(options["threads"])),
        # Long uploads occupy a thread, not the worker: only a dead worker times out.
        *("--timeout", "60", "--graceful-timeout", "5"),
        *("--log-level", "warning", "--no-control-socket"),
    )
    return Service("web", command, ready=lambda: _is_up(address))


def _worker_services() -> list[Service]:
    names = {"beat": "beat", "inspector": "hub", "tuner": "target"}
    return [Service(name, (sys.executable, "-m", "workers", role)) for name, role in names.items()]


def _is_up(address: str) -> bool:
    try:
        with urllib.request.urlopen(f"{address}/healthz", timeout=2) as answer:  # noqa: S310
            return bool(answer.status == 200)
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
