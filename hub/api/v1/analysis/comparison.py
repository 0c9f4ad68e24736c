"""Comparisons of published builds."""

from collections.abc import Iterable
from typing import Any

from drf_spectacular.utils import OpenApiExample, OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from hub.api.v1.results.build import BUILD_UUID
from hub.api.views import ApiView, query_of
from registry.selectors.analysis.comparison import MOST_MODELS, MOST_NAMED, ComparisonQuery
from registry.selectors.analysis.comparisondocument import comparison_document
from registry.selectors.analysis.comparisonview import comparison_view
from registry.selectors.analysis.measuredbuild import COSTS

_LONGEST = 4000
_BUILD_EXAMPLE = {
    "uuid": BUILD_UUID,
    "record": "3fd1c8ae290b858c0bcc4f44b49b1e16d5fda68d55d5045f7f6f5b9ff3232088",
    "mlmodel": "lab/galaxy-cnn",
    "revision": "5f1c0de0a4b3f1b2c3d4e5f60718293a4b5c6d7e",
    "target": "x86-64-avx512",
    "backend": "openvino",
    "options": {"precision": "int8"},
    "tolerance": "int8",
    "is_baseline": False,
    "ratio": 0.48,
    "latency_low_ns": 8_100_000.0,
    "latency_high_ns": 8_500_000.0,
    "samples": 40,
    "figures": {
        "latency": 8_300_000.0, "energy": None, "memory": 96_468_992, "size": 5_013_504,
        "accuracy": 0.986, "error": 0.014, "throughput": 120.5,
    },
    "conditions": {
        "inputs": "x float32[1,3,64,64]", "batch": "1", "precision": "int8",
        "threads": "all of 2 cores", "processor": "Example Processor 8000", "device": "bench-1",
        "emulation": "real",
    },
    "has_profile": True,
}  # fmt: skip
EXAMPLE = {
    "builds": [_BUILD_EXAMPLE],
    "total": 1,
    "differences": {},
    "missing": [],
    "without_network": [],
    "matrix": {
        "columns": [
            {"target": "x86-64-avx512", "backend": "openvino", "ratio": 0.48, "networks": 1}
        ],
        "rows": [
            {
                "mlmodel": "lab/galaxy-cnn",
                "cells": [
                    {"build": BUILD_UUID, "latency_ns": 8_300_000, "reason": "", "detail": ""}
                ],
            }
        ],
    },
    "groups": {
        "builds": [],
        "refusal": "Choose at least two builds of one network.",
        "excluded": [],
        "rows": [],
    },
    "answer": {
        "cost": "latency", "cheapest": BUILD_UUID, "fitting": [BUILD_UUID], "unevaluated": 0,
        "emulated": 0,
    },
}  # fmt: skip


class ComparisonQuerySerializer(serializers.Serializer[Any]):
    build = serializers.CharField(
        required=False, allow_blank=True, default="", max_length=_LONGEST,
        help_text=f"UUIDs of builds, separated by commas; at most {MOST_NAMED}.",
    )  # fmt: skip
    model = serializers.CharField(
        required=False, allow_blank=True, default="", max_length=_LONGEST,
        help_text="Models, `namespace/name` or `namespace/name@revision`, separated by commas; at "
        f"most {MOST_MODELS}.",
    )  # fmt: skip
    target = serializers.CharField(
        required=False, allow_blank=True, default="", max_length=_LONGEST,
        help_text="Only these targets, separated by commas.",
    )  # fmt: skip
    backend = serializers.CharField(
        required=False, allow_blank=True, default="", max_length=_LONGEST,
        help_text="Only these backends, separated by commas.",
    )  # fmt: skip
    tolerance = serializers.CharField(
        required=False, allow_blank=True, default="", max_length=200,
        help_text="Only these tolerance classes, separated by commas.",
    )  # fmt: skip
    accuracy = serializers.FloatField(
        required=False, default=None, min_value=0, max_value=1,
        help_text="Least accuracy, as a share; builds without an accuracy do not meet it.",
    )  # fmt: skip
    latency_ms = serializers.FloatField(
        required=False, default=None, min_value=0, help_text="Largest latency in milliseconds."
    )
    x = serializers.ChoiceField(
        COSTS, required=False, default=COSTS[0],
        help_text="The figure by which the cheapest build within the limits is chosen.",
    )  # fmt: skip


class ComparisonView(ApiView):
    @extend_schema(
        operation_id="compare",
        parameters=[ComparisonQuerySerializer],
        responses=OpenApiResponse(
            {
                "type": "object",
                "description": "Builds with their figures and conditions, a matrix of models by "
                "target and backend with the reasons of failures, times by groups of nodes, and "
                "the cheapest build within the limits. Figures that were not measured are null.",
            },
            examples=[OpenApiExample("Comparison", EXAMPLE)],
        ),
    )
    def get(self, request: Request) -> Response:
        """Compare published builds over models, targets, backends and tolerance classes.

        Names that stand for nothing that you may read are listed in `missing`. Parameters may also
        be repeated.
        """
        query = query_of(request, ComparisonQuerySerializer)
        latency_ms = query["latency_ms"]
        lists = {
            name: _texts(request.query_params.getlist(name))
            for name in ("build", "model", "target", "backend", "tolerance")
        }
        wish = ComparisonQuery(
            builds=lists["build"],
            models=lists["model"],
            targets=lists["target"],
            backends=lists["backend"],
            tolerances=lists["tolerance"],
            accuracy=query["accuracy"],
            latency_ns=None if latency_ms is None else latency_ms * 1e6,
        )
        view = comparison_view(request.user, wish, cost=query["x"])
        return Response(comparison_document(view.comparison, view.matrix, view.groups, view.answer))


def _texts(values: Iterable[str]) -> tuple[str, ...]:
    parts = (part.strip() for value in values for part in value.split(","))
    return tuple(dict.fromkeys(part for part in parts if part))
