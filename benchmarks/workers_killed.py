"""Workers killed in the middle of searches, and what was done twice because of it."""

import os
import signal
import sqlite3
import time
from contextlib import closing, suppress
from pathlib import Path

from benchmarks.report import say
from benchmarks.servers import below

_POLL_S = 0.2
# Long enough for the supervisor to start the next one.
_PAUSE_S = 5.0


def kill_in_search(process: int, data: Path, kills: int, patience_s: float) -> int:
    """Kill the tuner of the hub ``process`` this many times while it searches; how often it did."""
    deadline, killed = time.monotonic() + patience_s, 0
    while killed < kills and time.monotonic() < deadline:
        if _searches(data) and (tuners := _workers(process, "target")):
            for pid in tuners:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            killed += 1
            say(f"killed the tuner ({killed})")
            time.sleep(_PAUSE_S)
        time.sleep(_POLL_S)
    return killed


def twice(data: Path) -> int:
    """Searches and inspections that were completed twice, and trials that were repeated in one."""
    jobs = """
        SELECT coalesce(sum(times - 1), 0) FROM (
            SELECT count(*) AS times FROM registry_job
            WHERE state = 'succeeded' AND kind IN ('inspect', 'tune')
            GROUP BY kind, revision_id, target_id
        )
    """
    trials = """
        SELECT coalesce(sum(times - 1), 0) FROM (
            SELECT count(*) AS times FROM registry_trial WHERE outcome != 'infrastructure'
            GROUP BY job_id, config_sha256
        )
    """
    return sum(_count(data, query) for query in (jobs, trials))


def _searches(data: Path) -> bool:
    query = "SELECT count(*) FROM registry_trial JOIN registry_job ON registry_job.id = job_id"
    return _count(data, f"{query} WHERE registry_job.state = 'leased'") > 0


def _workers(process: int, role: str) -> list[int]:
    """The process of the role, and its children."""
    pids = []
    for pid in below(process):
        with suppress(OSError):
            words = (Path("/proc") / str(pid) / "cmdline").read_bytes().split(b"\0")
            if words[1:4] == [b"-m", b"workers", role.encode()]:
                pids.append(pid)
    return pids


def _count(data: Path, query: str) -> int:
    with closing(sqlite3.connect(f"file:{data}/db.sqlite3?mode=ro", uri=True)) as database:
        return int(database.execute(query).fetchone()[0])
