"""Does the jobs of a bundle, one after another, and packs the results.

The state of a run is a folder beside the results, ``<OUT>.run``, so that a run that was killed
can continue: ended jobs are not repeated, and a search reads its own trials. The folder is
removed when the results are packed.
"""

import json
import logging
import os
import shutil
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hpcfair.bundle import RESULTS_SCHEMA, RESULTS_TYPE, BundledBlob, pieces
from hpcfair.bundlefile import BundleFile
from hpcfair.digest import sha256_of_file
from hpcfair.tickets import JobTicket
from workers.agent.bundle.answers import BundleAnswers
from workers.agent.bundle.hub import BundleClock, BundleHub
from workers.agent.bundle.journal import BundleJournal
from workers.agent.bundle.trust import BundleRefused, open_jobs
from workers.agent.connection import agent_version
from workers.agent.devicekey import DeviceKey
from workers.agent.report import signed_report
from workers.agent.stop import Stop
from workers.device.end import End, end_of
from workers.device.errors import JobFailure
from workers.device.kinds import WORK
from workers.device.ports import DeviceSettings
from workers.device.toolchain import tools_here
from workers.device.workspace import sweep
from workers.fleet.probe import ThisMachine, served_machine

logger = logging.getLogger(__name__)

#: Starts of a job after which it is given up: the job may be what kills this process.
_MOST_STARTS = 3
#: Deaths during a candidate after which it is not tried again.
_MOST_DEATHS = 2


@dataclass(frozen=True, slots=True)
class BundleRun:
    """The arguments of one run.

    Attributes:
        bundle: The file of the jobs.
        out: The file of the results, which must not exist.
        state: Folder of the agent, with the device's key and the trusted hub.
        trust: Id of a hub's key to trust from now on.
        finish: Whether to hand back unfinished jobs instead of leaving them for the next run.
    """

    bundle: Path
    out: Path
    state: Path
    trust: str | None = None
    finish: bool = False

    @property
    def folder(self) -> Path:
        """The state of the run."""
        return self.out.with_name(f"{self.out.name}.run")


def run_bundle(run: BundleRun, settings: DeviceSettings, stop: Stop) -> int:
    """Do the jobs of a bundle; returns the number of jobs that are left for the next run.

    The results are packed when none is left. No job is begun that is expected to take longer than
    ``stop`` leaves time for.

    Raises:
        BundleRefused: the bundle is not for this device, or the results exist already.
        JournalBusy, JournalDamaged, KeyUnusable, OSError.
    """
    if run.out.exists():
        raise BundleRefused(f"{run.out} exists already.")
    key = DeviceKey.in_folder(run.state)
    with (
        open_jobs(run.bundle, run.state, key, run.trust) as bundle,
        BundleJournal(run.folder) as journal,
    ):
        _require_same(run.folder, bundle)
        sweep(settings.work)
        here = _machine(bundle)
        remaining = _Jobs(settings, bundle, journal, here, key, stop).do()
        if run.finish:
            for ticket in remaining:
                _end(journal, key, ticket, End("released"))
            remaining = []
        if not remaining:
            _pack(run, bundle, journal, here, key)
    if not remaining:
        shutil.rmtree(run.folder)
    return len(remaining)


class _Jobs:
    """The jobs of one run."""

    def __init__(
        self,
        settings: DeviceSettings,
        bundle: BundleFile,
        journal: BundleJournal,
        here: ThisMachine,
        key: DeviceKey,
        stop: Stop,
    ) -> None:
        self._settings = settings
        self._bundle = bundle
        self._journal = journal
        self._here = here
        self._key = key
        self._stop = stop
        manifest = bundle.manifest
        self._jobs: list[dict[str, Any]] = manifest["jobs"]
        self._answers = BundleAnswers(json.loads(bundle.content_of(manifest["answers"])))
        self._clock = BundleClock(manifest["created_at"], manifest["lease_until"])

    def do(self) -> list[JobTicket]:
        """Do the jobs that have not ended and fit into the time; returns those that are left."""
        remaining = []
        for job in self._jobs:
            ticket = JobTicket.from_json(job["ticket"])
            if self._journal.entries(ticket.job_uuid).end is not None:
                continue
            if not self._fits(job["estimate_s"]) or not self._one(ticket):
                remaining.append(ticket)
        return remaining

    def _fits(self, estimate_s: float) -> bool:
        available_s = self._stop.available_s
        is_short = available_s is not None and available_s < estimate_s
        return not (self._stop.is_requested or is_short)

    def _one(self, ticket: JobTicket) -> bool:
        """Do a job; returns whether it has ended."""
        job, fence = ticket.job_uuid, ticket.fence
        if self._journal.begin(job, fence) > _MOST_STARTS:
            detail = f"The agent ended {_MOST_STARTS} times while it did this job."
            failure = JobFailure("crash", "job_interrupted", detail)
            _end(self._journal, self._key, ticket, End("failed", failure=failure))
            return True
        deaths = self._journal.entries(job).fatal
        fatal = tuple(sha256 for sha256, count in deaths.items() if count >= _MOST_DEATHS)
        ticket = replace(ticket, banned=(*ticket.banned, *fatal))
        hub = BundleHub(ticket, self._bundle, self._answers, self._journal, self._clock, self._stop)

        def work() -> dict[str, Any]:
            with self._stop.interruptible():
                return WORK[ticket.kind](hub, self._settings, self._here)

        logger.info("%s %s: attempt %d", ticket.kind, ticket.mlmodel, ticket.attempt)
        end = end_of(ticket, work)
        if end.outcome in {"released", "lost"}:
            # The agent was stopped by a signal; the candidate is not to blame.
            self._journal.candidate(job, fence, "")
            return False
        _end(self._journal, self._key, ticket, end)
        return True


def _end(journal: BundleJournal, key: DeviceKey, ticket: JobTicket, end: End) -> None:
    """Record the signed end of a job."""
    journal.end(ticket.job_uuid, ticket.fence, signed_report(ticket, end, key))


def _machine(bundle: BundleFile) -> ThisMachine:
    """This machine as the device that the bundle is for. Raises BundleRefused if it is of another
    target."""
    try:
        here = served_machine(bundle.manifest["target"])
    except ValueError as error:
        raise BundleRefused(str(error)) from error
    return replace(here, device=bundle.manifest["device"]["name"])


def _require_same(folder: Path, bundle: BundleFile) -> None:
    """Refuse to go on with the run of another bundle."""
    path = folder / "bundle"
    name = bundle.manifest["bundle"]
    with suppress(FileNotFoundError):
        if path.read_text() != name:
            raise BundleRefused(f"{folder} belongs to the run of another bundle.")
    path.write_text(name)


def _pack(
    run: BundleRun, bundle: BundleFile, journal: BundleJournal, here: ThisMachine, key: DeviceKey
) -> None:
    """Write the signed results, complete or not at all."""
    lines = BundledBlob(sha256_of_file(journal.path), journal.path.stat().st_size)
    attached = [BundledBlob(sha256, size) for sha256, size in journal.blobs()]
    blobs = [lines, *(blob for blob in attached if blob.sha256 != lines.sha256)]
    manifest = {
        "schema": RESULTS_SCHEMA,
        "bundle": bundle.manifest["bundle"],
        "journal": lines.sha256,
        "facts": here.spec.facts,
        "tools": tools_here(here),
        "agent_version": agent_version(),
        "blobs": [{"sha256": blob.sha256, "size_bytes": blob.size_bytes} for blob in blobs],
    }

    def open_blob(sha256: str) -> Any:
        path = journal.path if sha256 == lines.sha256 else journal.blob(sha256)
        assert path is not None  # noqa: S101 - listed by the journal
        return path.open("rb")

    temporary = run.out.with_name(f".{run.out.name}.part")
    with temporary.open("wb") as file:
        for piece in pieces(key.envelope(manifest, RESULTS_TYPE), blobs, open_blob):
            file.write(piece)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(run.out)
