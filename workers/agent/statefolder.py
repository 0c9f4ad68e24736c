"""The folder with the state of an agent: identity, journal, cache and workspaces.

::

    <state>/                    mode 0700
      device.json               the hub, the name of the device and its token; mode 0600
      board.json                facts of the device, if it is not this machine
      hub.json                  the key that signs the hub's bundles
      device.key                the private key of the device; mode 0600
      journal.sqlite3           the open claim, and what the hub has not confirmed
      heartbeat.json            the last heartbeat, for `hpcfair-agent status`
      lock                      locked while an agent runs
      cache/                    files of jobs, by SHA-256
      work/                     private workspaces of jobs
"""

import fcntl
import os
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from workers.agent.enrolment import make_state

_SYSTEM = Path("/var/lib/hpcfair-agent")
_LOCK = "lock"
_FILES = (
    "device.json",
    "hub.json",
    "board.json",
    "device.key",
    "journal.sqlite3",
    "journal.sqlite3-journal",
    "journal.damaged",
    "heartbeat.json",
)
_FOLDERS = ("cache", "work")
#: Attempts to lock the folder, and seconds between them.
_ATTEMPTS, _PAUSE_S = 5, 0.1


class StateInUse(Exception):
    """Another agent runs with this state folder."""


class ForeignState(Exception):
    """The state folder belongs to another user; the message says what to do."""


def default_state(environment: Mapping[str, str] | None = None) -> Path:
    """The default state folder: that of the system for root and for services, else that of the
    user."""
    env = os.environ if environment is None else environment
    # systemd sets STATE_DIRECTORY for services with a StateDirectory.
    if folder := env.get("HPCFAIR_AGENT_STATE") or env.get("STATE_DIRECTORY"):
        return Path(folder)
    if os.geteuid() == 0:
        return _SYSTEM
    home = env.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(home) / "hpcfair-agent"


def require_own(state: Path) -> None:
    """Raise ForeignState for a state folder of another user, whose agent could not write the files
    that this user creates in it."""
    with suppress(FileNotFoundError):
        if state.stat().st_uid != os.geteuid():
            raise ForeignState(
                f"{state} belongs to another user. Run the command as that user, or name another "
                "folder by --state."
            )


@contextmanager
def locked(state: Path) -> Iterator[None]:
    """Lock a state folder against other agents; it is created if it is missing.

    Raises:
        StateInUse: another agent has it.
        OSError: it cannot be written.
    """
    make_state(state)
    with (state / _LOCK).open("a") as lock:
        # `status` takes the lock for a moment.
        for _ in range(_ATTEMPTS):
            if _is_locked(lock):
                yield
                return
            time.sleep(_PAUSE_S)
    raise StateInUse(f"An agent runs with {state}: stop it first.")


def is_in_use(state: Path) -> bool:
    """Whether an agent runs with a state folder. Raises OSError."""
    with suppress(FileNotFoundError), (state / _LOCK).open("a") as lock:
        return not _is_locked(lock)
    return False


def _is_locked(lock: IO[str]) -> bool:
    """Lock an open file for this process, unless another one has done so."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def clear(state: Path) -> None:
    """Delete all files of an agent from its state folder."""
    for name in _FILES:
        (state / name).unlink(missing_ok=True)
    for name in _FOLDERS:
        shutil.rmtree(state / name, ignore_errors=True)
