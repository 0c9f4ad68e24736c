"""Where bytes are kept. Knows no tables and no names given by people, only digests."""

from functools import cache
from pathlib import Path

from django.conf import settings

from registry.storage.base import (
    Arrived,
    BlobStore,
    Leftover,
    PartUpload,
    Readable,
    StoredEntry,
)
from registry.storage.filesystem import FolderStore

__all__ = [
    "Arrived",
    "BlobStore",
    "Leftover",
    "PartUpload",
    "Readable",
    "StoredEntry",
    "blob_store",
]


def blob_store() -> BlobStore:
    """The hub's store."""
    return _folder_store(settings.DATA_DIR / "blobs", settings.PART_BYTES)


@cache
def _folder_store(root: Path, part_bytes: int) -> FolderStore:
    return FolderStore(root, part_bytes=part_bytes)
