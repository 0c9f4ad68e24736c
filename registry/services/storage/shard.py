"""Making files out of chunks, as clients list them in a shard.

A file is put together at once, stored whole under its SHA-256 and kept (ADR 0011), so that a
commit may name it and every download is that of an ordinary file. This can take minutes for tens
of gigabytes, and the client waits in silence meanwhile. hf_xet reads the answer to a shard without
a time limit (xet-core ``remote_client.rs``, ``shard_upload_http_client``), but proxies between cut
silence off; it then sends the same shard again, up to five times. That does no harm and is not in
vain: the first request runs to its end though nobody listens, one for the same file waits for it,
finds the file and answers.
"""

import fcntl
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from registry import storage
from registry.errors import NotFound, TooLarge
from registry.selectors.access import Actor, person
from registry.selectors.storage.quota import bytes_added
from registry.selectors.storage.xorb import Shelf, shard_about, xorb_missing
from registry.services.audit import audit
from registry.services.storage.blob import blob_store, blob_used, blobs_hold
from registry.services.storage.quota import quota_check
from registry.services.storage.xorb import require_contributor, xet_address_change
from registry.storage import Readable
from registry.tables import Blob, MLModel, Upload, XetFile, XorbChunk, XorbRun
from registry.xet.assembly import Assembly, Extent
from registry.xet.hashes import MerkleTree, file_hash, range_hash, spelled
from registry.xet.shard import ShardFile, bad_shard, read_files

# Clients cut chunks of 8 KiB and more, but for the ends of files. Without a bound, a small shard
# could make the hub hash for days.
_LEAST_BYTES_A_CHUNK = 1024
# Noted in one transaction: a disk that syncs for each of a thousand small files takes its time,
# while somebody who waits for a large one should find it noted when their turn comes.
_FILES_AT_ONCE = 200
_BYTES_AT_ONCE = 64 * 2**20


@dataclass(frozen=True, slots=True)
class Placed:
    """Chunks ``first`` to before ``end`` of a xorb, at ``offset`` of a file."""

    xorb: str
    first: int
    end: int
    offset: int


def shard_register(*, actor: Actor, mlmodel: MLModel, stream: Readable) -> bool:
    """Make the files of a shard, which ``actor`` may then name in commits.

    Every run of chunks must be of xorbs that the actor sent, or lie in blobs that they may use.
    Files are made one by one; a refusal leaves those before it. Doing it again changes nothing.

    Args:
        mlmodel: The repository whose Xet address it was sent to.

    Returns:
        Whether any file was new.

    Raises:
        Unauthenticated, Forbidden, NotFound: see
            :func:`registry.services.storage.xorb.require_contributor`.
        Forbidden: ``quota_exceeded``.
        Invalid: ``invalid_shard``; ``digest_mismatch`` where a file is not what its SHA-256 says.
        NotFound: ``xorb_not_found``. The repository's Xet address has then changed: the client
            counted on what is not here, and would do so again.
        TooLarge: ``body_too_large``.
        Unavailable: ``storage_full``.
    """
    require_contributor(actor, mlmodel)
    files, shelf, new = read_files(stream), Shelf(actor), False
    sizes = {file.sha256: file.size_bytes for file in files}
    quota_check(mlmodel.namespace, bytes_added(mlmodel, sizes))
    with closing(_Ledger(actor, mlmodel)) as ledger:
        for file in files:
            new |= _take(actor, mlmodel, file, shelf, ledger)
    return new


def shard_recall(*, actor: Actor, mlmodel: MLModel, chunk: bytes) -> bytes | None:
    """The shard that tells a client what it may dedup against, if it has this chunk.

    See :func:`registry.selectors.storage.xorb.shard_about`. What it tells stays for a while.

    Raises:
        Unauthenticated, Forbidden, NotFound: see
            :func:`registry.services.storage.xorb.require_contributor`.
    """
    require_contributor(actor, mlmodel)
    answer = shard_about(actor, mlmodel, chunk, now=timezone.now())
    if answer is None:
        return None
    shard, blobs = answer
    blob_used(actor=actor, sha256s=blobs)
    return shard


def _take(actor: Actor, mlmodel: MLModel, file: ShardFile, shelf: Shelf, ledger: "_Ledger") -> bool:
    if file.size_bytes > settings.MAX_BLOB_BYTES:
        raise TooLarge(
            "body_too_large", f"The hub takes files of {settings.MAX_BLOB_BYTES} bytes at most."
        )
    try:
        with _one_at_a_time(file.sha256):
            placed = _placed(file, shelf)
            new = not _is_known(file)
            if new:
                _make(actor, file, placed, shelf)
            ledger.add(file, placed, shelf, new=new)
    except NotFound as error:
        if error.code in {"xorb_not_found", "blob_not_found"}:
            xet_address_change(mlmodel=mlmodel)
        raise
    return new


def _is_known(file: ShardFile) -> bool:
    """Whether these chunks, which the actor may use, were made this file before."""
    rows = XetFile.objects.filter(hash=spelled(file.digest), blob__condemned_at=None)
    return rows.filter(blob=file.sha256).exists()


def _make(actor: Actor, file: ShardFile, placed: list[Placed], shelf: Shelf) -> None:
    with closing(Assembly(_extents(placed, shelf), storage.blob_store().open)) as assembly:
        blob_store(actor=actor, stream=assembly, sha256=file.sha256, size_bytes=file.size_bytes)


def _placed(file: ShardFile, shelf: Shelf) -> list[Placed]:
    """Where the file's chunks come from, after all that the client says of them was checked."""
    tree, placed, offset, count = MerkleTree(), [], 0, 0
    most = 64 + file.size_bytes // _LEAST_BYTES_A_CHUNK
    for run in file.runs():
        holding = shelf.get(spelled(run.xorb))
        chunks = holding.chunks
        count += run.end - run.first
        if run.end > len(chunks) or chunks.raw_bytes(run.first, run.end) != run.raw_bytes:
            raise bad_shard(f"A run of chunks is not as in the xorb {holding.hash}.")
        if count > most:
            raise bad_shard("A file has chunks smaller than any client makes.")
        if not holding.usable[run.first : run.end].all():
            raise xorb_missing(holding.hash)
        hashes = chunks.hashes(run.first, run.end)
        if range_hash(hashes) != run.proof:
            raise bad_shard("A proof of knowing chunks is wrong.")
        for number, length in enumerate(chunks.lengths(run.first, run.end)):
            tree.add(hashes[32 * number : 32 * number + 32], length)
        placed.append(Placed(holding.hash, run.first, run.end, offset))
        offset += run.raw_bytes
    if file_hash(tree.root()) != file.digest:
        raise bad_shard("A file has another hash than its chunks make.")
    return placed


def _extents(placed: list[Placed], shelf: Shelf) -> Iterator[Extent]:
    for run in placed:
        yield from shelf.get(run.xorb).extents(run.first, run.end)


class _Ledger:
    """Notes files by their chunks, so that the next need not send them; many small ones at once.

    Closing it notes the rest, also after a refusal: what was made before that stays.
    """

    def __init__(self, actor: Actor, mlmodel: MLModel) -> None:
        self._actor = actor
        self._mlmodel = mlmodel
        self._clear()

    def add(self, file: ShardFile, placed: list[Placed], shelf: Shelf, *, new: bool) -> None:
        sha256 = file.sha256
        self._sizes[sha256] = file.size_bytes
        self._new += new
        self._files.append(XetFile(hash=spelled(file.digest), blob_id=sha256))
        self._runs += [
            XorbRun(
                xorb_id=run.xorb, first=run.first, end=run.end, blob_id=sha256, offset=run.offset
            )
            for run in placed
        ]
        for run in placed[:1]:
            # Clients ask for a file's first chunk, whatever its hash.
            chunk = spelled(shelf.get(run.xorb).chunks.hashes(run.first, run.first + 1))
            self._chunks.append(XorbChunk(hash=chunk, xorb_id=run.xorb, position=run.first))
        if len(self._sizes) >= _FILES_AT_ONCE or sum(self._sizes.values()) >= _BYTES_AT_ONCE:
            self.close()

    def close(self) -> None:
        if self._sizes:
            with transaction.atomic():
                self._write()
            self._clear()

    def _clear(self) -> None:
        self._sizes: dict[str, int] = {}
        self._files: list[XetFile] = []
        self._runs: list[XorbRun] = []
        self._chunks: list[XorbChunk] = []
        self._new = 0

    def _write(self) -> None:
        user, sha256s = person(self._actor), list(self._sizes)
        blobs_hold(sha256s)
        Blob.objects.filter(pk__in=sha256s).update(used_at=timezone.now())
        if user is not None:
            uploads = [Upload(user=user, blob_id=sha256) for sha256 in sha256s]
            Upload.objects.bulk_create(uploads, ignore_conflicts=True)
        XetFile.objects.bulk_create(self._files, ignore_conflicts=True)
        XorbRun.objects.bulk_create(self._runs, ignore_conflicts=True, batch_size=500)
        XorbChunk.objects.bulk_create(self._chunks, ignore_conflicts=True)
        audit(
            actor=self._actor,
            action="shard.register",
            subject=self._mlmodel.full_name,
            namespace=self._mlmodel.namespace.name,
            detail={
                "files": len(sha256s),
                "new": self._new,
                "size_bytes": sum(self._sizes.values()),
            },
        )


@contextmanager
def _one_at_a_time(sha256: str) -> Iterator[None]:
    """Wait until nobody else on this machine makes the file; the kernel ends a dead one's turn."""
    folder = settings.DATA_DIR / "locks"
    folder.mkdir(parents=True, exist_ok=True)
    # Few files, shared by digests that begin alike: none is ever deleted under somebody's hands.
    with (folder / f"file-{sha256[:3]}").open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
