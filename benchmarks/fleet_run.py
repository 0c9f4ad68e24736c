"""The fleet benchmark on one database: ``python -m benchmarks.fleet_run FOLDER OPTIONS``.

``OPTIONS`` is JSON: the fields of :class:`Options`. The last line of the output is JSON, too: the
fields of :class:`Figures`. The environment names the database; see :mod:`benchmarks.fleet`.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import django
from django.core.management import call_command

from benchmarks import servers
from benchmarks.fleet_kills import Killer, spread_out, turns
from benchmarks.lifetime import exit_on_sigterm
from benchmarks.processors import ProcessorTime
from benchmarks.report import say

_POLL_S = 1.0
#: Most seconds for the start of the hub, on a machine that runs the whole suite.
_START_S = 600.0
#: Seconds for running jobs to end once the waiting ones have been withdrawn.
_GRACE_S = 600.0
#: Share of the jobs that the flooding owner submits at the start.
_FLOOD_SHARE = 0.8


@dataclass(frozen=True)
class Options:
    """Size and faults of the simulation.

    Attributes:
        agents, jobs, kills: Numbers of simulated devices, of searches, and of killed processes.
        job_s: Seconds that a simulated search takes on average.
        kill_s: Seconds over which kills and submissions of small owners are spread.
        owners: Owners other than the flooding one.
        models: Models that real workers inspect and tune.
        partition: Share of the searches in which the agent falls silent for longer than its lease.
        duplicate: Share of the ends that are sent twice.
        waiting: Waiting jobs while claims are timed.
        claims: Number of timed claims.
        patience_s: Most seconds for jobs to end after the last kill. Jobs that still wait then are
            withdrawn.
    """

    agents: int
    jobs: int
    kills: int
    job_s: float
    kill_s: float
    owners: int
    models: int
    partition: float
    duplicate: float
    waiting: int
    claims: int
    patience_s: float
    seed: int


@dataclass(frozen=True)
class Figures:
    """The measured figures; see :class:`benchmarks.fleet_outcome.Outcome`.

    Attributes:
        failures: Number of failed jobs by the code of the failure.
        claim_ms: Durations of claims over HTTP with many waiting jobs, in milliseconds.
        claim_busy_ms: 95th percentile of the agents' claims under load, in milliseconds.
        processor_s: Processor time from the first kill to the end of the last job: of the ``hub``
            with its workers, of the ``agents``, and of the ``database`` server if there is one.
        run_s: Seconds of the same time.
    """

    jobs: int
    kills: dict[str, int]
    withdrawn: int
    lost: int
    twice: int
    failures: dict[str, int]
    acknowledged: int
    recovered_s: float
    worst_wait_s: float
    lines: dict[str, int]
    claim_ms: list[float]
    claim_busy_ms: float
    processor_s: dict[str, float]
    run_s: float
    seconds: float


def main() -> None:
    """Run everything on the database of the environment."""
    exit_on_sigterm()
    folder, options = Path(sys.argv[1]), Options(**json.loads(sys.argv[2]))
    data, port = folder / "data", servers.free_port()
    environment = {"HPCFAIR_URL": servers.address(port)}
    os.environ |= {
        "DJANGO_SETTINGS_MODULE": "hub.settings.production",
        "HPCFAIR_DATA": str(data),
        "HPCFAIR_LOG_LEVEL": "ERROR",
    }
    began_s = time.monotonic()
    django.setup()
    data.mkdir(exist_ok=True)
    # Before the hub starts, because the rows below need the tables.
    call_command("migrate", interactive=False, verbosity=0)
    # Imported late, because its tables need Django to be set up.
    rows = import_module("benchmarks.fleet_rows")
    outcome = import_module("benchmarks.fleet_outcome")
    with servers.hub(data, port, environment, workers=True, start_s=_START_S) as supervisor:
        scene = folder, servers.address(port), supervisor
        result, kills, used = _run_agents(rows, outcome, *scene, options)
    for fault in (*result.lost[:20], *result.twice[:20]):
        say(f"lost or twice: {fault}")
    claims_ms = _claims(rows, folder, options)
    busy = sorted(result.claims_s)
    figures = Figures(
        jobs=result.jobs,
        kills=kills,
        withdrawn=result.withdrawn,
        lost=len(result.lost),
        twice=len(result.twice),
        failures=dict(result.failures),
        acknowledged=result.acknowledged,
        recovered_s=max(result.recovered_s, default=0.0),
        worst_wait_s=result.worst_wait_s,
        lines=dict(result.counts),
        claim_ms=list(claims_ms),
        claim_busy_ms=1000 * busy[int(0.95 * len(busy))] if busy else 0.0,
        processor_s=used.seconds,
        run_s=used.run_s,
        seconds=time.monotonic() - began_s,
    )
    sys.stdout.write(json.dumps(asdict(figures)) + "\n")


def _run_agents(
    rows: Any, outcome: Any, folder: Path, address: str, supervisor: int, options: Options
) -> tuple[Any, dict[str, int], ProcessorTime]:
    """Run agents while processes are killed and jobs are submitted; count after all jobs have
    ended."""
    chance = random.Random(options.seed)  # noqa: S311
    owners = [owner.username for owner in rows.make_owners(options.owners)]
    target = rows.make_target()
    flood = round(_FLOOD_SHARE * options.jobs)
    names = [f"{rows.FLOOD}/net-{number}" for number in range(flood)]
    small = [
        f"{owners[1 + number % options.owners]}/net-{number}"
        for number in range(options.jobs - flood)
    ]
    say(f"publishing {options.jobs} models")
    submitted = rows.submit_all(rows.make_models(names), target)
    waiting = rows.make_models(small)
    say(f"{options.agents} agents join")
    rows.join(address, folder, options.agents)
    shares = {"partition": options.partition, "duplicate": options.duplicate}
    rows.write_work(folder, seconds=options.job_s, **shares)
    with _agents(folder, address, options.seed) as group:
        roots = {"hub": [supervisor], "agents": [group], "database": _database(folder)}
        used = ProcessorTime(roots)
        roles = turns(options.kills, chance)
        killer = Killer(supervisor, folder / "pids", group, roles, chance)
        steps = max(options.kills, len(waiting), options.models)
        for number in spread_out(steps, options.kill_s):
            if is_due(number, options.models, steps):
                rows.publish_real(number)
            if is_due(number, len(waiting), steps):
                submitted.append(rows.submit(waiting.pop(), target))
            if is_due(number, options.kills, steps):
                killer.kill_one()
        submitted += [rows.submit(revision, target) for revision in waiting]
        say(f"killed {dict(killer.kills)}; {outcome.open_jobs()} jobs are open")
        deadline = time.monotonic() + options.patience_s
        withdrawn = 0
        while outcome.open_jobs() and time.monotonic() < deadline + _GRACE_S:
            if time.monotonic() > deadline:
                withdrawn += outcome.withdraw_queued()
            time.sleep(_POLL_S)
        used.stop()
    result = outcome.outcome(folder, submitted, killer.holders)
    result.withdrawn = withdrawn
    return result, dict(killer.kills), used


def _database(folder: Path) -> list[int]:
    """The process id of the database server in the folder, if there is one."""
    file = folder / "postgres" / "postmaster.pid"
    return [int(file.read_text().split()[0])] if file.exists() else []


def is_due(number: int, count: int, steps: int) -> bool:
    """Whether the step ``number`` of ``steps`` is one of ``count`` evenly spread steps, the first
    of which is step 0."""
    return number * count % steps < count


@contextmanager
def _agents(folder: Path, address: str, seed: int) -> Iterator[int]:
    """Run the agents while the block lasts; yields their process group.

    Raises RuntimeError if they end before they begin.
    """
    command = [sys.executable, "-m", "benchmarks.fleet_agents", str(folder), address, str(seed)]
    process = subprocess.Popen(
        [*command, str(os.getpid())], cwd=servers.ROOT, start_new_session=True
    )
    pids = folder / "pids"
    try:
        while not (pids.is_dir() and any(pids.iterdir())):
            if process.poll() is not None:
                raise RuntimeError("the agents ended before they began")
            time.sleep(0.1)
        yield process.pid
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _claims(rows: Any, folder: Path, options: Options) -> Sequence[float]:
    """Milliseconds of claims over HTTP by one device while many jobs wait."""
    data, port = folder / "data", servers.free_port()
    say(f"timing {options.claims} claims while {options.waiting} jobs wait")
    device = rows.fill_queue(options.waiting)
    environment = {"HPCFAIR_URL": servers.address(port)}
    times_ms = []
    with servers.hub(data, port, environment, start_s=_START_S):
        client = rows.join_one(servers.address(port), device)
        for _ in range(options.claims):
            offer = client.claim()
            if offer["job"] is None:
                raise RuntimeError(f"no job for the device: {offer['reason']}")
            times_ms.append(1000 * client.request_s)
            client.end(offer["job"]["job_uuid"], offer["job"]["fence"], "released", {})
    return times_ms


if __name__ == "__main__":
    main()
