"""``python -m workers hub|target|beat``: one worker process with its queues.

``hub`` inspects uploads; ``target`` registers this machine as a device of its target and tunes
for it, one job at a time, since two measurements on one machine disturb each other.
"""

import argparse
import os
import socket

# Celery waits for running tasks on SIGTERM. Ours may run for minutes and lose nothing by being
# cut, because the lease ends and the job resumes; so end at once. Read when Celery is imported.
os.environ.setdefault("REMAP_SIGTERM", "SIGQUIT")

from workers.app import app
from workers.jobs.device import register


def main() -> None:
    """Run one role until a signal ends it."""
    parser = argparse.ArgumentParser(prog="python -m workers", description=__doc__)
    parser.add_argument("role", choices=["hub", "target", "beat"])
    parser.add_argument("--log-level", default="WARNING")
    arguments = parser.parse_args()
    if arguments.role == "beat":
        app.start(["beat", "--loglevel", arguments.log_level, "--pidfile", ""])
        return
    queue = "hub"
    if arguments.role == "target":
        queue = f"target.{register().spec.slug}"
    app.worker_main(
        [
            *("worker", "--queues", queue, "--concurrency", "1"),
            *("--hostname", f"{arguments.role}@{socket.gethostname()}"),
            *("--loglevel", arguments.log_level, "--without-gossip", "--without-mingle"),
        ]
    )


if __name__ == "__main__":
    main()
