"""Files of revisions and builds."""

from typing import Any
from urllib.parse import quote
from uuid import UUID

from django.http.response import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from hub.api.schema import example, page_of
from hub.api.v1.results.graph import RevisionQuery
from hub.api.views import ApiView, PageQuery, plain_request, query_of
from hub.files import count_download, file_response
from registry.selectors.repository.file import MAX_LISTED, files_page
from registry.selectors.repository.gate import require_fetch
from registry.selectors.repository.mlmodel import mlmodel_get
from registry.selectors.repository.revision import main_path, revision_get
from registry.selectors.results.build import build_file_get, build_get
from registry.selectors.results.conversion import network_file_get
from registry.tables import BuildFile, ConversionFile, File, MLModel, Revision

FILE_EXAMPLE = {
    "path": "model.onnx",
    "size_bytes": 4_821_320,
    "sha256": "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824",
    "oid": "b6fc4c620b67d95f953a5c1c1230aaab5db5a1b0",
    "url": "/api/v1/models/lab/galaxy-cnn/files/model.onnx"
    "?revision=3f786850e387550fdab836ed7e6dc881de23001b",
}

FILES_NEXT = "Cursor of the next files for `GET .../files`; null if all are listed."

BYTES = OpenApiResponse(OpenApiTypes.BINARY, description="The bytes. The ETag is their SHA-256.")
CONDITIONS = [
    OpenApiParameter("Range", str, OpenApiParameter.HEADER, description="One range of bytes."),
    OpenApiParameter("If-Range", str, OpenApiParameter.HEADER, description="An ETag."),
    OpenApiParameter("If-None-Match", str, OpenApiParameter.HEADER, description="An ETag."),
]
ANSWERS = {
    (200, "application/octet-stream"): BYTES,
    (206, "application/octet-stream"): OpenApiResponse(
        OpenApiTypes.BINARY, description="The bytes of the range."
    ),
    304: OpenApiResponse(description="The ETag matches."),
    416: OpenApiResponse(description="The range is outside the file."),
}


@example(FILE_EXAMPLE)
class FileSerializer(serializers.Serializer[Any]):
    """A file of a revision (context ``revision_of``: name of its model, commit id), of its
    conversion or of a build."""

    path = serializers.CharField()
    size_bytes = serializers.IntegerField(source="blob.size_bytes")
    sha256 = serializers.CharField(source="blob_id")
    oid = serializers.SerializerMethodField(
        help_text="Git object id: of the bytes, or of the pointer of a large file."
    )
    url = serializers.SerializerMethodField(help_text="Address of the bytes on this hub.")

    def get_oid(self, row: File | BuildFile | ConversionFile) -> str:
        return row.oid if isinstance(row, File) else row.blob.git_oid

    def get_url(self, row: File | BuildFile | ConversionFile) -> str:
        if isinstance(row, BuildFile):
            return f"/api/v1/builds/{self.context['build']}/files/{quote(row.path)}"
        full_name, oid = self.context["revision_of"]
        return f"/api/v1/models/{full_name}/files/{quote(row.path)}?revision={oid}"


class FilesQuery(PageQuery, RevisionQuery):
    """Parameters of a list of files."""

    limit = serializers.IntegerField(
        required=False,
        default=MAX_LISTED,
        min_value=1,
        max_value=MAX_LISTED,
        help_text="Items per page.",
    )


def files_data(mlmodel: MLModel, revision: Revision) -> dict[str, Any]:
    """The first files of a revision as JSON, and the cursor of the next ones."""
    page = files_page(revision)
    context = {"revision_of": (mlmodel.full_name, revision.oid)}
    files = FileSerializer(page.items, many=True, context=context).data
    return {"files": files, "files_next": page.next}


class FilesView(ApiView):
    @extend_schema(
        operation_id="model_files", parameters=[FilesQuery], responses=page_of(FileSerializer)
    )
    def get(self, request: Request, namespace: str, name: str) -> Response:
        """List the files of a revision by path, with sizes and digests."""
        query = query_of(request, FilesQuery)
        mlmodel = mlmodel_get(request.user, f"{namespace}/{name}")
        revision = revision_get(mlmodel, query["revision"])
        page = files_page(revision, cursor=query["cursor"], limit=query["limit"])
        context = {"revision_of": (mlmodel.full_name, revision.oid)}
        return Response(page_of(FileSerializer)(page, context=context).data)


class FileView(ApiView):
    @extend_schema(
        operation_id="model_file", parameters=[RevisionQuery, *CONDITIONS], responses=ANSWERS
    )
    def get(self, request: Request, namespace: str, name: str, path: str) -> HttpResponseBase:
        """Fetch a file of a revision, or of the network that the hub converted it to.

        HEAD fetches its size and digest only."""
        query = query_of(request, RevisionQuery)
        mlmodel = mlmodel_get(request.user, f"{namespace}/{name}")
        revision = revision_get(mlmodel, query["revision"])
        # Avoids a query: the row is already loaded.
        revision.mlmodel = mlmodel
        require_fetch(request.user, mlmodel)
        row = network_file_get(revision, path)
        plain = plain_request(request)
        response = file_response(plain, row, revision, fixed=query["revision"] == revision.oid)
        if row.path == main_path(revision):
            count_download(plain, response, mlmodel)
        return response


class BuildFileView(ApiView):
    @extend_schema(operation_id="build_file", parameters=CONDITIONS, responses=ANSWERS)
    def get(self, request: Request, uuid: UUID, path: str) -> HttpResponseBase:
        """Fetch a file of a build; HEAD fetches its size and digest only."""
        build = build_get(request.user, str(uuid))
        revision = build.graph.revision
        require_fetch(request.user, revision.mlmodel)
        row = build_file_get(build, path)
        plain = plain_request(request)
        response = file_response(plain, row, revision, fixed=True)
        if row.path == build.entry_point:
            count_download(plain, response, revision.mlmodel)
        return response
