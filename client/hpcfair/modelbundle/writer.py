"""Makes a model bundle: fetches what it carries into the cache and packs it from there."""

import io
import os
import shutil
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from hpcfair.bundle import BundledBlob, BundleInvalid, pieces, verified_pieces
from hpcfair.cache import Cache
from hpcfair.download import fetch_blobs
from hpcfair.errors import BadInput, Corrupt
from hpcfair.localfiles import local_files
from hpcfair.modelbundle import oci
from hpcfair.modelbundle.collection import BundleOptions, Collection, collect
from hpcfair.modelbundle.manifest import SUFFIX, envelope_of
from hpcfair.progress import Meter, transferring
from hpcfair.transport import Transport
from hpcfair.types import Build

_Opener = Callable[[str], BinaryIO]


@dataclass(frozen=True, slots=True)
class BundleSummary:
    """A model bundle that was written.

    Attributes:
        size_bytes: Of the files in it.
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
    if path.suffix not in (SUFFIX, oci.SUFFIX):
        raise BadInput(
            f"{path} ends neither in {SUFFIX} nor in {oci.SUFFIX}.",
            "By its suffix a bundle is recognised.",
        )
    if path.is_dir():
        raise BadInput(f"There is a folder {path} already.", "Remove it, or name another one.")
    collection = collect(http, name, revision, options)
    with local_files(cache.root, "HPCFAIR_CACHE"):
        fetch_blobs(http, cache, list(collection.files.values()), what=name)
    with local_files(path.parent):
        _write(cache, collection, path)
        return _summary(collection, path)


def _summary(collection: Collection, path: Path) -> BundleSummary:
    manifest = collection.manifest
    carried = {blob["sha256"] for blob in manifest["blobs"]}
    absent = (file for file in manifest["commit"]["files"] if file["sha256"] not in carried)
    return BundleSummary(
        path,
        manifest["name"],
        manifest["revision"],
        sum(blob["size_bytes"] for blob in manifest["blobs"]),
        tuple(Build.from_json(build) for build in manifest["builds"]),
        tuple(file["path"] for file in absent),
    )


def _write(cache: Cache, collection: Collection, path: Path) -> None:
    """Write under another name, then rename, so that a bundle is whole or not there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}.part")
    manifest = collection.manifest
    blobs = [BundledBlob(blob["sha256"], blob["size_bytes"]) for blob in manifest["blobs"]]
    write = _write_folder if path.suffix == oci.SUFFIX else _write_file
    total = sum(blob.size_bytes for blob in blobs)
    try:
        with transferring(f"{manifest['name']}: packing", total) as meter:
            write(temporary, manifest, blobs, _opener(cache, collection), meter)
        temporary.replace(path)
    except BundleInvalid as error:
        cache.drop_blob(error.sha256)
        raise Corrupt(
            f"A file in the cache is damaged: {error}.", "It was dropped; try again."
        ) from error
    finally:
        if temporary.is_dir():
            shutil.rmtree(temporary, ignore_errors=True)
        temporary.unlink(missing_ok=True)


def _write_file(
    path: Path,
    manifest: dict[str, Any],
    blobs: Sequence[BundledBlob],
    open_blob: _Opener,
    meter: Meter,
) -> None:
    _write_pieces(path, pieces(envelope_of(manifest), blobs, open_blob), meter)


def _write_folder(
    path: Path,
    manifest: dict[str, Any],
    blobs: Sequence[BundledBlob],
    open_blob: _Opener,
    meter: Meter,
) -> None:
    for name, content in oci.documents_of(manifest).items():
        _write_pieces(path / name, iter((content,)), meter)
    for blob in blobs:
        with open_blob(blob.sha256) as stream:
            _write_pieces(oci.blob_path(path, blob.sha256), verified_pieces(stream, blob), meter)


def _write_pieces(path: Path, content: Iterator[bytes], meter: Meter) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("xb") as out:
        for piece in content:
            out.write(piece)
            meter.advance(len(piece))
        out.flush()
        os.fsync(out.fileno())


def _opener(cache: Cache, collection: Collection) -> _Opener:
    """Opens a blob of the collection for reading."""

    def open_blob(sha256: str) -> BinaryIO:
        if sha256 in collection.documents:
            return io.BytesIO(collection.documents[sha256])
        return cache.blob(sha256).open("rb")

    return open_blob
