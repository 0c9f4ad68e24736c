"""Uploads of blobs, addressed by their SHA-256."""

import io
from typing import Any

from django.conf import settings
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from hub.api.auth import signed_in
from hub.api.schema import example
from hub.api.views import ApiView, Strict, announced_length, body_of
from registry.ids import SHA256_PATTERN
from registry.selectors.storage.blob import blob_get, blob_missing
from registry.services.storage.blob import blob_store, blob_used

DIGEST_EXAMPLE = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"


@example({"sha256": [DIGEST_EXAMPLE]})
class BlobsAskedSerializer(Strict):
    sha256 = serializers.ListField(
        child=serializers.RegexField(f"^{SHA256_PATTERN}$"), max_length=1000, allow_empty=True
    )


@example({"missing": [DIGEST_EXAMPLE]})
class BlobsMissingSerializer(serializers.Serializer[Any]):
    missing = serializers.ListField(child=serializers.CharField())


@example(
    {"sha256": DIGEST_EXAMPLE, "size_bytes": 5, "oid": "b6fc4c620b67d95f953a5c1c1230aaab5db5a1b0"}
)
class BlobSerializer(serializers.Serializer[Any]):
    sha256 = serializers.CharField()
    size_bytes = serializers.IntegerField()
    oid = serializers.CharField(source="git_oid", help_text="Git object id of the bytes.")


class BlobsMissingView(ApiView):
    @extend_schema(
        operation_id="blob_missing", request=BlobsAskedSerializer, responses=BlobsMissingSerializer
    )
    def post(self, request: Request) -> Response:
        """List which blobs you must upload before a commit may name them.

        The others are protected from garbage collection for the grace period.
        """
        digests = body_of(request, BlobsAskedSerializer)["sha256"]
        stored = blob_used(actor=signed_in(request), sha256s=digests)
        missing = [sha256 for sha256 in dict.fromkeys(digests) if sha256 not in stored]
        return Response({"missing": missing})


class BlobView(ApiView):
    sign_in_for = frozenset({"PUT", "HEAD"})

    def body_limit(self) -> int:
        return settings.MAX_BLOB_BYTES

    @extend_schema(operation_id="blob_head", responses={200: None})
    def head(self, request: Request, sha256: str) -> Response:
        """Test whether you may name this blob in a commit: 200, or 404."""
        blob = blob_get(signed_in(request), sha256)
        return Response(headers={"X-Blob-Size": str(blob.size_bytes), "ETag": f'"{blob.sha256}"'})

    @extend_schema(
        operation_id="blob_put",
        request={"application/octet-stream": OpenApiTypes.BINARY},
        responses={200: BlobSerializer, 201: BlobSerializer},
    )
    def put(self, request: Request, sha256: str) -> Response:
        """Upload a blob: its bytes, with a Content-Length.

        It is stored only if its SHA-256 is the one in the address. Uploading the same bytes again
        has no effect (200 instead of 201).
        """
        actor = signed_in(request)
        size_bytes = announced_length(request)
        is_stored = not blob_missing(actor, [sha256])
        blob = blob_store(
            actor=actor,
            # DANGER: `request.data` and `.body` would hold the whole file in memory.
            stream=request.stream or io.BytesIO(),
            sha256=sha256,
            size_bytes=size_bytes,
        )
        return Response(BlobSerializer(blob).data, status=200 if is_stored else 201)
