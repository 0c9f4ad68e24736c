"""Reads of the facts of networks."""

from typing import Any

from hpcfair.tickets import GraphFacts
from registry.fair.parts import NetworkDescription, TensorDescription
from registry.tables import Graph, Revision


def graph_of(revision: Revision) -> Graph | None:
    """The revision's primary graph; ``None`` before inspection or without a network file."""
    return Graph.objects.filter(revision=revision, is_primary=True).order_by("path").first()


def graph_facts(graph: Graph) -> GraphFacts:
    """A stored graph as plain facts."""
    return GraphFacts(
        path=graph.path,
        graph_hash=graph.graph_hash,
        architecture_class=graph.architecture_class,
        parameters=graph.parameters,
        macs=graph.macs,
        signature=graph.signature,
        operators=graph.operators,
        embedding=graph.embedding,
        opsets=graph.facts["opsets"],
        ir_version=graph.facts["ir_version"],
        producer=graph.facts["producer"],
        external_data=graph.facts["external_data"],
        weight_bytes=graph.facts["weight_bytes"],
        # Missing from inspections by older versions of the hub.
        forms=graph.facts.get("forms", []),
        integer_bounds=graph.facts.get("integer_bounds", {}),
        convolutions=graph.facts.get("convolutions", []),
        weight_dtypes=graph.facts.get("weight_dtypes", {}),
        format=graph.facts.get("format", "onnx"),
    )


def network_of(graph: Graph) -> NetworkDescription:
    """A stored graph as metadata records describe it; ``embedding`` is not read."""
    dtypes: dict[str, int] = graph.facts.get("weight_dtypes", {})
    return NetworkDescription(
        path=graph.path,
        format=graph.facts.get("format", "onnx"),
        architecture_class=str(graph.architecture_class),
        graph_hash=graph.graph_hash,
        parameters=graph.parameters,
        inputs=_tensors(graph.signature["inputs"]),
        outputs=_tensors(graph.signature["outputs"]),
        opsets={name or "ai.onnx": version for name, version in graph.facts["opsets"].items()},
        operators=graph.operators,
        macs=graph.macs,
        weight_bytes=graph.facts["weight_bytes"],
        precision=max(dtypes, key=lambda name: (dtypes[name], name), default=None),
    )


def _tensors(specs: list[dict[str, Any]]) -> tuple[TensorDescription, ...]:
    return tuple(
        TensorDescription(name=spec["name"], dtype=spec["dtype"], shape=tuple(spec["shape"]))
        for spec in specs
    )
