"""The journal of a device: its open claim and the writes that the hub has not confirmed.

It is an SQLite file in the state folder, so that a device that crashed or was restarted can send
the rest and continue. Each method is one durable transaction. It holds no secrets.
"""

import json
import logging
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

logger = logging.getLogger(__name__)

_FILE = "journal.sqlite3"
#: The write with which the trial of a candidate ends.
_AFTER_CANDIDATE = "trial_add"
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_SCHEMA = """
CREATE TABLE IF NOT EXISTS claim (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    ticket TEXT NOT NULL,       -- JSON of the ticket
    boot TEXT NOT NULL,         -- boot of the machine in which the work began
    starts INTEGER NOT NULL,    -- number of times that the work was begun
    candidate TEXT NOT NULL,    -- SHA-256 of the candidate that is being tried, or empty
    written INTEGER NOT NULL,   -- number of the last write
    report TEXT NOT NULL        -- JSON of the report of the end, or empty
);
CREATE TABLE IF NOT EXISTS unsent (
    number INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    columns TEXT NOT NULL
);
"""


@dataclass(frozen=True, slots=True)
class OpenClaim:
    """A claim whose end the hub has not confirmed.

    Attributes:
        ticket: JSON of the ticket.
        starts: Number of times that the work was begun on this device.
        candidate: SHA-256 of the candidate that was being tried; empty if none was.
        is_of_this_boot: Whether the machine has not been restarted since the work was begun.
        report: Report of the end, not yet confirmed; ``None`` while the work lasts.
    """

    ticket: dict[str, Any]
    starts: int
    candidate: str
    is_of_this_boot: bool
    report: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class UnsentWrite:
    """A write that the hub has not confirmed; writes of a claim are numbered from 1."""

    number: int
    name: str
    columns: dict[str, Any]


class Journal:
    """The journal in a state folder. Used by one thread; a context manager."""

    def __init__(self, state: Path) -> None:
        """Open the journal. A damaged file is renamed and a new one begun; the hub then waits until
        the lease expires.

        Raises:
            OSError, sqlite3.Error: it cannot be written.
        """
        self._path = state / _FILE
        try:
            self._database = _open_database(self._path)
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError):
                raise
            logger.warning("%s is damaged and set aside: %s", self._path, error)
            self._path.replace(self._path.with_suffix(".damaged"))
            self._database = _open_database(self._path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._database.close()

    def claim(self) -> OpenClaim | None:
        """The claim that is open; ``None`` if there is none."""
        query = "SELECT ticket, starts, candidate, boot, report FROM claim"
        row = self._database.execute(query).fetchone()
        if row is None:
            return None
        ticket, starts, candidate, boot, report = row
        return OpenClaim(
            ticket=json.loads(ticket),
            starts=starts,
            candidate=candidate,
            is_of_this_boot=boot == _boot(),
            report=json.loads(report) if report else None,
        )

    def begin(self, ticket: dict[str, Any]) -> None:
        """Open a claim. There must be none."""
        with self._transaction() as database:
            columns = (json.dumps(ticket), _boot())
            database.execute("INSERT INTO claim VALUES (1, ?, ?, 1, '', 0, '')", columns)

    def begin_again(self) -> None:
        """Count another start of the work on the open claim."""
        with self._transaction() as database:
            database.execute(
                "UPDATE claim SET starts = starts + 1, candidate = '', boot = ?", (_boot(),)
            )

    def add(self, name: str, columns: dict[str, Any]) -> int:
        """Store a write of the open claim, to be sent; returns its number. The write
        of a trial also clears the candidate that is being tried.

        Raises:
            ValueError: the columns contain NaN or infinity.
        """
        text = json.dumps(columns, allow_nan=False)
        with self._transaction() as database:
            database.execute("UPDATE claim SET written = written + 1")
            if name == _AFTER_CANDIDATE:
                database.execute("UPDATE claim SET candidate = ''")
            (number,) = database.execute("SELECT written FROM claim").fetchone()
            database.execute("INSERT INTO unsent VALUES (?, ?, ?)", (number, name, text))
        return int(number)

    def note_candidate(self, config_sha256: str) -> None:
        """Store which candidate is tried next."""
        with self._transaction() as database:
            database.execute("UPDATE claim SET candidate = ?", (config_sha256,))

    def unsent(self) -> list[UnsentWrite]:
        """Writes that the hub has not confirmed, in order."""
        rows = self._database.execute("SELECT number, name, columns FROM unsent ORDER BY number")
        return [UnsentWrite(number, name, json.loads(text)) for number, name, text in rows]

    def confirm(self, number: int) -> None:
        """Remove a write that the hub has confirmed, or refused."""
        with self._transaction() as database:
            database.execute("DELETE FROM unsent WHERE number = ?", (number,))

    def end(self, report: dict[str, Any]) -> None:
        """Store the report of the end of the open claim."""
        with self._transaction() as database:
            text = json.dumps(report, allow_nan=False)
            database.execute("UPDATE claim SET report = ?", (text,))

    def clear(self) -> None:
        """Close the claim: the hub has confirmed its end, or gave the job to another worker."""
        with self._transaction() as database:
            database.execute("DELETE FROM unsent")
            database.execute("DELETE FROM claim")

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._database:
            yield self._database


def _open_database(path: Path) -> sqlite3.Connection:
    # A rollback journal instead of WAL, which network file systems do not support.
    database = sqlite3.connect(path, timeout=30)
    try:
        database.execute("PRAGMA synchronous = EXTRA")
        database.executescript(_SCHEMA)
    except BaseException:
        database.close()
        raise
    return database


def _boot() -> str:
    """Identifier of this boot of the machine; empty where the system has none."""
    try:
        return _BOOT_ID.read_text().strip()
    except OSError:
        return ""
