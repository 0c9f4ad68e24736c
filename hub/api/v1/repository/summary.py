"""Summaries of models, as the catalogue lists them."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from hub.api.schema import example
from hub.api.v1.results.build import ExecutionSerializer
from hub.api.views import PageQuery
from registry.scenarios import Scenario
from registry.search.vocabulary import FILTERS, SORTS
from registry.selectors.search.speeds import TuningProgress
from registry.states import ArchitectureClass, ToleranceClass, Visibility

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
ENTRY_EXAMPLE = {
    **SUMMARY_EXAMPLE,
    "size_bytes": 4_912_331,
    "fair_percent": 87.5,
    "state": {"progress": "tuned", "reason": ""},
    "speed": {
        "build": "7d7b1c52-8f43-4c39-9d6e-0a6c5b0f1e2d",
        "target": "x86-64-avx512",
        "scenario": "single-stream",
        "latency_ns": 8300,
        "default_ns": 17_264,
        "gain": 2.08,
        "gain_low": 2.05,
        "gain_high": 2.11,
        "tolerance": "int8",
        "accuracy": 0.986,
        "accuracy_reference": 0.986,
        "throughput_per_s": None,
        "execution": None,
    },
    "similarity": None,
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
    parameters = serializers.IntegerField(
        allow_null=True, help_text="Of the network, or else of the safetensors files."
    )
    architecture_class = serializers.ChoiceField(
        ArchitectureClass.choices, source="graph.architecture_class", default=None, allow_null=True
    )
    revision = serializers.CharField(source="revision.oid", default=None, allow_null=True)
    builds = serializers.DictField(
        child=serializers.FloatField(),
        help_text="Latency ratio of the best `exact` build, by target.",
    )


class SpeedSerializer(serializers.Serializer[Any]):
    build = serializers.UUIDField()
    target = serializers.CharField()
    scenario = serializers.ChoiceField(
        Scenario.choices,
        help_text="What the figures are of: `offline` if the query compares `throughput` or orders "
        "by it.",
    )
    latency_ns = serializers.IntegerField(
        help_text="Median latency; `offline` of a query of many samples."
    )
    default_ns = serializers.IntegerField(
        help_text="Median latency of the runtime's defaults in the same interleaved run."
    )
    gain = serializers.FloatField(help_text="`default_ns` over `latency_ns`; 1 for the defaults.")
    gain_low = serializers.FloatField(
        source="low", allow_null=True, help_text="Of the 95 % confidence interval."
    )
    gain_high = serializers.FloatField(source="high", allow_null=True)
    tolerance = serializers.ChoiceField(
        ToleranceClass.choices, help_text="Of the build; may be stricter than accepted."
    )
    accuracy = serializers.FloatField(allow_null=True)
    accuracy_reference = serializers.FloatField(
        allow_null=True, help_text="Accuracy of the published network."
    )
    throughput_per_s = serializers.FloatField(
        allow_null=True, help_text="Samples per second, `offline`."
    )
    execution = ExecutionSerializer(
        allow_null=True, help_text="How the build processes many samples, `offline`."
    )


class TuningStateSerializer(serializers.Serializer[Any]):
    progress = serializers.ChoiceField([(one.value, one.value) for one in TuningProgress])
    reason = serializers.CharField(
        allow_blank=True, help_text="Why the search failed, or the model cannot be run."
    )


class SimilaritySerializer(serializers.Serializer[Any]):
    score = serializers.FloatField(help_text="From 0 to 1 for equal structures.")
    alike = serializers.ListField(
        child=serializers.CharField(), help_text="What the networks have in common."
    )


@example(ENTRY_EXAMPLE)
class CatalogueEntrySerializer(MLModelSummarySerializer):
    size_bytes = serializers.IntegerField(
        source="revision.size_bytes",
        default=None,
        allow_null=True,
        help_text="Of the files at the head of the default branch.",
    )
    fair_percent = serializers.FloatField(
        allow_null=True, help_text="FAIR score; null before the first assessment."
    )
    state = TuningStateSerializer()
    speed = SpeedSerializer(
        allow_null=True,
        help_text="Of the best build on the `target` within the `tolerance`; without one target, "
        "on the one of the lowest latency.",
    )
    similarity = SimilaritySerializer(
        allow_null=True, help_text="To the model of `similar`; null without it."
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
        "items": [ENTRY_EXAMPLE],
        "next": None,
        "total": 1,
        "total_is_exact": True,
        "facets": {"task": [["image-classification", 1]], "license": [["apache-2.0", 1]]},
        "facets_are_exact": True,
        "hints": [],
    }
)
class CatalogueSerializer(serializers.Serializer[Any]):
    items = CatalogueEntrySerializer(many=True)
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
    hints = serializers.ListField(
        child=serializers.CharField(),
        help_text="Of an empty result: filter values that no model has, with the ones most alike.",
    )


class CatalogueQuery(PageQuery):
    q = serializers.CharField(
        default="",
        allow_blank=True,
        required=False,
        help_text='Words, "phrases", and filters such as `task:image-classification latency:<5ms`.',
    )
    sort = serializers.ChoiceField(
        [(name, name) for name in SORTS],
        required=False,
        error_messages={
            "invalid_choice": f'"{{input}}" is no order. Orders are {", ".join(SORTS)}.'
        },
    )

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        """A field for each filter, and for the names that earlier versions used."""
        filters: dict[str, serializers.Field[Any, Any, Any, Any]] = {}
        for one in FILTERS.values():
            text = f"{one.help} Such as `{one.example}`."
            if one.values:
                text += f" One of {', '.join(one.values)}."
            filters[one.name] = serializers.CharField(required=False, help_text=text)
            if one.alias:
                filters[one.alias] = serializers.CharField(
                    required=False, help_text=f"Same as `{one.name}`."
                )
        return {**super().get_fields(), **filters}
