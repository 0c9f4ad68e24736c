"""``python -m workers hub|target|beat``: one worker process with its queues.

``hub`` runs jobs without a target, several at a time; ``target`` registers this machine as a device
and runs jobs of its target, one at a time, because concurrent measurements disturb each other;
``beat`` starts periodic tasks.
"""

import argparse
import os
import socket
import warnings
from contextlib import ExitStack
from pathlib import Path
from typing import Any

# On SIGTERM Celery waits for running tasks, which may take minutes and resume after a kill, when
# the lease expires. So end at once. Celery reads this when it is imported.
os.environ.setdefault("REMAP_SIGTERM", "SIGQUIT")
# Celery would run Django's system checks and ignore what they report. They import all views of the
# hub, which workers do not need: a third of the processor time of a start.
os.environ.setdefault("CELERY_SKIP_CHECKS", "true")

from celery.platforms import SecurityWarning
from celery.signals import worker_ready
from django.conf import settings

from workers.app import app
from workers.device.isolation import require_isolation
from workers.device.workspace import sweep
from workers.fleet.identity import claim_name
from workers.jobs.device import device_settings, register, report
from workers.jobs.slots import IMPORT_SLOTS, slot_count

# Containers' workers run as root. Celery warns of that because of pickle; only JSON is accepted.
warnings.filterwarnings("ignore", category=SecurityWarning)


def main() -> None:
    """Run one role until a signal ends it."""
    parser = argparse.ArgumentParser(prog="python -m workers", description=__doc__)
    parser.add_argument("role", choices=["hub", "target", "beat"])
    parser.add_argument("--log-level", default="WARNING")
    arguments = parser.parse_args()
    if arguments.role == "beat":
        # It sends tasks by their names and runs none: their modules take half of its start.
        app.conf.include = []
        Path(app.conf.beat_schedule_filename).parent.mkdir(parents=True, exist_ok=True)
        app.start(["--quiet", "beat", "--loglevel", arguments.log_level, "--pidfile", ""])
        return
    here = device_settings()
    sweep(here.work)
    require_isolation(here)
    with ExitStack() as held:
        queue, processes = "hub", slot_count() + IMPORT_SLOTS + 1
        if arguments.role == "target":
            queue, processes = _join_fleet(held), 1
        app.worker_main(
            [
                *("--quiet", "worker", "--queues", queue, "--concurrency", str(processes)),
                *("--hostname", f"{arguments.role}@{socket.gethostname()}"),
                *("--loglevel", arguments.log_level, "--without-gossip", "--without-mingle"),
            ]
        )


def _join_fleet(held: ExitStack) -> str:
    """Register this machine and send heartbeats from now on; returns its queue.

    ``held``: its device's name is this worker's until this is closed.
    """
    if not os.environ.get("HPCFAIR_DEVICE"):
        # Child processes read the name from the environment.
        os.environ["HPCFAIR_DEVICE"], lock = claim_name(settings.DATA_DIR / "devices")
        held.enter_context(lock)
    here = register()

    @worker_ready.connect(weak=False)
    def _keep_reporting(sender: Any, **_: Any) -> None:
        sender.timer.call_repeatedly(settings.JOB_LEASE_S / 2, report, (here,))

    return f"target.{here.spec.slug}"


if __name__ == "__main__":
    main()
