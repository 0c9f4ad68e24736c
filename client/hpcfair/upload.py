"""Uploads files that the hub does not have yet."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from hpcfair.digest import sha256_of_file
from hpcfair.progress import Meter, transferring
from hpcfair.transport import Transport

_CHUNK_BYTES = 2**20
_ASK_AT_ONCE = 1000


def upload(http: Transport, files: Mapping[str, Path], *, what: str) -> dict[str, str]:
    """Upload all files that the hub does not have yet.

    Args:
        files: Path in the revision to local file.
        what: Label of the progress bar.

    Returns:
        Path in the revision to SHA-256.

    Raises:
        Invalid: ``digest_mismatch``, if a file changed during the upload.
        TooLarge: a file exceeds the hub's limit.
    """
    sizes = {path: local.stat().st_size for path, local in files.items()}
    with transferring(f"{what}: reading", sum(sizes.values())) as meter:
        digests = {path: sha256_of_file(local, meter.advance) for path, local in files.items()}
    missing = missing_blobs(http, sorted(set(digests.values())))
    sending = {digest: files[path] for path, digest in digests.items() if digest in missing}
    if sending:
        total = sum(local.stat().st_size for local in sending.values())
        with transferring(f"{what}: sending", total) as meter:
            for digest, local in sending.items():
                _put(http, digest, local, meter)
    return digests


def missing_blobs(http: Transport, digests: Sequence[str]) -> set[str]:
    """Those of ``digests`` whose bytes the hub does not have."""
    missing: set[str] = set()
    for start in range(0, len(digests), _ASK_AT_ONCE):
        body = {"sha256": digests[start : start + _ASK_AT_ONCE]}
        missing.update(http.post("/api/v1/blobs/missing", body, idempotent=True)["missing"])
    return missing


def _put(http: Transport, digest: str, local: Path, meter: Meter) -> None:
    sent = 0

    def body() -> Iterator[bytes]:
        nonlocal sent
        # A retry starts again, and so does its share of the bar.
        meter.advance(-sent)
        sent = 0
        with local.open("rb") as file:
            while chunk := file.read(_CHUNK_BYTES):
                yield chunk
                sent += len(chunk)
                meter.advance(len(chunk))

    headers = {
        "Content-Length": str(local.stat().st_size),
        "Content-Type": "application/octet-stream",
    }
    with http.open("PUT", f"/api/v1/blobs/{digest}", content=body, headers=headers) as response:
        response.read()
