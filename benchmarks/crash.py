"""Uploads, workers and reapers killed at random moments: nothing acknowledged is lost.

``make bench NAME=crash [ARGS="--kills 2000"]``. It runs the harnesses of
``tests/registry/storage/test_upload_killed.py`` and, with a quarter of the kills,
``tests/registry/work/test_queue_killed.py`` longer. SIGKILL ends a process, not the machine:
written data remains in the kernel's cache. Durability after a power failure depends on the order of
writes and fsyncs, which this benchmark does not measure.
"""

import argparse
import os
import tempfile
from importlib import import_module
from pathlib import Path

import django

from benchmarks.report import environment, report

_BASELINE = "none lost, none corrupt, none twice"


def main() -> None:
    """Kill processes, verify the data, report the figures."""
    options = _options()
    # The path of the checkout is private.
    arguments = {name: value for name, value in vars(options).items() if name != "folder"}
    facts = environment("Django", arguments=arguments)
    with tempfile.TemporaryDirectory(prefix="hpcfair-bench-", dir=options.folder) as folder:
        settings = {
            "DJANGO_SETTINGS_MODULE": "hub.settings.production",
            "HPCFAIR_DATA": f"{folder}/data",
            "HPCFAIR_LOG_LEVEL": "ERROR",
            # No worker needs notifications of these commits.
            "REDIS_URL": "redis://127.0.0.1:9/0",
        }
        os.environ.update(settings)
        os.environ.pop("DATABASE_URL", None)
        django.setup()
        # Imports tables, which need Django to be set up.
        killing = import_module("benchmarks.killing")
        figures = killing.measure(Path(folder), settings, options.kills, options.seed)
        figures |= killing.measure_queue(Path(folder), settings, options.kills // 4, options.seed)
    report("crash", figures, baseline=_BASELINE, environment=facts)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0, help="of the moments they die at")
    parser.add_argument("--folder", help="where the hub writes: the disk that is used")
    parser.add_argument("--quick", action="store_true", help="does it run? no figures to quote")
    options = parser.parse_args()
    if options.quick:
        options.kills = 20
    return options


if __name__ == "__main__":
    main()
