"""Files of jobs for agents: fetched by ranges, sent whole or in parts."""

import io
import re
from typing import Any
from uuid import UUID

from django.conf import settings
from django.http.response import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from hub.api.deviceauth import AgentView, device_of
from hub.api.schema import example
from hub.api.v1.repository.file import ANSWERS, CONDITIONS
from hub.api.v1.storage.blob import DIGEST_EXAMPLE
from hub.api.views import announced_length, plain_request
from hub.files import serve_blob
from registry.errors import Invalid
from registry.selectors.work.jobblob import job_blob_get
from registry.services.work.agent import agent_job
from registry.services.work.jobblob import (
    UploadState,
    job_blob_store,
    job_part_store,
    job_upload_begin,
)
from registry.tables import Job

_RANGE = re.compile(r"bytes (?:(\d{1,18})-(\d{1,18})|\*)/(\d{1,18})")
_CONTENT_RANGE = OpenApiParameter(
    "Content-Range",
    str,
    OpenApiParameter.HEADER,
    description="`bytes FIRST-LAST/TOTAL` for a part; `bytes */TOTAL`, without a body, requests "
    "the received ranges. Without this header the body is the whole file.",
)


@example({"sha256": DIGEST_EXAMPLE, "part_bytes": 67108864, "received": [[0, 67108863]]})
class ReceivedSerializer(serializers.Serializer[Any]):
    sha256 = serializers.CharField()
    part_bytes = serializers.IntegerField(
        help_text="Length of every part but the last; 0 if the file is complete."
    )
    received = serializers.ListField(
        child=serializers.ListField(child=serializers.IntegerField(), min_length=2, max_length=2),
        help_text="First and last byte of each range that has arrived.",
    )


class AgentBlobView(AgentView):
    def body_limit(self) -> int:
        return settings.MAX_BLOB_BYTES

    @extend_schema(operation_id="agent_blob_get", parameters=CONDITIONS, responses=ANSWERS)
    def get(self, request: Request, uuid: UUID, sha256: str) -> HttpResponseBase:
        """Fetch a file of a job that this device holds: from its revision, its builds or its test
        tensors."""
        job = agent_job(device=device_of(request), job_uuid=str(uuid))
        blob = job_blob_get(job, sha256)
        return serve_blob(
            plain_request(request), blob, path=sha256, cache_control="private, no-cache"
        )

    @extend_schema(
        operation_id="agent_blob_put",
        parameters=[_CONTENT_RANGE],
        request={"application/octet-stream": OpenApiTypes.BINARY},
        responses={
            200: ReceivedSerializer,
            201: ReceivedSerializer,
            202: ReceivedSerializer,
        },
    )
    def put(self, request: Request, uuid: UUID, sha256: str) -> Response:
        """Send a file for a job, whole or in parts.

        201 and 200: the file is complete; 202: parts are missing. A file is stored only if its
        SHA-256 is that in the address.
        """
        job = agent_job(device=device_of(request), job_uuid=str(uuid))
        stream = request.stream or io.BytesIO()
        content_range = request.headers.get("Content-Range")
        if content_range is None:
            size_bytes = announced_length(request)
            blob = job_blob_store(job=job, sha256=sha256, stream=stream, size_bytes=size_bytes)
            return _answer(sha256, UploadState(blob), 201)
        return self._part(request, job, sha256, content_range)

    def _part(self, request: Request, job: Job, sha256: str, content_range: str) -> Response:
        match = _RANGE.fullmatch(content_range.strip())
        if match is None:
            raise Invalid(
                "invalid_request",
                "Content-Range is malformed.",
                "Send `bytes FIRST-LAST/TOTAL` or `bytes */TOTAL`.",
            )
        total = int(match[3])
        if match[1] is None:
            state = job_upload_begin(job=job, sha256=sha256, total=total)
            return _answer(sha256, state, 200)
        first, last = int(match[1]), int(match[2])
        if announced_length(request) != last - first + 1:
            raise Invalid("size_mismatch", "The body is not as long as its Content-Range.")
        state = job_part_store(
            job=job,
            sha256=sha256,
            total=total,
            first=first,
            last=last,
            stream=request.stream or io.BytesIO(),
        )
        return _answer(sha256, state, 201)


def _answer(sha256: str, state: UploadState, status: int) -> Response:
    document = {
        "sha256": sha256,
        "part_bytes": state.part_bytes,
        "received": [list(each) for each in state.ranges],
    }
    return Response(document, status=status if state.blob else 202)
