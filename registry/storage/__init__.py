"""Stores of bytes by digest. Knows neither tables nor the names of users' files."""

from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from django.conf import settings

from registry.storage.base import Arrived, BlobStore, Leftover, PartUpload, Readable, StoredEntry
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
    """The hub's store: a folder, or the bucket that ``HPCFAIR_BLOBS`` names."""
    if settings.BLOBS:
        return _bucket_store(
            settings.BLOBS,
            settings.DATA_DIR / "copies",
            settings.BLOB_COPIES_BYTES,
            settings.PART_BYTES,
            endpoint=settings.S3_ENDPOINT,
            region=settings.S3_REGION,
            key=settings.S3_KEY,
            secret=settings.S3_SECRET,
        )
    return _folder_store(settings.DATA_DIR / "blobs", settings.PART_BYTES)


@cache
def _folder_store(root: Path, part_bytes: int) -> FolderStore:
    return FolderStore(root, part_bytes=part_bytes)


@cache
def _bucket_store(
    url: str, copies: Path, copies_bytes: int, part_bytes: int, **where: str
) -> BlobStore:
    # Imported here: boto3 is installed only where a bucket is used (the extra "s3").
    s3: Any = import_module("registry.storage.s3")
    store: BlobStore = s3.store_at(url, copies, copies_bytes, part_bytes=part_bytes, **where)
    return store
