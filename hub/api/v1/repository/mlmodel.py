"""The catalogue of models, and each model."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from hub.api.auth import signed_in
from hub.api.schema import example
from hub.api.v1.fair.identifier import NAMES_EXAMPLE, NamesSerializer, names_data
from hub.api.v1.repository.file import FILE_EXAMPLE, FILES_NEXT, FileSerializer, files_data
from hub.api.v1.repository.origin import ImportedVersionSerializer, origin_data
from hub.api.v1.repository.revision import RefSerializer
from hub.api.v1.repository.summary import (
    REVISION_OID,
    SUMMARY_EXAMPLE,
    CatalogueEntrySerializer,
    CatalogueQuery,
    CatalogueSerializer,
    MLModelSummarySerializer,
)
from hub.api.v1.results.graph import GRAPH_EXAMPLE, GraphSerializer, RevisionQuery
from hub.api.views import ApiView, Strict, body_of, query_of
from registry.selectors.access import Actor
from registry.selectors.repository.mlmodel import mlmodel_get
from registry.selectors.repository.revision import readme_of, refs_of, revision_get
from registry.selectors.results.inconclusive import inconclusive_classes, probable_gains
from registry.selectors.results.runnable import not_runnable
from registry.selectors.search.catalogue import catalogue_search
from registry.selectors.search.entry import entries_of
from registry.selectors.search.summary import summary_of
from registry.selectors.work.job import latest_job
from registry.services.repository.mlmodel import mlmodel_create, mlmodel_delete, mlmodel_update
from registry.states import JobKind, JobState, Visibility
from registry.tables import MLModel, Revision


@example({"state": "failed", "code": "onnx_truncated", "detail": "The file ends early."})
class InspectionSerializer(serializers.Serializer[Any]):
    state = serializers.ChoiceField(JobState.choices)
    code = serializers.CharField(source="failure_code", allow_blank=True)
    detail = serializers.CharField(source="failure_detail", allow_blank=True)


@example(
    {
        "code": "onnx_unreadable",
        "reason": "model.onnx is a Python pickle.",
        "remedy": "Correct the file and publish it again.",
    }
)
class NotRunnableSerializer(serializers.Serializer[Any]):
    code = serializers.CharField()
    reason = serializers.CharField()
    remedy = serializers.CharField(help_text="The next step of the owner.")


@example(
    {
        **SUMMARY_EXAMPLE,
        "card": {"license": "apache-2.0", "pipeline_tag": "image-classification"},
        "readme": "# Galaxy CNN\n\nSorts galaxies by shape.\n",
        "refs": [{"kind": "branch", "name": "main", "revision": REVISION_OID}],
        "files": [FILE_EXAMPLE],
        "files_next": None,
        "graph": GRAPH_EXAMPLE,
        "inspection": {"state": "succeeded", "code": "", "detail": ""},
        "not_runnable": None,
        "inconclusive": {"x86-64-avx512": ["int8"]},
        "probable_gains": {"x86-64-avx512": {"int8": 2.31}},
        "is_held": False,
        "default_branch": "main",
        "origin": None,
        "identifiers": NAMES_EXAMPLE,
    }
)
class MLModelSerializer(MLModelSummarySerializer):
    card = serializers.DictField(help_text="The front matter of README.md.")
    readme = serializers.CharField(
        help_text="The Markdown after the front matter.", allow_blank=True
    )
    refs = RefSerializer(many=True)
    files = FileSerializer(many=True, help_text="The first 1000, by path.")
    files_next = serializers.CharField(allow_null=True, help_text=FILES_NEXT)
    graph = GraphSerializer(allow_null=True)
    inspection = InspectionSerializer(allow_null=True)
    not_runnable = NotRunnableSerializer(
        allow_null=True, help_text="Why the revision cannot be loaded; null if it can."
    )
    inconclusive = serializers.DictField(
        child=serializers.ListField(child=serializers.CharField()),
        help_text="Target to the tolerance classes in which measurements without a conclusion may "
        "hide a faster build.",
    )
    probable_gains = serializers.DictField(
        child=serializers.DictField(child=serializers.FloatField()),
        help_text="Target to tolerance class to how many times as fast as the default a build "
        "probably is that is still being confirmed.",
    )
    is_held = serializers.BooleanField(
        help_text="Whether it is private only until its first files have passed their checks."
    )
    default_branch = serializers.CharField()
    origin = ImportedVersionSerializer(
        allow_null=True, help_text="Where it was imported from; null if it was published here."
    )
    identifiers = NamesSerializer()


@example({"namespace": "lab", "name": "galaxy-cnn", "visibility": "public"})
class MLModelCreateSerializer(Strict):
    namespace = serializers.CharField(max_length=96)
    name = serializers.CharField(max_length=96)
    visibility = serializers.ChoiceField(
        Visibility.choices,
        required=False,
        help_text="By default that of the namespace: public, unless an organisation chose private.",
    )


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
        help_text="Reason for the deletion, kept in the remaining record.",
    )


def mlmodel_data(mlmodel: MLModel, revision: Revision) -> dict[str, Any]:
    """An MLModel at a revision, as JSON."""
    summary = summary_of(mlmodel, revision)
    job = latest_job(revision, JobKind.INSPECT)
    # What was built has run.
    fault = None if summary.builds else not_runnable(revision)
    inconclusive = inconclusive_classes(revision)
    return {
        **MLModelSummarySerializer(summary).data,
        "card": revision.card,
        "readme": readme_of(revision),
        "refs": RefSerializer(refs_of(mlmodel), many=True).data,
        **files_data(mlmodel, revision),
        "graph": GraphSerializer(summary.graph).data if summary.graph else None,
        "inspection": InspectionSerializer(job).data if job else None,
        "not_runnable": NotRunnableSerializer(fault).data if fault else None,
        "inconclusive": {slug: sorted(classes) for slug, classes in inconclusive.items()},
        "probable_gains": probable_gains(revision) if inconclusive else {},
        "is_held": mlmodel.is_held,
        "default_branch": mlmodel.default_branch,
        "origin": origin_data(revision),
        "identifiers": names_data(revision),
    }


class MLModelsView(ApiView):
    @extend_schema(
        operation_id="model_search", parameters=[CatalogueQuery], responses=CatalogueSerializer
    )
    def get(self, request: Request) -> Response:
        """Search the models you may read, by words, filters and numbers.

        `latency`, `gain` and `accuracy` are of the best build within `tolerance` (by default
        `exact`) on the `target`; without a target, each is the best on any target. `throughput` is
        that of the best build in the scenario `offline`. Comparisons are written as `<5ms`, `>2`,
        `<=100MB`.
        Facets are counted over all results, each without its own filter. Numbers of large results
        are capped and estimated, and marked so.
        """
        query = query_of(request, CatalogueQuery)
        results = catalogue_search(request.user, query=query.pop("q"), **query)
        answer = {
            "items": CatalogueEntrySerializer(entries_of(results), many=True).data,
            "next": results.next_cursor,
            "total": results.total,
            "total_is_exact": results.counts.total_is_exact,
            "facets": results.facets,
            "facets_are_exact": results.counts.facets_are_exact,
            "hints": results.hints,
        }
        return Response(answer)

    @extend_schema(
        operation_id="model_create",
        request=MLModelCreateSerializer,
        responses={201: MLModelSerializer},
    )
    def post(self, request: Request) -> Response:
        """Create a model. Its first revision has `.gitattributes` only; commit files to it.

        A public model is private, and `is_held`, until its first files have passed their checks.
        """
        body = body_of(request, MLModelCreateSerializer)
        mlmodel = mlmodel_create(actor=signed_in(request), hold=True, **body)
        return Response(mlmodel_data(mlmodel, revision_get(mlmodel)), status=201)


class MLModelView(ApiView):
    @extend_schema(
        operation_id="model_get", parameters=[RevisionQuery], responses=MLModelSerializer
    )
    def get(self, request: Request, namespace: str, name: str) -> Response:
        """Fetch a model: card, files, network, references, identifiers."""
        query = query_of(request, RevisionQuery)
        return self._answer(request.user, f"{namespace}/{name}", query["revision"])

    @extend_schema(
        operation_id="model_change", request=MLModelChangeSerializer, responses=MLModelSerializer
    )
    def patch(self, request: Request, namespace: str, name: str) -> Response:
        """Change the visibility or the default branch of a model."""
        actor, body = signed_in(request), body_of(request, MLModelChangeSerializer)
        mlmodel = mlmodel_get(actor, f"{namespace}/{name}")
        mlmodel_update(actor=actor, mlmodel=mlmodel, **body)
        return self._answer(actor, mlmodel.full_name, None)

    @extend_schema(operation_id="model_delete", parameters=[DeleteQuery], responses={204: None})
    def delete(self, request: Request, namespace: str, name: str) -> Response:
        """Delete a model with all its revisions, builds and records, irreversibly.

        The metadata record of a public model remains, and its identifiers lead there.
        """
        actor = signed_in(request)
        reason = query_of(request, DeleteQuery)["reason"]
        mlmodel = mlmodel_get(actor, f"{namespace}/{name}")
        mlmodel_delete(actor=actor, mlmodel=mlmodel, reason=reason)
        return Response(status=204)

    def _answer(self, actor: Actor, full_name: str, revision: str | None) -> Response:
        mlmodel = mlmodel_get(actor, full_name)
        return Response(mlmodel_data(mlmodel, revision_get(mlmodel, revision)))
