"""What two files of a model have in common."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from hub.api.schema import example
from hub.api.views import ApiView, Strict, query_of
from registry.errors import NotFound
from registry.ids import SHA256_RE
from registry.selectors.repository.gate import require_fetch
from registry.selectors.repository.mlmodel import mlmodel_get
from registry.selectors.storage.equal_range import equal_ranges
from registry.selectors.storage.lfsfile import blobs_held

EQUAL_RANGE_EXAMPLE = {"offset": 1_048_576, "earlier_offset": 983_040, "size_bytes": 66_060_288}


class EqualRangesQuery(Strict):
    sha256 = serializers.RegexField(SHA256_RE, help_text="SHA-256 of the file.")
    earlier = serializers.RegexField(SHA256_RE, help_text="SHA-256 of the file to compare it with.")


@example(EQUAL_RANGE_EXAMPLE)
class EqualRangeSerializer(serializers.Serializer[Any]):
    offset = serializers.IntegerField(help_text="Offset in the file, in bytes.")
    earlier_offset = serializers.IntegerField(help_text="Offset in the earlier file, in bytes.")
    size_bytes = serializers.IntegerField()


@example({"items": [EQUAL_RANGE_EXAMPLE]})
class EqualRangesSerializer(serializers.Serializer[Any]):
    items = EqualRangeSerializer(many=True)


class EqualRangesView(ApiView):
    @extend_schema(
        operation_id="model_equal_ranges",
        parameters=[EqualRangesQuery],
        responses=EqualRangesSerializer,
    )
    def get(self, request: Request, namespace: str, name: str) -> Response:
        """List the ranges of a large file that another file of the model contains.

        A client that has the earlier file fetches the other ranges only, by `Range` requests. The
        ranges are in order and disjoint. Files are compared by content-defined chunks of 8 to 128
        KiB, which the hub finds soon after a commit: `xorb_not_found` before, and for small files.
        """
        query = query_of(request, EqualRangesQuery)
        mlmodel = mlmodel_get(request.user, f"{namespace}/{name}")
        require_fetch(request.user, mlmodel)
        digests = [query["sha256"], query["earlier"]]
        blobs = blobs_held(mlmodel, digests)
        missing = [sha256 for sha256 in digests if sha256 not in blobs]
        if missing:
            raise NotFound("blob_not_found", f"{mlmodel.full_name} has no file {missing[0]}.")
        items = equal_ranges(*(blobs[sha256] for sha256 in digests))
        return Response(EqualRangesSerializer({"items": items}).data)
