"""Downloads one file, with resumption and verification."""

from pathlib import Path

from hpcfair.body import blocks
from hpcfair.errors import Corrupt, HubUnreachable, Offline
from hpcfair.intake import Intake
from hpcfair.partial import Partials
from hpcfair.progress import Meter
from hpcfair.transport import Transport
from hpcfair.types import File

#: Broken connections in a row without progress before the download fails.
_PATIENCE = 3


def receive(http: Transport, partials: Partials, file: File, meter: Meter) -> Path:
    """A verified file among ``partials``, for the caller to rename into place.

    After a failure, the received bytes are kept for the next attempt.

    Raises:
        Corrupt: the bytes do not match their digest; they are removed.
        HubUnreachable: bytes are missing and cannot be downloaded.
        OSError: the disk is full.
    """
    part = partials.start(file.sha256)
    try:
        with Intake(part, meter) as intake:
            _complete(http, file, intake)
    except Corrupt:
        part.unlink(missing_ok=True)
        raise
    except BaseException:
        partials.leave(part)
        raise
    return part


def _complete(http: Transport, file: File, intake: Intake) -> None:
    if intake.size_bytes > file.size_bytes:
        intake.restart()
    resumed = intake.size_bytes
    _fill(http, file, intake)
    if resumed and intake.sha256() != file.sha256:
        # The interrupted download was damaged: start again.
        intake.restart()
        _fill(http, file, intake)
    if intake.sha256() != file.sha256:
        raise Corrupt(
            f"The bytes received for {file.path} have another digest.",
            "Try again; if it stays, the hub's copy is damaged.",
        )


def _fill(http: Transport, file: File, intake: Intake) -> None:
    """Fill ``intake`` up to the size of the file, resuming after broken connections."""
    fruitless = 0
    while (have := intake.size_bytes) < file.size_bytes:
        try:
            _request_rest(http, file, intake)
        except Offline:
            raise
        except HubUnreachable:
            fruitless = 0 if intake.size_bytes > have else fruitless + 1
            if fruitless == _PATIENCE:
                raise
        else:
            break
    if intake.size_bytes != file.size_bytes:
        raise Corrupt(
            f"The hub sent {intake.size_bytes} bytes of {file.path}, which has {file.size_bytes}.",
            "Try again; if it stays, the hub's copy is damaged.",
        )


def _request_rest(http: Transport, file: File, intake: Intake) -> None:
    have = intake.size_bytes
    headers = {"Accept-Encoding": "identity"}
    if have:
        # The tag is the digest: if the content has changed, the whole file is sent.
        headers |= {"Range": f"bytes={have}-", "If-Range": f'"{file.sha256}"'}
    with http.open("GET", file.url, headers=headers) as response:
        spliced = response.headers.get("Content-Range", "").startswith(f"bytes {have}-")
        if not (response.status_code == 206 and spliced):
            intake.restart()
        for block in blocks(response):
            intake.write(block)
            if (
                intake.size_bytes > file.size_bytes
            ):  # never fill the disk for a server that sends too much
                return
