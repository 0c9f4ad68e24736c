"""Makes a model bundle: fetches what it carries into the cache and packs it from there."""

import io
import os
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from hpcfair.bundle import BundledBlob, BundleInvalid, pieces
from hpcfair.cache import Cache
from hpcfair.download import fetch_blobs
from hpcfair.errors import BadInput, Corrupt
from hpcfair.localfiles import local_files
from hpcfair.modelbundle.collection import BundleOptions, Collection, collect
from hpcfair.modelbundle.manifest import SUFFIX, envelope_of
from hpcfair.progress import transferring
from hpcfair.transport import Transport
from hpcfair.types import Build


@dataclass(frozen=True, slots=True)
class BundleSummary:
    """A model bundle that was written.

    Attributes:
        builds: The builds it carries.
        missing: Paths of files of the revision that it does not carry.
    """

    path: Path
    name: str
    revision: str
    size_bytes: int
    builds: tuple[Build, ...]
    missing: tuple[str, ...]


def write_bundle(
    http: Transport,
    cache: Cache,
    name: str,
    path: Path,
    revision: str | None,
    options: BundleOptions,
) -> BundleSummary:
    """Write a bundle; see :meth:`hpcfair.Client.bundle`."""
    if path.suffix != SUFFIX:
        raise BadInput(f"{path} does not end in {SUFFIX}.", "By its suffix a bundle is recognised.")
    collection = collect(http, name, revision, options)
    with local_files(cache.root, "HPCFAIR_CACHE"):
        fetch_blobs(http, cache, list(collection.files.values()), what=name)
    with local_files(path.parent):
        _write(cache, collection, path)
        return summary_of(collection, path)


def summary_of(collection: Collection, path: Path) -> BundleSummary:
    """What a bundle at ``path`` carries."""
    manifest = collection.manifest
    carried = {blob["sha256"] for blob in manifest["blobs"]}
    absent = (file for file in manifest["commit"]["files"] if file["sha256"] not in carried)
    return BundleSummary(
        path,
        manifest["name"],
        manifest["revision"],
        path.stat().st_size,
        tuple(Build.from_json(build) for build in manifest["builds"]),
        tuple(file["path"] for file in absent),
    )


def opener(cache: Cache, collection: Collection) -> Callable[[str], BinaryIO]:
    """Opens a blob of the collection for reading."""

    def open_blob(sha256: str) -> BinaryIO:
        if sha256 in collection.documents:
            return io.BytesIO(collection.documents[sha256])
        return cache.blob(sha256).open("rb")

    return open_blob


def _write(cache: Cache, collection: Collection, path: Path) -> None:
    """Write under another name, then rename, so that a bundle is whole or not there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}.part")
    try:
        with temporary.open("xb") as out:
            for piece in _pieces(cache, collection):
                out.write(piece)
            out.flush()
            os.fsync(out.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _pieces(cache: Cache, collection: Collection) -> Iterator[bytes]:
    manifest = collection.manifest
    blobs = [BundledBlob(blob["sha256"], blob["size_bytes"]) for blob in manifest["blobs"]]
    total = sum(blob.size_bytes for blob in blobs)
    try:
        with transferring(f"{manifest['name']}: packing", total) as meter:
            for piece in pieces(envelope_of(manifest), blobs, opener(cache, collection)):
                meter.advance(len(piece))
                yield piece
    except BundleInvalid as error:
        cache.drop_blob(error.sha256)
        raise Corrupt(
            f"A file in the cache is damaged: {error}.", "It was dropped; try again."
        ) from error
