"""One file from the hub: resumed where it broke off, verified before it counts."""

from pathlib import Path

from hpcfair.body import blocks
from hpcfair.errors import Corrupt, HubUnreachable, Offline
from hpcfair.intake import Intake
from hpcfair.partial import Partials
from hpcfair.progress import Meter
from hpcfair.transport import Transport
from hpcfair.types import File

#: Broken connections in a row without a byte gained, after which we give up.
_PATIENCE = 3


def receive(http: Transport, partials: Partials, file: File, meter: Meter) -> Path:
    """A verified file among ``partials``, for the caller to rename into place.

    What came until a failure is left there, for whoever asks next.

    Raises:
        Corrupt: the hub's bytes differ from their digest; they are gone.
        HubUnreachable: bytes are missing and cannot be had.
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
        # The rest somebody left was damaged: once more from the start.
        intake.restart()
        _fill(http, file, intake)
    if intake.sha256() != file.sha256:
        raise Corrupt(
            f"The bytes received for {file.path} have another digest.",
            "Try again; if it stays, the hub's copy is damaged.",
        )


def _fill(http: Transport, file: File, intake: Intake) -> None:
    """Fill ``intake`` up to the file's size, going on after broken connections."""
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
        # The tag is the digest: other bytes under the same address are sent whole, not spliced.
        headers |= {"Range": f"bytes={have}-", "If-Range": f'"{file.sha256}"'}
    with http.open("GET", file.url, headers=headers) as response:
        spliced = response.headers.get("Content-Range", "").startswith(f"bytes {have}-")
        if not (response.status_code == 206 and spliced):
            intake.restart()
        for block in blocks(response):
            intake.write(block)
            if intake.size_bytes > file.size_bytes:  # never fill a disk for a server that goes on
                return
