"""Blobs as objects of a bucket, behind any S3 API.

::

    <prefix>ab/cd/abcd...      one object per blob, named by its SHA-256
    <prefix>incoming/<random>  bytes being received, as objects or multipart uploads

Bytes stream through the hub, which measures them. A small file waits in memory and is then put
under its digest; a larger one waits in ``incoming``, and the server copies it. Parts of large files
may be sent to the server directly: then the complete file is read back and measured before it is
used. Only S3 operations that compatible servers support are used.
"""

import io
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO, cast

from registry.ids import SHA256_RE
from registry.storage.base import Arrived, Leftover, PartUpload, Readable, StoredEntry
from registry.storage.cache import LocalCopies
from registry.storage.digest import PIECE_BYTES
from registry.storage.meter import ByteMeter, check_all_parts, check_part, no_blob
from registry.storage.parallel import in_parallel
from registry.storage.s3_bucket import Bucket, S3Address
from registry.storage.s3_streams import (
    ObjectReader,
    ObjectWriter,
    deleted_at_exit,
    send_part,
    translate_outage,
)

_MIB = 2**20
# Limits of the protocol: parts of one upload, minimum length of all but the last, and maximum
# bytes that one request copies.
_MOST_PARTS = 10_000
_LEAST_PART = 5 * _MIB
_MOST_COPIED = 5 * 2**30


class S3Store:
    """A :class:`registry.storage.base.BlobStore` in a bucket that exists.

    Args:
        copies: Cache of the local files that workers use.
        part_bytes: Length of a part of a large file.
        held_bytes: Bytes of a stream that are buffered before they are sent; a shorter stream is
            sent only when it is kept.
        copied_bytes: Maximum bytes that the server copies by one request.
    """

    def __init__(
        self,
        address: S3Address,
        copies: LocalCopies,
        *,
        part_bytes: int = 64 * _MIB,
        held_bytes: int = 16 * _MIB,
        copied_bytes: int = _MOST_COPIED,
    ) -> None:
        self._bucket = Bucket(address)
        self._copies = copies
        self._part_bytes = max(part_bytes, _LEAST_PART)
        self._held_bytes = max(held_bytes, _LEAST_PART)
        self._copied_bytes = copied_bytes

    @contextmanager
    def receive(
        self,
        stream: Readable,
        *,
        sha256: str | None = None,
        size_bytes: int | None = None,
        limit_bytes: int | None = None,
    ) -> Iterator[Arrived]:
        meter = ByteMeter(stream, size_bytes=size_bytes, limit_bytes=limit_bytes)
        most = size_bytes or limit_bytes or 0
        target = self._bucket.incoming(secrets.token_hex(16))
        writer = ObjectWriter(
            self._bucket.client, target, max(self._held_bytes, -(-most // _MOST_PARTS))
        )
        try:
            for piece in meter.pieces():
                with translate_outage():
                    writer.write(piece)
        except BaseException:
            writer.abort()
            raise
        held = writer.held()
        if held is not None:
            arrived = meter.arrived("", sha256=sha256, again=lambda: io.BytesIO(held))
            yield replace(arrived, held=held)
            return
        with deleted_at_exit(self._bucket.client, target):
            with translate_outage():
                writer.finish()
            yield meter.arrived(
                target["Key"], sha256=sha256, again=lambda: self._open(target, meter.length)
            )

    def keep(self, *arrivals: Arrived) -> None:
        in_parallel(self._keep, arrivals)

    def _keep(self, arrived: Arrived) -> None:
        if self.size(arrived.sha256) == arrived.size_bytes:
            return
        target = self._bucket.blob(arrived.sha256)
        with translate_outage():
            if arrived.held is not None:
                self._bucket.client.put_object(**target, Body=arrived.held)
            else:
                self._bucket.copy(arrived.place, target, arrived.size_bytes, self._copied_bytes)

    def parts_begin(self, size_bytes: int) -> PartUpload:
        name = secrets.token_hex(16)
        with translate_outage():
            response = self._bucket.client.create_multipart_upload(**self._bucket.incoming(name))
        part_bytes = max(self._part_bytes, -(-size_bytes // _MOST_PARTS))
        return PartUpload(f"{name}/{response['UploadId']}", size_bytes, part_bytes)

    def part_put(self, upload: PartUpload, number: int, stream: Readable) -> str:
        check_part(upload, number)
        # Through the pre-signed address: boto3 would read the part twice to sign it, and the
        # complete file is measured anyway.
        url = self.part_url(upload, number, expires_s=3600)
        with translate_outage():
            return send_part(url, stream, upload.length_of(number))

    def part_url(self, upload: PartUpload, number: int, *, expires_s: int) -> str:
        check_part(upload, number)
        target = self._bucket.upload(upload.key) | {"PartNumber": number}
        return self._bucket.sign("upload_part", target, expires_s)

    @contextmanager
    def parts_join(
        self, upload: PartUpload, etags: Mapping[int, str], *, sha256: str
    ) -> Iterator[Arrived]:
        check_all_parts(upload, set(etags))
        target = self._bucket.upload(upload.key)
        whole = {"Bucket": target["Bucket"], "Key": target["Key"]}
        with translate_outage():
            self._bucket.join(target, etags)
        with deleted_at_exit(self._bucket.client, whole):
            with translate_outage():
                length = self._bucket.client.head_object(**whole)["ContentLength"]
            with self._open(whole, length) as stream:
                meter = ByteMeter(stream, size_bytes=upload.size_bytes, limit_bytes=None)
                for _ in meter.pieces():
                    pass
            yield meter.arrived(
                whole["Key"], sha256=sha256, again=lambda: self._open(whole, length)
            )

    def parts_abort(self, upload: PartUpload) -> None:
        with translate_outage():
            self._bucket.forget(upload.key)

    def open(self, sha256: str) -> BinaryIO:
        size_bytes = self.size(sha256)
        if size_bytes is None:
            raise no_blob(sha256)
        return self._open(self._bucket.blob(sha256), size_bytes)

    def path(self, sha256: str) -> None:  # noqa: ARG002
        """See :meth:`registry.storage.base.BlobStore.path`: a bucket has no files."""
        return

    def local(self, sha256: str) -> Path:
        return self._copies.get(sha256, lambda: self.open(sha256))

    def url(self, sha256: str, *, expires_s: int, content_type: str, disposition: str) -> str:
        target = self._bucket.blob(sha256) | {
            "ResponseContentType": content_type,
            "ResponseContentDisposition": disposition,
        }
        return self._bucket.sign("get_object", target, expires_s)

    def size(self, sha256: str) -> int | None:
        target = self._bucket.blob(sha256)
        with translate_outage():
            return self._bucket.size(target)

    def exists(self, sha256: str) -> bool:
        return self.size(sha256) is not None

    def delete(self, sha256: str) -> None:
        target = self._bucket.blob(sha256)
        with translate_outage():
            self._bucket.client.delete_object(**target)

    def entries(self, prefix: str = "") -> Iterator[StoredEntry]:
        with translate_outage():
            for entry in self._bucket.objects(f"{self._bucket.prefix}{prefix}"):
                sha256 = entry["Key"].rpartition("/")[2]
                if not SHA256_RE.fullmatch(sha256):
                    continue
                if self._bucket.blob(sha256)["Key"] == entry["Key"]:
                    yield StoredEntry(sha256, entry["Size"], entry["LastModified"])

    def leftovers(self) -> Iterator[Leftover]:
        """See :meth:`BlobStore.leftovers`. A multipart upload's age counts from its beginning."""
        with translate_outage():
            for entry in self._bucket.objects(self._bucket.incoming_prefix):
                name = entry["Key"].removeprefix(self._bucket.incoming_prefix)
                yield Leftover(name, entry["Size"], entry["LastModified"])
            for key, upload in self._bucket.uploads():
                yield Leftover(key, self._bucket.bytes_of_upload(key), upload["Initiated"])

    def discard(self, leftover: Leftover) -> None:
        if "/" in leftover.name:
            self.parts_abort(PartUpload(leftover.name, 0, 1))
            return
        with translate_outage():
            self._bucket.client.delete_object(**self._bucket.incoming(leftover.name))

    def _open(self, target: dict[str, str], size_bytes: int) -> BinaryIO:
        reader = ObjectReader(self._bucket.client, target, size_bytes)
        return cast("BinaryIO", io.BufferedReader(reader, PIECE_BYTES))


def store_at(
    url: str, copies: Path, copies_bytes: int, *, part_bytes: int, **where: str
) -> S3Store:
    """The store at ``s3://bucket/prefix``; see :class:`S3Address` for ``where``."""
    bucket, _, prefix = url.removeprefix("s3://").partition("/")
    address = S3Address(bucket, prefix, **where)
    return S3Store(address, LocalCopies(copies, copies_bytes), part_bytes=part_bytes)
