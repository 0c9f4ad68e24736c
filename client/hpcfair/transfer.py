"""Downloads one file, with resumption and verification."""

from collections.abc import Sequence
from pathlib import Path

from hpcfair.body import TooSlow, blocks
from hpcfair.difference import LocalRange
from hpcfair.errors import Corrupt, HubUnreachable, Offline
from hpcfair.intake import Intake
from hpcfair.partial import Partials
from hpcfair.progress import Meter
from hpcfair.transport import Transport
from hpcfair.types import File

#: Connections in a row that break without progress or are too slow, before the download fails.
_PATIENCE = 3
_COPY_BYTES = 2**20


def receive(
    http: Transport,
    partials: Partials,
    file: File,
    meter: Meter,
    local: Sequence[LocalRange] = (),
    part: Path | None = None,
) -> Path:
    """A verified file among ``partials``, for the caller to rename into place.

    After a failure, the received bytes are kept for the next attempt.

    Args:
        local: Ranges that are copied from files on disk, in order and disjoint. If the result does
            not match the digest, the whole file is downloaded.
        part: The partial file to download into, if one was started.

    Raises:
        Corrupt: the bytes do not match their digest; they are removed.
        HubUnreachable: bytes are missing and cannot be downloaded.
        OSError: the disk is full.
    """
    part = part or partials.start(file.sha256)
    try:
        with Intake(part, meter) as intake:
            _complete(http, file, intake, local)
    except Corrupt:
        part.unlink(missing_ok=True)
        raise
    except BaseException:
        partials.leave(part)
        raise
    return part


def _complete(http: Transport, file: File, intake: Intake, local: Sequence[LocalRange]) -> None:
    if intake.size_bytes > file.size_bytes:
        intake.restart()
    is_pieced = bool(intake.size_bytes or local)
    for piece in local:
        _fill(http, file, intake, piece.offset)
        _copy(piece, intake)
    _fill(http, file, intake, file.size_bytes)
    if is_pieced and intake.sha256() != file.sha256:
        # The interrupted download or a file on disk was damaged: start again.
        intake.restart()
        _fill(http, file, intake, file.size_bytes)
    if intake.sha256() != file.sha256:
        raise Corrupt(
            f"The bytes received for {file.path} have another digest.",
            "Try again; if it stays, the hub's copy is damaged.",
        )


def _copy(piece: LocalRange, intake: Intake) -> None:
    """Append what is missing of ``piece``. What cannot be read is left to be downloaded."""
    skip = intake.size_bytes - piece.offset
    left = piece.size_bytes - skip
    if left <= 0:
        return
    try:
        source = piece.path.open("rb")
    except OSError:
        return
    with source:
        source.seek(piece.local_offset + skip)
        while left and (block := source.read(min(left, _COPY_BYTES))):
            intake.write(block)
            left -= len(block)


def _fill(http: Transport, file: File, intake: Intake, end: int) -> None:
    """Fill ``intake`` up to byte ``end`` of the file, resuming after broken connections."""
    fruitless = 0
    while (have := intake.size_bytes) < end:
        try:
            _request_range(http, file, intake, end)
        except Offline:
            raise
        except HubUnreachable as error:
            is_slow = isinstance(error.__cause__, TooSlow)
            fruitless = 0 if intake.size_bytes > have and not is_slow else fruitless + 1
            if fruitless == _PATIENCE:
                raise
        else:
            break
    if not end <= intake.size_bytes <= file.size_bytes:
        raise Corrupt(
            f"The hub sent {intake.size_bytes} bytes of {file.path}, which has {file.size_bytes}.",
            "Try again; if it stays, the hub's copy is damaged.",
        )


def _request_range(http: Transport, file: File, intake: Intake, end: int) -> None:
    have = intake.size_bytes
    headers = {"Accept-Encoding": "identity"}
    if have or end < file.size_bytes:
        last = end - 1 if end < file.size_bytes else ""
        # No If-Range: a bucket that the hub redirects to has another tag, and would send all.
        headers |= {"Range": f"bytes={have}-{last}"}
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
