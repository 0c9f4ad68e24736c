"""Assembly of files from chunks, as clients list them in a shard.

A file is assembled at once and stored whole under its SHA-256 (ADR 0011), so that a commit may
name it and every download is that of an ordinary file. This can take minutes for tens of
gigabytes, during which the response stays silent. hf_xet waits without a time limit (xet-core
``remote_client.rs``, ``shard_upload_http_client``), but proxies may time out; it then sends the
same shard again, up to five times. A repeated request is harmless and makes progress: the first
one runs to its end, and a later one for the same file waits for it and then answers at once.
"""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from registry import storage
from registry.errors import NotFound, TooLarge
from registry.selectors.access import Actor, person
from registry.selectors.storage.xorb import HoldingCache, shard_about, xorb_missing
from registry.services.audit import audit
from registry.services.storage.blob import blob_store, blob_used, blobs_hold
from registry.services.storage.locks import exclusive
from registry.services.storage.quota import quota_check_blobs
from registry.services.storage.xorb import require_contributor, xet_address_change
from registry.storage import Readable
from registry.tables import Blob, MLModel, Upload, XetFile, XorbChunk, XorbRun
from registry.xet.assembly import Assembly, Extent
from registry.xet.hashes import MerkleTree, file_hash, range_hash, spelled
from registry.xet.shard import ShardFile, bad_shard, read_files

# Clients' chunks have 8 KiB or more, apart from the last of a file. Without a lower bound, a small
# shard could make the hub hash for days.
_LEAST_BYTES_A_CHUNK = 1024
# Limits of one transaction: many small files share the cost of a sync, while a large file is
# recorded before a request that waits for it continues.
_FILES_AT_ONCE = 200
_BYTES_AT_ONCE = 64 * 2**20


@dataclass(frozen=True, slots=True)
class ChunkPlacement:
    """Chunks ``first`` to ``end`` (exclusive) of a xorb, at byte ``offset`` of a file."""

    xorb: str
    first: int
    end: int
    offset: int


def shard_register(*, actor: Actor, mlmodel: MLModel, stream: Readable) -> bool:
    """Assemble the files of a shard, which ``actor`` may then name in commits.

    All chunks must be of xorbs that the actor sent, or in blobs that they may use. Files are
    assembled one by one; after an error, those before it stay. Idempotent. Returns whether any file
    was new. ``mlmodel`` is the repository whose Xet address the shard was sent to.

    Raises:
        Unauthenticated, Forbidden, NotFound: see
            :func:`registry.services.storage.xorb.require_contributor`.
        Forbidden: ``quota_exceeded``.
        Invalid: ``invalid_shard``; ``digest_mismatch`` if a file does not match its SHA-256.
        NotFound: ``xorb_not_found``. The repository's Xet address has then changed, since the
            client relied on a missing xorb, and would do so again.
        TooLarge: ``body_too_large``.
        Unavailable: ``storage_full``.
    """
    require_contributor(actor, mlmodel)
    files, cache, new = read_files(stream), HoldingCache(actor), False
    quota_check_blobs(mlmodel, {file.sha256: file.size_bytes for file in files})
    with closing(_FileRecorder(actor, mlmodel)) as recorder:
        for file in files:
            new |= _register(actor, mlmodel, file, cache, recorder)
    return new


def shard_recall(*, actor: Actor, mlmodel: MLModel, chunk: bytes) -> bytes | None:
    """The shard that a client with this chunk may deduplicate against, or ``None``.

    See :func:`registry.selectors.storage.xorb.shard_about`. Its blobs are marked as used. Raises
    ``Unauthenticated``, ``Forbidden`` or ``NotFound`` as
    :func:`registry.services.storage.xorb.require_contributor`.
    """
    require_contributor(actor, mlmodel)
    answer = shard_about(actor, mlmodel, chunk, now=timezone.now())
    if answer is None:
        return None
    shard, blobs = answer
    blob_used(actor=actor, sha256s=blobs)
    return shard


def _register(
    actor: Actor, mlmodel: MLModel, file: ShardFile, cache: HoldingCache, recorder: "_FileRecorder"
) -> bool:
    """Assemble and record one file; whether it was new."""
    if file.size_bytes > settings.MAX_BLOB_BYTES:
        raise TooLarge(
            "body_too_large", f"The hub takes files of {settings.MAX_BLOB_BYTES} bytes at most."
        )
    try:
        with exclusive(f"file {file.sha256}"):
            placements = _placements(file, cache)
            new = not _is_stored(file)
            if new:
                _assemble(actor, file, placements, cache)
            recorder.add(file, placements, cache, new=new)
    except NotFound as error:
        if error.code in {"xorb_not_found", "blob_not_found"}:
            xet_address_change(mlmodel=mlmodel)
        raise
    return new


def _is_stored(file: ShardFile) -> bool:
    rows = XetFile.objects.filter(hash=spelled(file.digest), blob__condemned_at=None)
    return rows.filter(blob=file.sha256).exists()


def _assemble(
    actor: Actor, file: ShardFile, placements: list[ChunkPlacement], cache: HoldingCache
) -> None:
    with closing(Assembly(_extents(placements, cache), storage.blob_store().open)) as assembly:
        blob_store(actor=actor, stream=assembly, sha256=file.sha256, size_bytes=file.size_bytes)


def _placements(file: ShardFile, cache: HoldingCache) -> list[ChunkPlacement]:
    """The chunks of the file, after all that the client states about them was verified."""
    tree, offset, count = MerkleTree(), 0, 0
    placements = []
    most = 64 + file.size_bytes // _LEAST_BYTES_A_CHUNK
    for run in file.runs():
        holding = cache.get(spelled(run.xorb))
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
        placements.append(ChunkPlacement(holding.hash, run.first, run.end, offset))
        offset += run.raw_bytes
    if file_hash(tree.root()) != file.digest:
        raise bad_shard("A file has another hash than its chunks make.")
    return placements


def _extents(placements: list[ChunkPlacement], cache: HoldingCache) -> Iterator[Extent]:
    for run in placements:
        yield from cache.get(run.xorb).extents(run.first, run.end)


class _FileRecorder:
    """Records assembled files and the locations of their chunks, in batches.

    Closing it records the rest, also after an error.
    """

    def __init__(self, actor: Actor, mlmodel: MLModel) -> None:
        self._actor = actor
        self._mlmodel = mlmodel
        self._clear()

    def add(
        self, file: ShardFile, placements: list[ChunkPlacement], cache: HoldingCache, *, new: bool
    ) -> None:
        sha256 = file.sha256
        self._sizes[sha256] = file.size_bytes
        self._new += new
        self._files.append(XetFile(hash=spelled(file.digest), blob_id=sha256))
        self._runs += [
            XorbRun(
                xorb_id=run.xorb, first=run.first, end=run.end, blob_id=sha256, offset=run.offset
            )
            for run in placements
        ]
        for run in placements[:1]:
            # Clients query a file's first chunk, whatever its hash.
            chunk = spelled(cache.get(run.xorb).chunks.hashes(run.first, run.first + 1))
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
        here = Blob.objects.filter(pk__in=[file.blob_id for file in self._files])
        here.update(awaits_chunks=False)
        XorbRun.objects.bulk_create(self._runs, ignore_conflicts=True, batch_size=500)
        XorbChunk.objects.bulk_create(self._chunks, ignore_conflicts=True)
        audit(
            self._actor,
            "shard.register",
            self._mlmodel.full_name,
            namespace=self._mlmodel.namespace.name,
            detail={
                "files": len(sha256s),
                "new": self._new,
                "size_bytes": sum(self._sizes.values()),
            },
        )
