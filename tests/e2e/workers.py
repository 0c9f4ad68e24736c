"""Workers as an operator starts them: ``python -m workers ROLE``, a broker, the test's database."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from django.conf import settings

from hub import broker
from tests.factories import database_url

_ROOT = Path(__file__).resolve().parents[2]
_PATIENCE_S = 900.0
# Nothing but searches, unless a test asks for more.
_ENVIRONMENT = {
    # A busy machine must be able to keep a lease, or a worker that lives loses its job, too.
    "HPCFAIR_LEASE_SECONDS": "10",
    "HPCFAIR_REAP_SECONDS": "1",
    "HPCFAIR_TUNE_SECONDS": "5",
    "HPCFAIR_ASSESS_DAYS": "0",
    "HPCFAIR_ABLATION_SECONDS": "0",
    "HPCFAIR_PASSES_SECONDS": "0",
    "HPCFAIR_IDLE_SEARCHES": "0",
    "HPCFAIR_ROOFS_SECONDS": "0",
    "HPCFAIR_SCHEDULE_SECONDS": "0",
    "DJANGO_SETTINGS_MODULE": "hub.settings.production",
}


class Start(Protocol):
    """Starts a worker of a role, with settings."""

    def __call__(self, role: str, **environment: str) -> "subprocess.Popen[bytes]": ...


@contextmanager
def workers_of(sock: Path) -> Iterator[Start]:
    """Starts workers while the block lasts, with a broker of their own at ``sock``.

    ``settings.REDIS_URL`` must name it already, so that notifications go there.
    """
    environment = {
        **os.environ,
        "DATABASE_URL": database_url(),
        "REDIS_URL": settings.REDIS_URL,
        "HPCFAIR_DATA": str(settings.DATA_DIR),
        **_ENVIRONMENT,
    }
    running = [subprocess.Popen(broker.command(sock), stdout=subprocess.DEVNULL)]

    def start(role: str, **more: str) -> "subprocess.Popen[bytes]":
        process = subprocess.Popen(
            [sys.executable, "-m", "workers", role], cwd=_ROOT, env=environment | more
        )
        running.append(process)
        return process

    try:
        until(lambda: broker.answers(sock))
        yield start
    finally:
        for process in reversed(running):
            process.kill()
            process.wait()
    until(lambda: not _descendants(sock))


def until(condition: Callable[[], bool], seconds: float = _PATIENCE_S) -> None:
    """Wait for a condition; fails the test after ``seconds``."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.1)


def _descendants(sock: Path) -> list[int]:
    """Processes that still carry this test's broker in their environment."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and int(folder.name) != os.getpid():
            try:
                environment = (folder / "environ").read_bytes()
            except OSError:
                continue
            if os.fsencode(sock) in environment:
                found.append(int(folder.name))
    return found
