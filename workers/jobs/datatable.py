"""Table jobs: read the columns of a data set's files in a confined child process."""

from typing import Any

from hpcfair.isolation.limits import Limits
from hpcfair.tickets import FileTicket, JobTicket
from registry.fair.datatable import table_format
from registry.selectors.results.datatable import data_tables
from registry.services.results.datatable import data_tables_store
from workers.device.ports import Hub
from workers.device.workspace import workspace
from workers.engine.child import call
from workers.jobs.device import device_settings

_WALL_S = 300.0
#: Upper bounds on the files of one job, on the bytes of one file and on the bytes of all.
MAX_FILES = 64
MAX_FILE_BYTES = 64 * 2**20
MAX_BYTES = 256 * 2**20


def work(hub: Hub) -> dict[str, Any]:
    """Read the files that were not read yet; returns a summary."""
    ticket = hub.ticket
    chosen = _unread(ticket)
    if chosen:
        hub.progress("read", 0, None, f"{len(chosen)} files")
        tables = _read(hub, chosen)
        data_tables_store(job_uuid=ticket.job_uuid, fence=ticket.fence, tables=tables)
    return {"summary": f"{len(chosen)} files read"}


def _unread(ticket: JobTicket) -> dict[str, tuple[FileTicket, str]]:
    """Digest to file and format; larger files, and those beyond the bounds, are left out."""
    known_tables = data_tables([file.sha256 for file in ticket.files])
    chosen: dict[str, tuple[FileTicket, str]] = {}
    size = 0
    for file in ticket.files:
        kind = table_format(file.path)
        if kind is None or (file.sha256, kind) in known_tables or file.sha256 in chosen:
            continue
        if file.size_bytes > MAX_FILE_BYTES or size + file.size_bytes > MAX_BYTES:
            continue
        if len(chosen) < MAX_FILES:
            chosen[file.sha256] = (file, kind)
            size += file.size_bytes
    return chosen


def _read(hub: Hub, chosen: dict[str, tuple[FileTicket, str]]) -> dict[str, Any]:
    settings = device_settings()
    with workspace(settings.work, "tables") as folder:
        inputs, scratch = folder / "files", folder / "scratch"
        inputs.mkdir()
        scratch.mkdir()
        # Named by their digests: nothing of the paths of strangers reaches the file system.
        hub.fetch(
            (FileTicket(digest, digest, file.size_bytes) for digest, (file, _) in chosen.items()),
            inputs,
        )
        tables: dict[str, Any] = call(
            "workers.inspection.datatable:read_tables",
            limits=Limits(wall_s=_WALL_S, memory_bytes=settings.child_memory_bytes),
            workspace=scratch,
            readable=[inputs],
            folder=str(inputs),
            files={digest: kind for digest, (_, kind) in chosen.items()},
        )
        return tables
