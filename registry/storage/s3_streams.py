"""Streams that read and write one object of an S3 bucket."""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import urllib3
from botocore.exceptions import BotoCoreError, ClientError
from urllib3.exceptions import HTTPError

from registry.errors import Unavailable
from registry.storage.base import Readable
from registry.storage.meter import no_upload, wrong_size


@contextmanager
def translate_outage() -> Iterator[None]:
    """Translate errors of the object store into ``Unavailable`` ``storage_unavailable``."""
    try:
        yield
    except (BotoCoreError, ClientError, HTTPError) as error:
        raise unavailable(str(error)) from error


def unavailable(what: str) -> Unavailable:
    """The error for an object store that is unreachable or fails."""
    return Unavailable(
        "storage_unavailable",
        f"The hub's object store does not answer as it should: {what}.",
        "Try again later; if it lasts, tell the hub's operator.",
    )


def code_of(error: ClientError) -> str:
    """The code of an S3 error; the HTTP status for HEAD, whose responses have no body."""
    return str(error.response.get("Error", {}).get("Code", ""))


@contextmanager
def deleted_at_exit(client: Any, target: dict[str, str]) -> Iterator[None]:
    """Delete the object when the block ends."""
    try:
        yield
    finally:
        with translate_outage():
            client.delete_object(**target)


class ObjectReader(io.RawIOBase):
    """An object as a seekable stream. Reading on after a seek makes a new request."""

    def __init__(self, client: Any, target: dict[str, str], size_bytes: int) -> None:
        self._client, self._target, self._size = client, target, size_bytes
        self._at = 0
        self._body: Any = None

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        position = max(0, base + offset)
        if position != self._at:
            self._disconnect()
            self._at = position
        return self._at

    def readinto(self, into: Any) -> int:
        view = memoryview(into).cast("B")
        if self._at >= self._size or not view:
            return 0
        with translate_outage():
            if self._body is None:
                response = self._client.get_object(**self._target, Range=f"bytes={self._at}-")
                self._body = response["Body"]
            piece = self._body.read(len(view))
        if not piece:
            # Ended early: a truncated file must not pass for a complete one.
            raise OSError(f"the object ended after {self._at} of {self._size} bytes")
        view[: len(piece)] = piece
        self._at += len(piece)
        return len(piece)

    def close(self) -> None:
        self._disconnect()
        super().close()

    def _disconnect(self) -> None:
        if self._body is not None:
            self._body.close()
            self._body = None


class ObjectWriter:
    """Writes an object of unknown length, with a buffer of ``part_bytes``.

    The object is invisible before :meth:`finish`; :meth:`abort` discards it. Nothing is sent until
    more than ``part_bytes`` were written; until then all bytes are :meth:`held`.
    """

    def __init__(self, client: Any, target: dict[str, str], part_bytes: int) -> None:
        self._client, self._target, self._part_bytes = client, target, part_bytes
        self._held = bytearray()
        self._upload_id = ""
        self._parts: list[dict[str, Any]] = []

    def write(self, piece: bytes) -> None:
        self._held += piece
        while len(self._held) > self._part_bytes:
            self._send(bytes(self._held[: self._part_bytes]))
            del self._held[: self._part_bytes]

    def held(self) -> bytes | None:
        """All bytes written, if none were sent yet; else ``None``."""
        return None if self._upload_id else bytes(self._held)

    def finish(self) -> None:
        """Send the rest and complete the object: durable on return, aborted on an error."""
        try:
            self._send(bytes(self._held))
            self._client.complete_multipart_upload(
                **self._target, UploadId=self._upload_id, MultipartUpload={"Parts": self._parts}
            )
        except BaseException:
            self.abort()
            raise
        self._upload_id = ""

    def abort(self) -> None:
        if self._upload_id:
            self._client.abort_multipart_upload(**self._target, UploadId=self._upload_id)

    def _send(self, part: bytes) -> None:
        if not self._upload_id:
            self._upload_id = self._client.create_multipart_upload(**self._target)["UploadId"]
        number = len(self._parts) + 1
        response = self._client.upload_part(
            **self._target, UploadId=self._upload_id, PartNumber=number, Body=part
        )
        self._parts.append({"PartNumber": number, "ETag": response["ETag"]})


class ExactStream:
    """A stream that must have ``length`` bytes. Raises ``Invalid`` ``size_mismatch``."""

    def __init__(self, stream: Readable, length: int) -> None:
        self._stream, self._length, self._received = stream, length, 0

    def read(self, size: int = 2**20, /) -> bytes:
        piece = self._stream.read(size)
        self._received += len(piece)
        if self._received > self._length or (not piece and self._received < self._length):
            raise wrong_size(self._received, self._length)
        return piece


def send_part(url: str, stream: Readable, length: int) -> str:
    """PUT ``stream`` to the pre-signed address of a part; the part's ETag, without quotes.

    Raises ``NotFound`` ``upload_not_found``; ``Invalid`` ``size_mismatch``; ``Unavailable``
    ``storage_unavailable``.
    """
    response = urllib3.request(
        "PUT",
        url,
        body=cast("Any", ExactStream(stream, length)),
        headers={"Content-Length": str(length)},
        retries=False,
    )
    if response.status == 404:
        raise no_upload()
    if response.status != 200:
        raise unavailable(f"status {response.status} for a part")
    return response.headers["ETag"].strip('"')
