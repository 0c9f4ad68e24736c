"""A fleet over HTTP whose agents, servers, workers and their children are killed at random.

The hub runs as `manage.py serve` by its production settings, once on each database, while its
workers inspect and tune a real network and simulated agents do searches. See benchmarks/fleet.py.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.servers import ROOT
from tests.programs import needs

pytestmark = [pytest.mark.slow, needs("linux")]

#: On each database.
KILLS = 28
_JOBS, _MODELS = 30, 1
#: Seconds; long enough for the processes of the hub to start again on a busy machine.
_LEASE_S = 20


def fleet(folder: Path, database: str) -> dict[str, Any]:
    """The report of the quick benchmark on a database."""
    options: dict[str, object] = {"kills": KILLS, "jobs": _JOBS, "models": _MODELS}
    options |= {"lease": _LEASE_S, "database": database, "waiting": 200, "claims": 20}
    flags = [f"--{name}={value}" for name, value in options.items()]
    command = [sys.executable, "-m", "benchmarks.fleet", "--quick", f"--folder={folder}", *flags]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.parametrize("database", ["sqlite", "postgres"])
def test_nothing_is_lost_and_nothing_is_done_twice(database: str, tmp_path: Path) -> None:
    report = fleet(tmp_path, database)
    figures = {name: figure["value"] for name, figure in report["figures"].items()}
    details = report["details"][database]
    assert (figures["lost"], figures["twice"], figures["failed"]) == (0, 0, 0)
    assert figures["recovered"] < 2
    # Searches of the agents; an inspection of the real network and its searches.
    assert figures["jobs"] >= _JOBS + _MODELS
    # A process that has just ended by itself does not count as killed.
    assert figures["kills"] >= KILLS - 3
    assert {"agent", "hub", "beat", "inspector", "tuner"} <= details["kills"].keys()
    assert details["lines"].keys() >= {"claim", "succeeded", "duplicate", "partition"}
    assert "refused" not in details["lines"]
    # All jobs were done, except those that were killed too often.
    assert details["acknowledged"] + figures["abandoned"] + figures["kills"] >= _JOBS
    assert 0 < figures["worst_wait_s"] < details["seconds"]
    assert figures["claim_p95_ms"] > 0
    # All its temporary files are removed.
    assert list(tmp_path.iterdir()) == []
