"""Uploaders that are killed at random moments, and what must hold of what they left.

A helper process, which never opens a connection to the database, forks uploaders on demand, so
that killing hundreds of them takes seconds. Each uploads, commits and collects garbage in a loop,
and writes what it is about to commit, and what it was told is committed, to a log on the disk.
"""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from registry.services.storage.fsck import fsck
from registry.tables import Revision

# One line in, "<uploaders> <seed>", is so many uploaders forked, whose numbers are one line out;
# the next line in says that they are dead.
HELPER = """
import os, sys
import django
django.setup()
from tests.registry.storage.uploading import upload_on
print("ready", flush=True)
for line in sys.stdin:
    count, seed = map(int, line.split())
    workers = []
    for number in range(count):
        worker = os.fork()
        if worker == 0:
            try:
                upload_on(sys.argv[1], seed=seed + number)
            finally:
                os._exit(1)
        workers.append(worker)
    print(*workers, flush=True)
    sys.stdin.readline()
    print(*(os.waitpid(worker, 0)[1] for worker in workers), flush=True)
"""


@dataclass
class Tally:
    """What came of it.

    Attributes:
        kills: Uploaders that died of SIGKILL.
        acknowledged: Commits that uploaders were told of.
        unheard: Commits that are there although the uploader died before it was told.
        litter: What was left for garbage collection, by kind, at the last look.
        littered: Number of looks that found litter: one just after a collection may find none.
        broken: What must not be: acknowledged commits that are not there, faults, strangers.
    """

    kills: int = 0
    acknowledged: int = 0
    unheard: int = 0
    litter: Counter[str] = field(default_factory=Counter)
    littered: int = 0
    broken: list[str] = field(default_factory=list)


def kill_uploads(
    *,
    log: Path,
    environment: dict[str, str],
    kills: int,
    at_once: int = 2,
    look_every: int = 40,
    longest_s: float = 0.25,
    seed: int = 0,
) -> Tally:
    """Kill so many uploaders, ``at_once`` at a time, and look at what they left now and then.

    Args:
        log: A file of this run's own.
        environment: Of the helper: names the database and data folder that this process uses.
        longest_s: The longest time an uploader lives, or half of them after something was
            acknowledged: on a busy machine, too, some must get that far.
    """
    chance = random.Random(seed)  # noqa: S311 (it only spreads the kills)
    tally = Tally()
    looked_at = 0
    log.touch()
    with _helper(log, environment) as ask:
        while tally.kills < kills and not tally.broken:
            workers = ask(f"{at_once} {chance.randrange(2**32)}")
            if chance.random() < 0.5:
                _wait_for_news(log)
            for worker in workers:
                time.sleep(chance.uniform(0.0, longest_s / len(workers)))
                os.kill(worker, signal.SIGKILL)
            statuses = ask("dead")
            tally.kills += statuses.count(signal.SIGKILL)
            if any(status != signal.SIGKILL for status in statuses):
                tally.broken.append(f"an uploader failed by itself: {statuses}")
            if tally.kills - looked_at >= look_every or tally.kills >= kills:
                looked_at = tally.kills
                look(log, tally)
    return tally


def look(log: Path, tally: Tally) -> None:
    """Hold the log against what is there."""
    # A line that was cut off promises nothing.
    lines = [line.split() for line in log.read_text().splitlines(keepends=True) if line[-1] == "\n"]
    tried = {words[1] for words in lines if words[0] == "try"}
    told = {(words[1], words[2]): words[3:] for words in lines if words[0] == "told"}
    tally.acknowledged, tally.unheard = len(told), 0
    rows = Revision.objects.exclude(message="initial commit")
    there = {(str(row.mlmodel_id), row.oid): row for row in rows}
    for key, files in told.items():
        row = there.get(key)
        if row is None:
            tally.broken.append(f"acknowledged, and not there: {key}")
        elif sorted(f"{file.path}={file.blob_id}" for file in row.files.all()) != sorted(files):
            tally.broken.append(f"acknowledged, and not as it was: {key}")
    for key, row in there.items():
        if key not in told:
            tally.unheard += 1
            if row.message not in tried:
                tally.broken.append(f"there, and nobody made it: {key} {row.message}")
    if tally.unheard > tally.kills:
        tally.broken.append(f"{tally.unheard} commits nobody was told of by {tally.kills} dead")
    found = list(fsck())
    tally.litter = Counter(fault.kind for fault in found if fault.is_litter)
    tally.littered += bool(tally.litter)
    tally.broken += [str(fault) for fault in found if not fault.is_litter]


def _wait_for_news(log: Path) -> None:
    known, deadline = log.read_bytes().count(b"told"), time.monotonic() + 120
    while log.read_bytes().count(b"told") == known and time.monotonic() < deadline:
        time.sleep(0.005)


@contextmanager
def _helper(log: Path, environment: dict[str, str]) -> Iterator["Ask"]:
    command = [sys.executable, "-c", HELPER, str(log)]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, stdin=pipe, stdout=pipe, text=True, env=os.environ | environment
    ) as process:
        ask = Ask(process)
        assert ask.answer() == ["ready"]
        yield ask
        assert process.stdin is not None
        process.stdin.close()


class Ask:
    """Says a line to the helper and gives the numbers it answers."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def __call__(self, line: str) -> list[int]:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()
        return [int(word) for word in self.answer()]

    def answer(self) -> Sequence[str]:
        """The next line, as words."""
        assert self._process.stdout is not None
        return self._process.stdout.readline().split()
