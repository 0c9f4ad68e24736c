"""A model with two revisions, their networks, topologies, builds and profiles, for tests."""

import gzip
import json
from typing import Any

from registry.tables import Graph, MLModel, Topology, User
from tests import factories
from tests.factories import commit_files, make_mlmodel, tiny_onnx
from tests.hub.pages.tuning import end_inspection, floor_of
from tests.registry import shopfloor
from tests.registry.analysis.comparisons import published
from tests.registry.analysis.test_graphdiff import chain
from tests.registry.shopfloor import call_site


def two_revisions(alice: User) -> MLModel:
    """``alice/digits``: Conv, Relu, Gemm; then a Sigmoid between the last two, and faster."""
    mlmodel = make_mlmodel("alice/digits", actor=alice, files={"model.onnx": tiny_onnx()})
    end_inspection()
    _measured(mlmodel, ("Conv", "Relu", "Gemm"), 4_000_000, (60_000, 10_000, 30_000))
    commit_files(mlmodel, {"model.onnx": tiny_onnx(scale=0.25)}, actor=alice)
    end_inspection()
    calls = (20_000, 10_000, 5_000, 30_000)
    _measured(mlmodel, ("Conv", "Relu", "Sigmoid", "Gemm"), 2_000_000, calls)
    return mlmodel


def _measured(
    mlmodel: MLModel, operators: tuple[str, ...], p50_ns: int, times_ns: tuple[int, ...]
) -> None:
    floor = floor_of(mlmodel)
    Graph.objects.filter(pk=floor.graph.pk).update(parameters=1000 * len(operators))
    document = chain(*operators, names="") | {"omitted": []}
    blob = factories.store(gzip.compress(json.dumps(document).encode()))
    Topology.objects.update_or_create(graph=floor.graph, defaults={"blob": blob})
    calls: list[Any] = [
        call_site(operator, time, (at, "exact"), operator=operator, precision="float32")
        for at, (operator, time) in enumerate(zip(operators, times_ns, strict=True))
    ]
    fast = {"ratio": p50_ns / 8e6, "p50_ns": p50_ns}
    published(floor, half=fast, calls={"half": calls})
    assert floor.target.slug == shopfloor.SLUG
