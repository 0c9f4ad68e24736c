"""Import jobs: fetch a model of another server, and commit it in the name of a user.

Comparison, verification and the rules for licenses are the client's. What was fetched stays in a
folder of the model until the import succeeds, so that a repeated one resumes.
"""

import shutil
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from django.conf import settings

from hpcfair.cache import Cache
from hpcfair.config import Config
from hpcfair.errors import HpcfairError
from hpcfair.importrules import ModelImportOptions
from hpcfair.modelimport import ModelImport, compare_origin, import_into
from hpcfair.origin import ModelOrigin
from hpcfair.transport import Transport
from registry.services.repository.modelimport import (
    ImportTicket,
    import_begin,
    import_servers,
)
from workers.jobs.guardedhttp import GuardedTransport
from workers.jobs.hub import RegistryHub
from workers.jobs.importdestination import RegistryDestination
from workers.jobs.importfailures import failure_of

#: Age at which what a failed import has fetched is deleted.
_KEEP_S = 86_400.0
#: Names of files in a summary.
_MOST_NAMES = 5


def work(hub: RegistryHub) -> dict[str, Any]:
    """Import, update or compare a model; returns a summary.

    Raises:
        JobFailure: the origin refuses, lies or does not answer, or the copy is not permitted.
        LeaseLost, Cancelled: see :class:`~workers.device.ports.Hub`.
    """
    job = hub.ticket
    ticket = import_begin(job_uuid=job.job_uuid, fence=job.fence)
    request = ticket.request
    folder = _folder(ticket)
    config = Config(request.server, ticket.token or None, folder)
    hub.progress("import", 0, None, f"asking {request.server}")
    try:
        with Transport(
            config,
            transport=GuardedTransport(import_servers()),
            sleep=lambda seconds: _sleep(hub, seconds),
        ) as there:
            result = _import(hub, ticket, there, Cache(folder))
    except HpcfairError as error:
        raise failure_of(error, request, has_token=bool(ticket.token)) from error
    shutil.rmtree(folder, ignore_errors=True)
    return result


def imports_prune() -> None:
    """Delete what imports have fetched that failed a day ago, and were not repeated."""
    oldest = time.time() - _KEEP_S
    for folder in _root().glob("*"):
        with suppress(FileNotFoundError):
            if folder.stat().st_mtime < oldest:
                shutil.rmtree(folder, ignore_errors=True)


def _import(
    hub: RegistryHub, ticket: ImportTicket, there: Transport, cache: Cache
) -> dict[str, Any]:
    request = ticket.request
    origin = ModelOrigin(request.server, request.origin, request.revision or None)
    options = ModelImportOptions(
        request.license or None, request.visibility or None, request.overwrite
    )
    destination = RegistryDestination(hub, ticket)
    if request.compare:
        return _comparison(destination, there, origin, options)
    done = import_into(destination, there, cache, origin, options)
    return {
        "summary": _summary(done),
        "origin": done.origin,
        "commit": done.commit,
        "revision": done.revision.oid,
        "changed": len(done.changed),
        "deleted": len(done.deleted),
    }


def _summary(done: ModelImport) -> str:
    at = f"{done.origin} at {done.commit[:12]}"
    if not done.changed and not done.deleted:
        return f"{at}: nothing has changed there."
    return f"{at}: {_files(len(done.changed))} changed, {len(done.deleted)} deleted."


def _files(number: int) -> str:
    return f"{number} file{'' if number == 1 else 's'}"


def _comparison(
    destination: RegistryDestination,
    there: Transport,
    origin: ModelOrigin,
    options: ModelImportOptions,
) -> dict[str, Any]:
    plan = compare_origin(destination, destination.current(), there, origin, options)
    if isinstance(plan, ModelOrigin):
        summary = f"{plan.url} has not changed since the import."
        return {"summary": summary, "commit": str(plan.revision), "changed": 0, "deleted": 0}
    changes = plan.changes
    paths = [*(file.path for file in changes.updated), *changes.deleted]
    names = ", ".join(paths[:_MOST_NAMES]) + (" and others" if len(paths) > _MOST_NAMES else "")
    summary = f"{plan.version.origin.url} has changed: commit {plan.version.commit[:12]}, "
    summary += f"{_files(len(changes.updated))} changed, {len(changes.deleted)} deleted"
    summary += f" ({names})." if names else "."
    if changes.edited:
        summary += f" Changed here, too: {', '.join(changes.edited[:_MOST_NAMES])}."
    return {
        "summary": summary,
        "commit": plan.version.commit,
        "changed": len(changes.updated),
        "deleted": len(changes.deleted),
    }


def _folder(ticket: ImportTicket) -> Path:
    folder = _root() / str(ticket.mlmodel.uuid)
    folder.mkdir(parents=True, exist_ok=True)
    # Its age counts from the last attempt.
    folder.touch()
    return folder


def _root() -> Path:
    return Path(settings.DATA_DIR) / "imports"


def _sleep(hub: RegistryHub, seconds: float) -> None:
    """Wait before a request is repeated, unless the job is cancelled."""
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        hub.check()
        time.sleep(min(left, 1.0))
