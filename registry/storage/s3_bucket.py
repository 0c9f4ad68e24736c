"""Access to the objects below a prefix of an S3 bucket."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

from registry.errors import Invalid
from registry.storage.digest import place
from registry.storage.meter import no_upload
from registry.storage.s3_streams import code_of

_ABSENT = {"404", "NoSuchKey", "NotFound"}
_KEY = re.compile(r"[0-9a-f]{32}/.+")


@dataclass(frozen=True, slots=True)
class S3Address:
    """Address of a bucket. With an empty key and secret, boto3 uses its default credentials."""

    bucket: str
    prefix: str = ""
    endpoint: str = ""
    region: str = "us-east-1"
    key: str = ""
    secret: str = ""


class Bucket:
    """The objects below the prefix of ``address``. Errors of S3 propagate."""

    def __init__(self, address: S3Address) -> None:
        self.client = make_client(address)
        self._name = address.bucket
        self.prefix = f"{address.prefix.strip('/')}/".lstrip("/")
        self.incoming_prefix = f"{self.prefix}incoming/"

    def blob(self, sha256: str) -> dict[str, str]:
        """The parameters that name a blob's object."""
        return self.at(f"{self.prefix}{place(sha256)}")

    def incoming(self, name: str) -> dict[str, str]:
        """The parameters that name an object being received."""
        return self.at(f"{self.incoming_prefix}{name}")

    def upload(self, key: str) -> dict[str, Any]:
        """The parameters that name a multipart upload, from its key ``<name>/<upload id>``.

        Raises ``NotFound`` ``upload_not_found`` for a malformed key, which is untrusted and must
        not name another object.
        """
        if not _KEY.fullmatch(key):
            raise no_upload()
        name, _, upload_id = key.partition("/")
        return self.incoming(name) | {"UploadId": upload_id}

    def at(self, key: str) -> dict[str, str]:
        """The parameters that name the object ``key``."""
        return {"Bucket": self._name, "Key": key}

    def sign(self, operation: str, target: dict[str, Any], expires_s: int) -> str:
        """A pre-signed address for ``operation``."""
        url = self.client.generate_presigned_url(operation, Params=target, ExpiresIn=expires_s)
        return str(url)

    def objects(self, prefix: str) -> Iterator[dict[str, Any]]:
        """The objects whose key starts with ``prefix``."""
        return self._pages("list_objects_v2", "Contents", Prefix=prefix)

    def uploads(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Key and S3's description of the multipart uploads in progress."""
        for entry in self._pages("list_multipart_uploads", "Uploads", Prefix=self.incoming_prefix):
            name = entry["Key"].removeprefix(self.incoming_prefix)
            yield f"{name}/{entry['UploadId']}", entry

    def bytes_of_upload(self, key: str) -> int:
        """Bytes of a multipart upload that were received."""
        upload = self.upload(key)
        parts = self._pages("list_parts", "Parts", Key=upload["Key"], UploadId=upload["UploadId"])
        return sum(part["Size"] for part in parts)

    def copy(self, source: str, target: dict[str, str], size_bytes: int, at_once: int) -> None:
        """Copy the object ``source`` on the server, at most ``at_once`` bytes by one request."""
        origin = self.at(source)
        if size_bytes <= at_once:
            self.client.copy_object(**target, CopySource=origin)
            return
        response = self.client.create_multipart_upload(**target)
        upload = target | {"UploadId": response["UploadId"]}
        try:
            parts = []
            for number, first in enumerate(range(0, size_bytes, at_once), 1):
                span = f"bytes={first}-{min(first + at_once, size_bytes) - 1}"
                result = self.client.upload_part_copy(
                    **upload, PartNumber=number, CopySource=origin, CopySourceRange=span
                )["CopyPartResult"]
                parts.append({"PartNumber": number, "ETag": result["ETag"]})
            self.client.complete_multipart_upload(**upload, MultipartUpload={"Parts": parts})
        except BaseException:
            self.client.abort_multipart_upload(**upload)
            raise

    def size(self, target: dict[str, str]) -> int | None:
        """The length of an object in bytes; ``None`` if it does not exist."""
        try:
            return int(self.client.head_object(**target)["ContentLength"])
        except ClientError as error:
            if code_of(error) not in _ABSENT:
                raise
            return None

    def join(self, target: dict[str, Any], etags: Mapping[int, str]) -> None:
        """Complete a multipart upload.

        Raises ``NotFound`` ``upload_not_found``; ``Invalid`` ``invalid_request`` if a part is
        missing.
        """
        parts = [{"PartNumber": n, "ETag": f'"{etag}"'} for n, etag in sorted(etags.items())]
        try:
            self.client.complete_multipart_upload(**target, MultipartUpload={"Parts": parts})
        except ClientError as error:
            raise _refusal(error, code_of(error)) from error

    def forget(self, key: str) -> None:
        """Abort the multipart upload ``key``, if there is one."""
        try:
            self.client.abort_multipart_upload(**self.upload(key))
        except ClientError as error:
            if code_of(error) not in _ABSENT | {"NoSuchUpload"}:
                raise

    def _pages(self, operation: str, key: str, **parameters: Any) -> Iterator[dict[str, Any]]:
        for page in self.client.get_paginator(operation).paginate(Bucket=self._name, **parameters):
            yield from page.get(key, ())


def _refusal(error: Exception, code: str) -> Exception:
    """The domain error for a failed join; ``error`` itself if there is none."""
    if code in {"NoSuchUpload", "404"}:
        return no_upload()
    if code in {"InvalidPart", "InvalidPartOrder", "EntityTooSmall"}:
        return Invalid(
            "invalid_request",
            f"The parts do not make a whole: {code}.",
            "Send every part, then name each with the ETag it was answered with.",
        )
    return error


def make_client(address: S3Address, *, attempts: int = 4) -> Any:
    """A boto3 client for the bucket's server."""
    # Additional checksums only if required: not every compatible server supports them. Requests
    # are signed together with the SHA-256 of their body in any case.
    config = Config(
        signature_version="s3v4",
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
        retries={"mode": "standard", "total_max_attempts": attempts},
        connect_timeout=5,
        read_timeout=60,
        max_pool_connections=50,
        s3={"addressing_style": "path" if address.endpoint else "auto"},
    )
    return boto3.session.Session().client(
        "s3",
        endpoint_url=address.endpoint or None,
        region_name=address.region,
        aws_access_key_id=address.key or None,
        aws_secret_access_key=address.secret or None,
        config=config,
    )
