"""The hub as the destination of an import in its own worker."""

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings

from hpcfair.digest import sha256_of_file
from hpcfair.hubprotocol import RemoteFile
from hpcfair.importdestination import ImportCommit
from hpcfair.progress import Meter
from hpcfair.types import File, MLModel, Revision
from registry.errors import Conflict
from registry.selectors.fair.origin import imported_version
from registry.selectors.repository.revision import files_of, revision_get
from registry.selectors.storage.quota import usage
from registry.services.fair.derivation import ModelOrigin
from registry.services.repository.modelimport import (
    ImportTicket,
    import_commit,
    import_publish,
)
from registry.services.storage.blob import blob_store, blob_used
from workers.device.errors import JobFailure
from workers.jobs.hub import RegistryHub

#: Seconds between two reports of progress, and until a rate is worth a forecast.
_EVERY_S, _FORECAST_AFTER_S = 0.5, 3.0


class RegistryDestination:
    """An :class:`~hpcfair.importdestination.ImportDestination` that calls the registry, as the user
    who requested the import. Raises ``JobFailure`` for what does not fit."""

    def __init__(self, hub: RegistryHub, ticket: ImportTicket) -> None:
        self._hub = hub
        self._ticket = ticket
        self.name = ticket.mlmodel.full_name

    def current(self) -> MLModel:
        mlmodel = self._ticket.mlmodel
        revision = revision_get(mlmodel)
        imported = imported_version(revision)
        return MLModel(
            self.name,
            visibility=mlmodel.visibility,
            is_held=mlmodel.is_held,
            card={"license": mlmodel.license},
            revision=revision.oid,
            default_branch=mlmodel.default_branch,
            files=tuple(
                File(row.path, row.blob.sha256, row.blob.size_bytes, oid=row.oid)
                for row in files_of(revision)
            ),
            origin={"url": imported.url, "commit": imported.oid} if imported else None,
        )

    def require_room(self, files: Sequence[RemoteFile]) -> None:
        needed = sum(file.size_bytes for file in files)
        if needed > settings.IMPORT_BYTES:
            raise JobFailure(
                "invalid",
                "body_too_large",
                f"The files have {needed:,} bytes, and an import may have at most "
                f"{settings.IMPORT_BYTES:,}. Nothing was moved. hpcfair import has no such limit.",
            )
        largest = max(files, key=lambda file: file.size_bytes, default=None)
        if largest is not None and largest.size_bytes > settings.MAX_BLOB_BYTES:
            raise JobFailure(
                "invalid",
                "body_too_large",
                f"{largest.path} has {largest.size_bytes:,} bytes, and a file may have at most "
                f"{settings.MAX_BLOB_BYTES:,} on this hub. Nothing was moved.",
            )
        namespace = self._ticket.mlmodel.namespace
        free = usage(namespace).free_bytes
        if free is not None and needed > free:
            raise JobFailure(
                "invalid",
                "quota_exceeded",
                f"The files have {needed:,} bytes, and {free:,} are left of the quota of "
                f"{namespace.name}. Nothing was moved. Delete something, or ask the hub's "
                "operators for more.",
            )

    def missing(self, digests: Sequence[str]) -> Collection[str]:
        usable = blob_used(actor=self._ticket.user, sha256s=digests)
        return [digest for digest in digests if digest not in usable]

    @contextmanager
    def transferring(self, message: str, total_bytes: int) -> Iterator[Meter]:
        yield _JobMeter(self._hub, message, total_bytes)

    def keep(self, files: Mapping[str, Path]) -> Mapping[str, str]:
        digests: dict[str, str] = {}
        for number, (path, local) in enumerate(files.items(), 1):
            self._hub.progress("store", number - 1, len(files), path)
            digests[path] = sha256_of_file(local)
            size_bytes = local.stat().st_size
            with local.open("rb") as stream:
                blob_store(
                    actor=self._ticket.user,
                    stream=stream,
                    sha256=digests[path],
                    size_bytes=size_bytes,
                )
        return digests

    def create(self, current: MLModel | None, visibility: str | None) -> None:  # noqa: ARG002
        import_publish(self._ticket, visibility)

    def head(self, current: MLModel | None) -> Revision:  # noqa: ARG002
        return Revision(revision_get(self._ticket.mlmodel).oid)

    def commit(self, current: MLModel | None, change: ImportCommit) -> Revision:
        self._hub.check()
        job = self._hub.ticket
        try:
            saved = import_commit(
                job_uuid=job.job_uuid,
                fence=job.fence,
                ticket=self._ticket,
                message=change.message,
                added=change.added,
                deleted=change.deleted,
                origin=ModelOrigin(change.origin.url, str(change.origin.revision)),
                parent_oid=str(current.revision) if current else "",
            )
        except Conflict as error:
            if error.code == "lease_lost":
                raise
            # The branch moved meanwhile; the fetched files stay for the next import.
            raise JobFailure("invalid", error.code, str(error)) from error
        return Revision(saved.oid)


class _JobMeter:
    """Reports bytes, the number of the file and the time left as the progress of the job; ends the
    download if the job is cancelled."""

    def __init__(self, hub: RegistryHub, message: str, total_bytes: int) -> None:
        self._hub = hub
        self._message = message
        self._total = total_bytes
        self._done = 0
        self._began_at = time.monotonic()
        self._reported_at = 0.0

    def advance(self, amount: int) -> None:
        self._done += amount
        self._hub.check()
        if time.monotonic() - self._reported_at >= _EVERY_S:
            self._report()

    def show(self, done: int, total: int | None, message: str) -> None:
        self._done, self._message = done, message
        self._total = self._total if total is None else total
        self._report()

    def _report(self) -> None:
        self._reported_at = time.monotonic()
        message = self._message + self._forecast(self._reported_at - self._began_at)
        self._hub.progress("import", self._done, self._total, message)

    def _forecast(self, seconds: float) -> str:
        if seconds < _FORECAST_AFTER_S or not self._done:
            return ""
        left_s = seconds * max(0, self._total - self._done) / self._done
        return f", about {left_s:.0f} s left" if left_s < 120 else f", {left_s / 60:.0f} min left"
