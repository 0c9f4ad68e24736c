"""The journal of a bundle's jobs: their writes, on disk before the job continues.

::

    journal.jsonl        one JSON object per line
    blobs/<SHA-256>      the files that the jobs stored
    lock                 locked while the jobs run

Each line names its job and the fence of the claim, and one event::

    {"job", "fence", "begin": <number of starts>}
    {"job", "fence", "candidate": <SHA-256>}               tried next; empty: none
    {"job", "fence", "keep": <SHA-256>}
    {"job", "fence", "number", "name", "columns"}          a write, numbered from 1 for each job
    {"job", "fence", "end": {"outcome", "result" | "failure", "signature"}}

A line that was cut off by a kill is removed at the next start. The whole file is signed when the
results are packed.
"""

import fcntl
import hashlib
import json
import os
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

JOURNAL = "journal.jsonl"
_BLOBS = "blobs"
_LOCK = "lock"
_PIECE = 2**20


class JournalBusy(Exception):
    """Another process does the jobs of this bundle."""


class JournalDamaged(Exception):
    """A line that is not the last one cannot be read."""


@dataclass(slots=True)
class JobEntries:
    """The entries of one job.

    Attributes:
        starts: Number of times that the job was begun.
        candidate: SHA-256 of the candidate that is being tried; empty if none is.
        fatal: Number of deaths of the device or the agent, by the SHA-256 of the candidate that
            was being tried.
        writes: Names and columns of its writes, in order.
        end: The signed end; ``None`` while the job has not ended.
    """

    starts: int = 0
    candidate: str = ""
    fatal: Counter[str] = field(default_factory=Counter)
    writes: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    end: dict[str, Any] | None = None


class BundleJournal:
    """The journal of one bundle; a context manager. Used by one process at a time."""

    def __init__(self, folder: Path) -> None:
        """Open the journal in ``folder``, which is made if it is missing.

        Raises:
            JournalBusy: another process has it open.
            JournalDamaged: it cannot be read.
        """
        self._folder = folder
        (folder / _BLOBS).mkdir(parents=True, exist_ok=True)
        self._lock = (folder / _LOCK).open("w")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._lock.close()
            raise JournalBusy(f"another process does the jobs in {folder}") from None
        self._jobs: dict[str, JobEntries] = {}
        self._file = (folder / JOURNAL).open("a+b")
        try:
            for line in _whole_lines(self._file):
                self._apply(line)
        except JournalDamaged:
            self.__exit__()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self._lock.close()

    @property
    def path(self) -> Path:
        """The file of the lines."""
        return self._folder / JOURNAL

    def entries(self, job: str) -> JobEntries:
        """The entries of a job. Callers must not change them."""
        return self._jobs.setdefault(job, JobEntries())

    def writes(self) -> list[tuple[str, dict[str, Any]]]:
        """Names and columns of the writes of all jobs, by job."""
        return [write for job in self._jobs.values() for write in job.writes]

    def begin(self, job: str, fence: int) -> int:
        """Record a start; returns how often the job was started."""
        self._append({"job": job, "fence": fence, "begin": self.entries(job).starts + 1})
        return self.entries(job).starts

    def write(self, job: str, fence: int, name: str, columns: dict[str, Any]) -> None:
        """Record a write; durable on return."""
        number = len(self.entries(job).writes) + 1
        line = {"job": job, "fence": fence, "number": number, "name": name, "columns": columns}
        self._append(line)

    def end(self, job: str, fence: int, end: dict[str, Any]) -> None:
        """Record the end of a job."""
        self._append({"job": job, "fence": fence, "end": end})

    def candidate(self, job: str, fence: int, config_sha256: str) -> None:
        """Record which candidate is tried next; empty: none is."""
        self._append({"job": job, "fence": fence, "candidate": config_sha256})

    def keep(self, job: str, fence: int, path: Path) -> str:
        """Copy a file into the journal's folder; returns its SHA-256."""
        digest = hashlib.sha256()
        descriptor, temporary = tempfile.mkstemp(dir=self._folder, prefix=".keep-")
        with os.fdopen(descriptor, "wb") as out, path.open("rb") as file:
            while piece := file.read(_PIECE):
                digest.update(piece)
                out.write(piece)
            out.flush()
            os.fsync(out.fileno())
        sha256 = digest.hexdigest()
        Path(temporary).replace(self._folder / _BLOBS / sha256)
        self._append({"job": job, "fence": fence, "keep": sha256})
        return sha256

    def blob(self, sha256: str) -> Path | None:
        """The file with a digest that a job stored; ``None`` if there is none."""
        path = self._folder / _BLOBS / sha256
        return path if path.is_file() else None

    def blobs(self) -> list[tuple[str, int]]:
        """SHA-256 and size in bytes of all stored files, by digest."""
        paths = sorted((self._folder / _BLOBS).iterdir())
        return [(path.name, path.stat().st_size) for path in paths]

    def _append(self, line: dict[str, Any]) -> None:
        text = json.dumps(line, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        self._file.write(text.encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())
        self._apply(json.loads(text))

    def _apply(self, line: dict[str, Any]) -> None:
        job = self._jobs.setdefault(line["job"], JobEntries())
        if "begin" in line:
            job.starts = line["begin"]
            if job.candidate:
                job.fatal[job.candidate] += 1
            job.candidate = ""
        elif "candidate" in line:
            job.candidate = line["candidate"]
        elif "end" in line:
            job.end = line["end"]
        elif "name" in line:
            job.writes.append((line["name"], line["columns"]))
            if line["name"] == "trial_add":
                job.candidate = ""


def _whole_lines(file: Any) -> Iterator[dict[str, Any]]:
    """The lines of a journal. An incomplete line at the end of the file is removed."""
    file.seek(0)
    end = 0
    for number, line in enumerate(file, 1):
        if not line.endswith(b"\n"):
            break
        try:
            yield json.loads(line)
        except ValueError as error:
            raise JournalDamaged(f"line {number} of {file.name} cannot be read") from error
        end += len(line)
    file.truncate(end)
