"""Where bytes are kept. Knows no tables and no names given by people, only digests."""

from functools import cache
from pathlib import Path

from django.conf import settings

from registry.storage.base import BlobStore, Readable, StoredBlob
from registry.storage.filesystem import FolderStore

__all__ = ["BlobStore", "Readable", "StoredBlob", "blob_store"]


def blob_store() -> BlobStore:
    """The hub's store."""
    return _folder_store(settings.DATA_DIR / "blobs")


@cache
def _folder_store(root: Path) -> FolderStore:
    return FolderStore(root)
