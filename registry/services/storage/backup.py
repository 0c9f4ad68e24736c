"""Backups of a hub: its database, its files' bytes and its keys.

::

    <folder>/blobs/                 bytes by digest, shared by all backups in the folder
    <folder>/20260102T030405Z/      one backup
        database.dump               see dump.py
        secret.key, signing.key     those of the data folder, where it has them
        backup.json                 what it contains; written last

The hub keeps running. The dump comes first: bytes are never changed, and garbage collection spares
for ``HPCFAIR_GC_GRACE_HOURS`` what the dump names, so that the bytes may be copied after it. A
backup copies only bytes that no earlier one in the folder has.

DANGER: whoever reads a backup can sign in as anybody. Its folders have the mode 0700.
"""

import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

from django.conf import settings

from registry.errors import Invalid, NotFound
from registry.search.generations import folder as index_folder
from registry.services.storage.dump import (
    check_engine,
    database_dump,
    database_load,
    engine,
    require_empty,
)
from registry.storage import BlobStore, blob_store
from registry.storage.digest import sha256_of
from registry.storage.durable import flush
from registry.storage.filesystem import FolderStore
from registry.tables import Blob

FORMAT = "hpcfair.backup/1"
_DUMP, _FACTS, _BLOBS = "database.dump", "backup.json", "blobs"
_KEYS = ("secret.key", "signing.key")
#: Blobs that wait for the disk together.
_AT_ONCE = 64

#: Called with what is done now, the number done, and the total (0: unknown).
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Backup:
    """What a backup contains.

    Attributes:
        hub: Outside address of the hub.
        database: ``postgresql`` or ``sqlite``.
        dump_sha256: Digest of the dump.
        blobs: Number of blobs of the hub; 0 in a backup without them.
        copied: Number of those that no earlier backup in the folder had.
        missing: Digests of blobs whose bytes the hub has lost.
    """

    hub: str
    made_at: str
    database: str
    dump_sha256: str
    blobs: int
    copied: int
    missing: tuple[str, ...]
    format: str = FORMAT


def backup_make(
    folder: Path, *, with_blobs: bool = True, progress: Progress = lambda *_: None
) -> tuple[Path, Backup]:
    """Make a backup in ``folder``, which is created if missing; returns its own folder.

    ``with_blobs`` is false for a bucket that is copied by other means. Raises ``Unavailable`` as
    :func:`registry.services.storage.dump.database_dump`, or ``storage_full``.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    (folder / _BLOBS).mkdir(mode=0o700, exist_ok=True)
    now = datetime.now(UTC)
    final = folder / f"{now:%Y%m%dT%H%M%SZ}"
    partial = final.with_suffix(".partial")
    partial.mkdir(mode=0o700)
    progress("database", 0, 0)
    database_dump(partial / _DUMP)
    for name in _KEYS:
        if (settings.DATA_DIR / name).exists():
            _copy_private(settings.DATA_DIR / name, partial / name)
    copied = 0
    missing: list[str] = []
    rows = Blob.objects.filter(condemned_at=None)
    total = rows.count() if with_blobs else 0
    if with_blobs:
        own = FolderStore(folder / _BLOBS)
        digests = rows.order_by("pk").values_list("pk", flat=True).iterator()
        for state in _copy(blob_store(), own, digests):
            copied += state.is_new
            # Unless garbage collection deleted it meanwhile.
            if state.is_missing and rows.filter(pk=state.sha256).exists():
                missing.append(state.sha256)
            progress("blobs", state.number, total)
    made = Backup(
        hub=settings.HUB_URL,
        made_at=now.isoformat(timespec="seconds"),
        database=engine(),
        dump_sha256=_digest(partial / _DUMP),
        blobs=total,
        copied=copied,
        missing=tuple(missing),
    )
    (partial / _FACTS).write_text(json.dumps(asdict(made), indent=2) + "\n")
    for file in partial.iterdir():
        flush(file)
    flush(partial)
    partial.rename(final)
    flush(folder)
    return final, made


def backup_restore(path: Path, *, progress: Progress = lambda *_: None) -> tuple[Backup, list[str]]:
    """Restore the backup in the folder ``path`` into this hub, which must be empty.

    Returns what the backup contains, and the digests of blobs that are damaged in it. The index is
    deleted, because the hub builds it anew. Afterwards the tables may have to be migrated, and the
    hub's processes must be started again, since the keys changed.

    Raises:
        Invalid: ``invalid_request``: there is no complete backup, its dump is damaged, it is of
            another kind of database, or the hub is not empty.
        Unavailable: as :func:`registry.services.storage.dump.database_load`, or ``storage_full``.
    """
    made = read_backup(path)
    check_engine(made.database)
    require_empty()
    if _digest(path / _DUMP) != made.dump_sha256:
        raise Invalid("invalid_request", f"{path / _DUMP} is damaged.", "Take another backup.")
    damaged: list[str] = []
    if made.blobs:
        source = FolderStore(path.parent / _BLOBS)
        digests = (entry.sha256 for entry in source.entries())
        # First, so that no row names bytes that are not there yet.
        for state in _copy(source, blob_store(), digests):
            damaged += [state.sha256] if state.is_missing else []
            progress("blobs", state.number, made.blobs)
    settings.DATA_DIR.mkdir(parents=True, exist_ok=True)
    for name in _KEYS:
        if (path / name).exists():
            _copy_private(path / name, settings.DATA_DIR / name)
    progress("database", 0, 0)
    database_load(path / _DUMP)
    # An index of the empty hub would take itself for one of this database.
    shutil.rmtree(index_folder(), ignore_errors=True)
    return made, damaged


def read_backup(path: Path) -> Backup:
    """What the backup in the folder ``path`` contains. Raises ``Invalid`` ``invalid_request``."""
    try:
        facts = json.loads((path / _FACTS).read_bytes())
    except (OSError, ValueError):
        raise Invalid(
            "invalid_request",
            f"{path} is no complete backup.",
            f"Name a folder with the file {_FACTS}, such as backup/20260102T030405Z.",
        ) from None
    if facts.get("format") != FORMAT:
        raise Invalid(
            "invalid_request",
            f"The backup has the format {facts.get('format')!r}.",
            f"This version of the hub reads {FORMAT}.",
        )
    return Backup(**facts | {"missing": tuple(facts["missing"])})


@dataclass(frozen=True, slots=True)
class _CopyResult:
    """A blob that was copied, was there already (neither flag), or cannot be read."""

    number: int
    sha256: str
    is_new: bool = False
    is_missing: bool = False


def _copy(source: BlobStore, target: BlobStore, digests: Iterable[str]) -> Iterator[_CopyResult]:
    """Copy blobs that ``target`` lacks, with a check of their digests."""
    waiting = enumerate(digests, start=1)
    while batch := list(islice(waiting, _AT_ONCE)):
        with ExitStack() as opened:
            arrivals, outcomes = [], []
            for number, sha256 in batch:
                size_bytes = source.size(sha256)
                if size_bytes is not None and target.size(sha256) == size_bytes:
                    outcomes.append(_CopyResult(number, sha256))
                    continue
                try:
                    stream = opened.enter_context(source.open(sha256))
                    received = target.receive(stream, sha256=sha256, size_bytes=size_bytes)
                    arrivals.append(opened.enter_context(received))
                except (NotFound, Invalid, OSError):
                    outcomes.append(_CopyResult(number, sha256, is_missing=True))
                else:
                    outcomes.append(_CopyResult(number, sha256, is_new=True))
            target.keep(*arrivals)
        yield from outcomes


def _copy_private(source: Path, target: Path) -> None:
    """Copy a file that only its owner may read, atomically."""
    temporary = target.with_name(f".{target.name}.partial")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(source.read_bytes())
    flush(temporary)
    temporary.replace(target)


def _digest(path: Path) -> str:
    with path.open("rb") as stream:
        return sha256_of(stream)
