"""Random SIGKILLs of agents, of the hub's servers, of workers and of their child processes."""

import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.servers import below

#: Role to a part of the command line of its processes below the supervisor.
_COMMANDS = {
    "hub": (b"gunicorn", b"nginx"),
    "beat": (b"\0-m\0workers\0beat\0",),
    "inspector": (b"\0-m\0workers\0hub\0",),
    "tuner": (b"\0-m\0workers\0target\0",),
    "child": (b"hpcfair.isolation.child_main",),
}
#: Shares of the kills by role; the others are kills of agents.
_SHARES = {"hub": 0.06, "beat": 0.02, "inspector": 0.04, "tuner": 0.06, "child": 0.06}
#: Role of the real tuner. It holds one attempt at a time, so a kill ends its attempt.
TUNER = "tuner"


def turns(count: int, chance: random.Random) -> list[str]:
    """The roles of ``count`` kills in random order; each role at least once if ``count``
    permits."""
    roles = [role for role, share in _SHARES.items() for _ in range(max(1, round(share * count)))]
    roles = (roles + ["agent"] * (count - len(roles)))[:count]
    chance.shuffle(roles)
    return roles


@dataclass
class Killer:
    """Kills random processes of a running fleet.

    Attributes:
        supervisor: Process id of ``manage.py serve``, which is never killed itself.
        pids: Folder with a file for each agent that holds its process id.
        group: Process group of the agents.
        turns: Roles of the remaining kills; a role without a process is passed over.
        kills: Number of killed processes by role.
        holders: Names of killed agents, or ``tuner``, with the times of the kills.
    """

    supervisor: int
    pids: Path
    group: int
    turns: list[str]
    chance: random.Random
    kills: Counter[str] = field(default_factory=Counter)
    holders: list[tuple[str, datetime]] = field(default_factory=list)

    def kill_one(self) -> None:
        """Kill a process of the next role that has one, or an agent if no role has."""
        for role in dict.fromkeys(self.turns):
            if self._kill(role):
                self.turns.remove(role)
                return
        self._kill("agent")

    def _kill(self, role: str) -> bool:
        """Kill a process of the role; returns whether there was one."""
        holder, pid = role, 0
        if role == "agent":
            file = self.chance.choice(list(self.pids.iterdir()))
            # Empty while it is being written.
            holder, pid = file.name, int(file.read_text() or 0)
            is_killed = bool(pid) and _kill_process(pid, lambda: os.getpgid(pid) == self.group)
        else:
            processes = self._processes(role)
            if not processes:
                return False
            pid = self.chance.choice(processes)
            is_killed = _kill_process(pid, lambda: pid in set(below(self.supervisor)))
        if is_killed:
            self.kills[role] += 1
            if role in {"agent", TUNER}:
                self.holders.append((holder, datetime.now(UTC)))
        return is_killed

    def _processes(self, role: str) -> list[int]:
        pids = []
        for pid in below(self.supervisor):
            # Processes end while they are listed.
            with suppress(OSError):
                command = (Path("/proc") / str(pid) / "cmdline").read_bytes()
                if any(part in command for part in _COMMANDS[role]):
                    pids.append(pid)
        return pids


def _kill_process(pid: int, is_ours: Callable[[], bool]) -> bool:
    """Send SIGKILL to a process if it still belongs to the benchmark; returns whether it did.

    A process descriptor is used, so that a new process with the same id is never killed.
    """
    with suppress(ProcessLookupError):
        descriptor = os.pidfd_open(pid)
        try:
            if is_ours():
                signal.pidfd_send_signal(descriptor, signal.SIGKILL)
                return True
        finally:
            os.close(descriptor)
    return False


def spread_out(count: int, seconds: float) -> Iterable[int]:
    """Yield numbers from 0 to ``count`` - 1, spread over ``seconds``."""
    began_s = time.monotonic()
    for number in range(count):
        time.sleep(max(0.0, began_s + seconds * number / count - time.monotonic()))
        yield number
