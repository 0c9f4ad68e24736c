"""Reads of what the hub knows of networks."""

from registry.tables import Graph, Revision
from registry.tickets import GraphFacts


def graph_of(revision: Revision) -> Graph | None:
    """Facts of the revision's primary ONNX file; ``None`` before inspection, or without one."""
    return Graph.objects.filter(revision=revision, is_primary=True).order_by("path").first()


def graph_facts(graph: Graph) -> GraphFacts:
    """A stored graph as the plain facts it was made from."""
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
        # What was inspected before these were known of has none.
        forms=graph.facts.get("forms", []),
        integer_bounds=graph.facts.get("integer_bounds", {}),
    )
