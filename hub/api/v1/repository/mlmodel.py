"""What is shared: the catalogue and each model in it."""

from typing import Any

from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from hub.api.auth import signed_in
from hub.api.schema import example
from hub.api.v1.fair.identifier import NAMES_EXAMPLE, NamesSerializer, names_data
from hub.api.v1.repository.file import FILE_EXAMPLE, FileSerializer
from hub.api.v1.repository.revision import RefSerializer
from hub.api.v1.results.graph import GRAPH_EXAMPLE, GraphSerializer, RevisionQuery
from hub.api.views import ApiView, PageQuery, Strict, body_of, query_of
from registry.selectors.access import Actor
from registry.selectors.repository.mlmodel import mlmodel_get
from registry.selectors.repository.revision import files_of, readme_of, refs_of, revision_get
from registry.selectors.search.catalogue import catalogue_search
from registry.selectors.search.summary import summaries_of, summary_of
from registry.selectors.work.job import latest_job
from registry.services.repository.mlmodel import mlmodel_create, mlmodel_delete, mlmodel_update
from registry.states import ArchitectureClass, JobKind, JobState, Visibility
from registry.tables import MLModel, Revision

SORTS = ("relevance", "updated", "downloads", "name")
REVISION_OID = "3f786850e387550fdab836ed7e6dc881de23001b"

SUMMARY_EXAMPLE = {
    "name": "lab/galaxy-cnn",
    "title": "Galaxy CNN",
    "description": "Sorts galaxies by shape.",
    "license": "Apache-2.0",
    "task": "image-classification",
    "library": "onnx",
    "tags": ["astronomy"],
    "visibility": "public",
    "downloads": 17,
    "created_at": "2026-01-02T03:04:05Z",
    "updated_at": "2026-01-02T03:04:05Z",
    "signature": "float32[N,3,64,64] -> float32[N,10]",
    "parameters": 1_204_554,
    "architecture_class": "residual-cnn",
    "revision": REVISION_OID,
    "builds": {"x86-64-avx512": 0.79},
}


@example(SUMMARY_EXAMPLE)
class MLModelSummarySerializer(serializers.Serializer[Any]):
    name = serializers.CharField(source="mlmodel.full_name")
    title = serializers.CharField(source="mlmodel.title", allow_blank=True)
    description = serializers.CharField(source="mlmodel.description", allow_blank=True)
    license = serializers.CharField(source="mlmodel.license", allow_blank=True)
    task = serializers.CharField(source="mlmodel.task", allow_blank=True)
    library = serializers.CharField(source="mlmodel.library", allow_blank=True)
    tags = serializers.ListField(child=serializers.CharField())
    visibility = serializers.ChoiceField(Visibility.choices, source="mlmodel.visibility")
    downloads = serializers.IntegerField(source="mlmodel.downloads")
    created_at = serializers.DateTimeField(source="mlmodel.created_at")
    updated_at = serializers.DateTimeField(source="mlmodel.updated_at")
    signature = serializers.CharField(allow_null=True, help_text="Null before inspection.")
    parameters = serializers.IntegerField(source="graph.parameters", default=None, allow_null=True)
    architecture_class = serializers.ChoiceField(
        ArchitectureClass.choices,
        source="graph.architecture_class",
        default=None,
        allow_null=True,
    )
    revision = serializers.CharField(source="revision.oid", default=None, allow_null=True)
    builds = serializers.DictField(
        child=serializers.FloatField(),
        help_text="Target to the latency ratio of its best float32-exact build.",
    )


@example({"state": "failed", "code": "onnx_truncated", "detail": "The file ends early."})
class InspectionSerializer(serializers.Serializer[Any]):
    state = serializers.ChoiceField(JobState.choices)
    code = serializers.CharField(source="failure_code", allow_blank=True)
    detail = serializers.CharField(source="failure_detail", allow_blank=True)


@example(
    {
        **SUMMARY_EXAMPLE,
        "card": {"license": "apache-2.0", "pipeline_tag": "image-classification"},
        "readme": "# Galaxy CNN\n\nSorts galaxies by shape.\n",
        "refs": [{"kind": "branch", "name": "main", "revision": REVISION_OID}],
        "files": [FILE_EXAMPLE],
        "graph": GRAPH_EXAMPLE,
        "inspection": {"state": "succeeded", "code": "", "detail": ""},
        "default_branch": "main",
        "identifiers": NAMES_EXAMPLE,
    }
)
class MLModelSerializer(MLModelSummarySerializer):
    card = serializers.DictField(help_text="The front matter of README.md.")
    readme = serializers.CharField(help_text="The Markdown below it.", allow_blank=True)
    refs = RefSerializer(many=True)
    files = FileSerializer(many=True)
    graph = GraphSerializer(allow_null=True)
    inspection = InspectionSerializer(allow_null=True)
    default_branch = serializers.CharField()
    identifiers = NamesSerializer()


@extend_schema_field(
    {
        "type": "array",
        "prefixItems": [{"type": "string"}, {"type": "integer"}],
        "minItems": 2,
        "maxItems": 2,
    }
)
class FacetValueField(serializers.ListField):
    """A value and how often it occurs."""


@example(
    {
        "items": [SUMMARY_EXAMPLE],
        "next": None,
        "total": 1,
        "facets": {"task": [["image-classification", 1]], "license": [["apache-2.0", 1]]},
    }
)
class CatalogueSerializer(serializers.Serializer[Any]):
    items = MLModelSummarySerializer(many=True)
    next = serializers.CharField(
        allow_null=True, help_text="The `cursor` of the next page; null on the last."
    )
    total = serializers.IntegerField()
    facets = serializers.DictField(
        child=serializers.ListField(child=FacetValueField()),
        help_text="Facet to its values with their counts, the most frequent first.",
    )


class CatalogueQuery(PageQuery):
    q = serializers.CharField(
        default="",
        allow_blank=True,
        required=False,
        help_text='Words, "phrases", and filters such as `task:` `license:` `signature:"..."`.',
    )
    task = serializers.CharField(required=False)
    license = serializers.CharField(required=False, help_text="An SPDX id.")
    library = serializers.CharField(required=False)
    tag = serializers.CharField(required=False)
    architecture_class = serializers.CharField(required=False)
    namespace = serializers.CharField(required=False)
    signature = serializers.CharField(
        required=False, help_text="Such as `float32[N,3,64,64] -> float32[N,10]`."
    )
    target = serializers.CharField(required=False, help_text="With a build for this target.")
    similar_to = serializers.CharField(
        required=False, help_text="With a network built like that model's, nearest first."
    )
    sort = serializers.ChoiceField([(name, name) for name in SORTS], required=False)


@example({"namespace": "lab", "name": "galaxy-cnn", "visibility": "public"})
class MLModelCreateSerializer(Strict):
    namespace = serializers.CharField(max_length=96)
    name = serializers.CharField(max_length=96)
    visibility = serializers.ChoiceField(Visibility.choices, default=Visibility.PUBLIC)


@example({"visibility": "private"})
class MLModelChangeSerializer(Strict):
    visibility = serializers.ChoiceField(Visibility.choices, required=False)
    default_branch = serializers.CharField(max_length=200, required=False)


class DeleteQuery(Strict):
    reason = serializers.CharField(
        required=False,
        default="",
        allow_blank=True,
        max_length=2000,
        help_text="Why; the record that stays says it.",
    )


def mlmodel_data(mlmodel: MLModel, revision: Revision) -> dict[str, Any]:
    """All there is to say of an MLModel at a revision."""
    summary = summary_of(mlmodel, revision)
    context = {"revision_of": (mlmodel.full_name, revision.oid)}
    files = FileSerializer(files_of(revision), many=True, context=context).data
    job = latest_job(revision, JobKind.INSPECT)
    return {
        **MLModelSummarySerializer(summary).data,
        "card": revision.card,
        "readme": readme_of(revision),
        "refs": RefSerializer(refs_of(mlmodel), many=True).data,
        "files": files,
        "graph": GraphSerializer(summary.graph).data if summary.graph else None,
        "inspection": InspectionSerializer(job).data if job else None,
        "default_branch": mlmodel.default_branch,
        "identifiers": names_data(revision),
    }


class MLModelsView(ApiView):
    @extend_schema(
        operation_id="model_search", parameters=[CatalogueQuery], responses=CatalogueSerializer
    )
    def get(self, request: Request) -> Response:
        """Search the models you can see, by words and by what the hub knows of them.

        Facets are counted over the whole result, each without its own filter.
        """
        query = query_of(request, CatalogueQuery)
        found = catalogue_search(request.user, query=query.pop("q"), **query)
        answer = {
            "items": MLModelSummarySerializer(summaries_of(found.items), many=True).data,
            "next": found.next_cursor,
            "total": found.total,
            "facets": found.facets,
        }
        return Response(answer)

    @extend_schema(
        operation_id="model_create",
        request=MLModelCreateSerializer,
        responses={201: MLModelSerializer},
    )
    def post(self, request: Request) -> Response:
        """Make a model. Its first revision holds only `.gitattributes`; commit files to it."""
        asked = body_of(request, MLModelCreateSerializer)
        made = mlmodel_create(actor=signed_in(request), **asked)
        return Response(mlmodel_data(made, revision_get(made)), status=201)


class MLModelView(ApiView):
    @extend_schema(
        operation_id="model_get", parameters=[RevisionQuery], responses=MLModelSerializer
    )
    def get(self, request: Request, namespace: str, name: str) -> Response:
        """Tell all about a model."""
        query = query_of(request, RevisionQuery)
        return self._answer(request.user, f"{namespace}/{name}", query["revision"])

    @extend_schema(
        operation_id="model_change",
        request=MLModelChangeSerializer,
        responses=MLModelSerializer,
    )
    def patch(self, request: Request, namespace: str, name: str) -> Response:
        """Change who may read a model, or which branch it is shown by."""
        actor, asked = signed_in(request), body_of(request, MLModelChangeSerializer)
        mlmodel = mlmodel_get(actor, f"{namespace}/{name}")
        mlmodel_update(actor=actor, mlmodel=mlmodel, **asked)
        return self._answer(actor, mlmodel.full_name, None)

    @extend_schema(operation_id="model_delete", parameters=[DeleteQuery], responses={204: None})
    def delete(self, request: Request, namespace: str, name: str) -> Response:
        """Delete a model with all its revisions, builds and records. There is no way back.

        Of a public model the FAIR record stays, and its identifiers lead there.
        """
        actor = signed_in(request)
        reason = query_of(request, DeleteQuery)["reason"]
        mlmodel = mlmodel_get(actor, f"{namespace}/{name}")
        mlmodel_delete(actor=actor, mlmodel=mlmodel, reason=reason)
        return Response(status=204)

    def _answer(self, actor: Actor, full_name: str, revision: str | None) -> Response:
        mlmodel = mlmodel_get(actor, full_name)
        return Response(mlmodel_data(mlmodel, revision_get(mlmodel, revision)))
