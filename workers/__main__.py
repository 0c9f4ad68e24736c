"""``python -m workers hub|target|beat``: one worker process with its queues.

``hub`` inspects uploads; ``target`` registers this machine as a device of its target and tunes
for it, one job at a time, since two measurements on one machine disturb each other.
"""

import argparse
import os
import socket
import warnings
from pathlib import Path
from typing import Any

# Celery waits for running tasks on SIGTERM. Ours may run for minutes and lose nothing by being
# cut, because the lease ends and the job resumes; so end at once. Read when Celery is imported.
os.environ.setdefault("REMAP_SIGTERM", "SIGQUIT")

from celery.platforms import SecurityWarning
from celery.signals import worker_ready
from django.conf import settings

from workers.app import app
from workers.jobs.device import register, report
from workers.jobs.workspace import sweep

# In a container everything runs as root. What Celery fears there is pickles; we take JSON only.
warnings.filterwarnings("ignore", category=SecurityWarning)


def main() -> None:
    """Run one role until a signal ends it."""
    parser = argparse.ArgumentParser(prog="python -m workers", description=__doc__)
    parser.add_argument("role", choices=["hub", "target", "beat"])
    parser.add_argument("--log-level", default="WARNING")
    arguments = parser.parse_args()
    if arguments.role == "beat":
        Path(app.conf.beat_schedule_filename).parent.mkdir(parents=True, exist_ok=True)
        app.start(["--quiet", "beat", "--loglevel", arguments.log_level, "--pidfile", ""])
        return
    sweep()
    queue = _join_fleet() if arguments.role == "target" else "hub"
    app.worker_main(
        [
            *("--quiet", "worker", "--queues", queue, "--concurrency", "1"),
            *("--hostname", f"{arguments.role}@{socket.gethostname()}"),
            *("--loglevel", arguments.log_level, "--without-gossip", "--without-mingle"),
        ]
    )


def _join_fleet() -> str:
    """Register this machine, see to it that the hub goes on hearing of it; returns its queue."""
    here = register()

    @worker_ready.connect(weak=False)
    def _keep_reporting(sender: Any, **_: Any) -> None:
        sender.timer.call_repeatedly(settings.JOB_LEASE_S / 2, report, (here,))

    return f"target.{here.spec.slug}"


if __name__ == "__main__":
    main()
