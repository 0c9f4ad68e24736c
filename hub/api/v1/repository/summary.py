"""Summaries of models, as the catalogue lists them."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from hub.api.schema import example
from hub.api.views import PageQuery
from registry.states import ArchitectureClass, Visibility

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
    signature = serializers.CharField(allow_null=True, help_text="Null before the inspection.")
    parameters = serializers.IntegerField(source="graph.parameters", default=None, allow_null=True)
    architecture_class = serializers.ChoiceField(
        ArchitectureClass.choices, source="graph.architecture_class", default=None, allow_null=True
    )
    revision = serializers.CharField(source="revision.oid", default=None, allow_null=True)
    builds = serializers.DictField(
        child=serializers.FloatField(),
        help_text="Latency ratio of the best `exact` build, by target.",
    )


@extend_schema_field(
    {
        "type": "array",
        "prefixItems": [{"type": "string"}, {"type": "integer"}],
        "minItems": 2,
        "maxItems": 2,
    }
)
class FacetValueField(serializers.ListField):
    """A value and its number of models."""


@example(
    {
        "items": [SUMMARY_EXAMPLE],
        "next": None,
        "total": 1,
        "total_is_exact": True,
        "facets": {"task": [["image-classification", 1]], "license": [["apache-2.0", 1]]},
        "facets_are_exact": True,
    }
)
class CatalogueSerializer(serializers.Serializer[Any]):
    items = MLModelSummarySerializer(many=True)
    next = serializers.CharField(
        allow_null=True, help_text="The `cursor` of the next page; null on the last."
    )
    total = serializers.IntegerField()
    total_is_exact = serializers.BooleanField(
        help_text="Whether there are `total` models, else at least as many."
    )
    facets = serializers.DictField(
        child=serializers.ListField(child=FacetValueField()),
        help_text="Values of each facet with their counts, most frequent first.",
    )
    facets_are_exact = serializers.BooleanField(
        help_text="Whether the counts are exact, else estimates with two significant digits."
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
    target = serializers.CharField(
        required=False, help_text="Only models with a build for this target."
    )
    similar_to = serializers.CharField(
        required=False,
        help_text="Only models whose network is similar to that of this model, most similar first.",
    )
    sort = serializers.ChoiceField([(name, name) for name in SORTS], required=False)
