"""Revisions of a model, commits, branches and tags."""

from dataclasses import MISSING, fields
from typing import Any, cast

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from hub.api.auth import signed_in
from hub.api.schema import REF_KINDS, example, page_of
from hub.api.v1.fair.identifier import NAMES_EXAMPLE, NamesSerializer, names_data
from hub.api.v1.repository.file import FILE_EXAMPLE, FILES_NEXT, FileSerializer, files_data
from hub.api.v1.repository.origin import OriginSerializer
from hub.api.v1.results.graph import RevisionQuery
from hub.api.v1.work.job import JOB_EXAMPLE, JobSerializer, jobs_data
from hub.api.views import ApiView, PageQuery, Strict, body_of, paged, query_of
from registry.errors import Conflict
from registry.ids import OID_PATTERN, SHA256_PATTERN
from registry.selectors.access import Actor
from registry.selectors.repository.mlmodel import mlmodel_get
from registry.selectors.repository.revision import history, refs_of, revision_get
from registry.selectors.work.job import jobs_of
from registry.services.repository.ref import ref_create, ref_delete
from registry.services.repository.revision import Add, Copy, Delete, Operation, commit
from registry.states import RefKind
from registry.tables import MLModel, Revision

REVISION_EXAMPLE = {
    "oid": "3f786850e387550fdab836ed7e6dc881de23001b",
    "parent": "89e6c98d92887913cadf06b2adb97f26cde4849b",
    "message": "Train for 20 more epochs",
    "author": "alice",
    "created_at": "2026-01-02T03:04:05Z",
}
OPERATIONS: dict[str, type[Operation]] = {"add": Add, "copy": Copy, "delete": Delete}


@example(REVISION_EXAMPLE)
class RevisionLineSerializer(serializers.Serializer[Any]):
    oid = serializers.CharField(help_text="Git's id of the same commit.")
    parent = serializers.CharField(  # type: ignore[assignment]
        source="parent.oid", default=None, allow_null=True
    )
    message = serializers.CharField()
    author = serializers.CharField(
        source="author.username",
        default=None,
        allow_null=True,
        help_text="Null for the hub itself and for deleted accounts.",
    )
    created_at = serializers.DateTimeField()


@example(
    {
        **REVISION_EXAMPLE,
        "files": [FILE_EXAMPLE],
        "files_next": None,
        "jobs": [JOB_EXAMPLE],
        "identifiers": NAMES_EXAMPLE,
    }
)
class RevisionSerializer(RevisionLineSerializer):
    files = FileSerializer(many=True, help_text="The first 1000, by path.")
    files_next = serializers.CharField(allow_null=True, help_text=FILES_NEXT)
    jobs = JobSerializer(many=True, help_text="Jobs of this revision, newest first.")
    identifiers = NamesSerializer()


@example({"kind": "branch", "name": "main", "revision": REVISION_EXAMPLE["oid"]})
class RefSerializer(serializers.Serializer[Any]):
    kind = serializers.ChoiceField(REF_KINDS)
    name = serializers.CharField()
    revision = serializers.CharField(source="revision.oid")


@example({"revision": "v1.0"})
class RefPutSerializer(Strict):
    revision = serializers.CharField(help_text="Branch, tag or commit id.")


class OperationSerializer(Strict):
    """`add` puts uploaded bytes at a path, `copy` a file of a revision, `delete` removes a path.

    A copy from another model is recorded as a source of the new revision.
    """

    op = serializers.ChoiceField([(name, name) for name in OPERATIONS])
    path = serializers.CharField(trim_whitespace=False)
    sha256 = serializers.RegexField(f"^{SHA256_PATTERN}$", required=False)
    source_path = serializers.CharField(required=False, trim_whitespace=False)
    source_revision = serializers.CharField(required=False)
    source = serializers.CharField(  # type: ignore[assignment]
        required=False,
        help_text="Model that the file is copied from; default: the model of the commit.",
    )

    def validate(self, attrs: dict[str, Any]) -> Operation:
        """The operation; it requires each of its fields, and accepts no other."""
        values = {name: value for name, value in attrs.items() if name != "op"}
        kind = OPERATIONS[attrs["op"]]
        required = {field.name for field in fields(kind) if field.default is MISSING}
        optional = {"source"} if kind is Copy else set()
        unknown_fields = values.keys() - required - optional
        errors = {
            **{name: ["This field is required."] for name in required - values.keys()},
            **{name: ["This operation has no such field."] for name in unknown_fields},
        }
        if errors:
            raise serializers.ValidationError(errors)
        if "source" in values:
            values["source"] = self._source(values["source"])
        return kind(**values)

    def _source(self, full_name: str) -> MLModel:
        """The model; looked up once per request, since commits copy many files of one model."""
        context = cast("dict[str, Any]", self.context)
        sources: dict[str, MLModel] = context.setdefault("sources", {})
        if full_name not in sources:
            sources[full_name] = mlmodel_get(self.context["request"].user, full_name)
        return sources[full_name]


@example(
    {
        "branch": "main",
        "message": "Train for 20 more epochs",
        "parent": "89e6c98d92887913cadf06b2adb97f26cde4849b",
        "operations": [
            {"op": "add", "path": "model.onnx", "sha256": FILE_EXAMPLE["sha256"]},
            {"op": "delete", "path": "old.onnx"},
        ],
    }
)
class CommitSerializer(Strict):
    branch = serializers.CharField(default="main")
    message = serializers.CharField()
    parent = serializers.RegexField(  # type: ignore[assignment]
        f"^(?:{OID_PATTERN}|[0-9a-f]{{7,39}})$",
        default=None,
        allow_null=True,
        help_text="Expected head of the branch; the commit is refused if it differs.",
    )
    operations = OperationSerializer(many=True, allow_empty=False)
    origin = OriginSerializer(required=False, help_text="If the files are imported.")


def revision_data(actor: Actor, mlmodel: MLModel, revision: Revision) -> dict[str, Any]:
    """A revision as JSON, with files and jobs."""
    jobs = list(jobs_of(actor).filter(revision=revision)[:100])
    line = RevisionLineSerializer(revision).data
    files = files_data(mlmodel, revision)
    return {**line, **files, "jobs": jobs_data(jobs), "identifiers": names_data(revision)}


class CommitsView(ApiView):
    @extend_schema(
        operation_id="commit", request=CommitSerializer, responses={201: RevisionSerializer}
    )
    def post(self, request: Request, namespace: str, name: str) -> Response:
        """Create the next revision of a branch.

        The operations are atomic. Send the bytes first: `PUT /api/v1/blobs/{sha256}`. The resulting
        README.md must name a license. An ONNX file is inspected at once; then the model is tuned
        for every target that has a device online.
        """
        actor = signed_in(request)
        body = body_of(request, CommitSerializer)
        mlmodel = mlmodel_get(actor, f"{namespace}/{name}")
        revision = commit(
            actor=actor,
            mlmodel=mlmodel,
            branch=body["branch"],
            message=body["message"],
            operations=body["operations"],
            parent_oid=body["parent"],
            imported=body.get("origin"),
        )
        return Response(revision_data(actor, mlmodel, revision), status=201)


class RevisionsQuery(PageQuery, RevisionQuery):
    """Parameters of a history."""


class RevisionsView(ApiView):
    @extend_schema(
        operation_id="revision_list",
        parameters=[RevisionsQuery],
        responses=page_of(RevisionLineSerializer),
    )
    def get(self, request: Request, namespace: str, name: str) -> Response:
        """List a revision and its ancestors, newest first."""
        query = query_of(request, RevisionsQuery)
        mlmodel = mlmodel_get(request.user, f"{namespace}/{name}")
        start = revision_get(mlmodel, query["revision"])
        rows = history(mlmodel, start)
        return paged(rows, RevisionLineSerializer, query, name=f"revision.{mlmodel.uuid}")


class RevisionView(ApiView):
    @extend_schema(operation_id="revision_get", responses=RevisionSerializer)
    def get(self, request: Request, namespace: str, name: str, revision: str) -> Response:
        """Fetch a revision: author, time, files, jobs, identifiers."""
        mlmodel = mlmodel_get(request.user, f"{namespace}/{name}")
        row = revision_get(mlmodel, revision)
        return Response(revision_data(request.user, mlmodel, row))


class RefsView(ApiView):
    @extend_schema(
        operation_id="ref_list", parameters=[PageQuery], responses=page_of(RefSerializer)
    )
    def get(self, request: Request, namespace: str, name: str) -> Response:
        """List branches, then tags, sorted by name."""
        query = query_of(request, PageQuery)
        mlmodel = mlmodel_get(request.user, f"{namespace}/{name}")
        order = ("kind", "name")
        return paged(
            refs_of(mlmodel), RefSerializer, query, name=f"ref.{mlmodel.uuid}", order=order
        )


class RefView(ApiView):
    @extend_schema(
        operation_id="ref_put",
        request=RefPutSerializer,
        responses={200: RefSerializer, 201: RefSerializer},
    )
    def put(self, request: Request, namespace: str, name: str, kind: str, ref: str) -> Response:
        """Create a branch or a tag.

        Repeating the request has no effect (200 instead of 201); a name in use for another revision
        is a conflict.
        """
        actor, body = signed_in(request), body_of(request, RefPutSerializer)
        mlmodel = mlmodel_get(actor, f"{namespace}/{name}")
        revision = revision_get(mlmodel, body["revision"])
        try:
            row = ref_create(
                actor=actor, mlmodel=mlmodel, kind=RefKind(kind), name=ref, revision=revision
            )
        except Conflict:
            same = refs_of(mlmodel).filter(kind=kind, name=ref, revision=revision).first()
            if same is None:
                raise
            return Response(RefSerializer(same).data)
        return Response(RefSerializer(row).data, status=201)

    @extend_schema(operation_id="ref_delete", responses={204: None})
    def delete(self, request: Request, namespace: str, name: str, kind: str, ref: str) -> Response:
        """Delete a branch or a tag; its revisions stay."""
        actor = signed_in(request)
        mlmodel = mlmodel_get(actor, f"{namespace}/{name}")
        ref_delete(actor=actor, mlmodel=mlmodel, kind=RefKind(kind), name=ref)
        return Response(status=204)
