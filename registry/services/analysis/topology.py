"""Topologies of networks, stored with the facts of the graph."""

from registry.services.storage.blob import blobs_hold
from registry.tables import Graph, Topology
from registry.validation.topology import TopologyFacts


def topology_store(*, graph: Graph, drawing: TopologyFacts | None) -> Topology:
    """Store the topology of a graph, in the transaction that stores the graph.

    Args:
        drawing: ``None`` if the network could not be drawn.

    Raises:
        Invalid: ``blob_missing``.
    """
    values: dict[str, object] = {"blob_id": None}
    if drawing is not None:
        blobs_hold({drawing.sha256})
        values = {
            "blob_id": drawing.sha256,
            "nodes": drawing.nodes,
            "edges": drawing.edges,
            "groups": drawing.groups,
            "size_bytes": drawing.size_bytes,
        }
    row, _ = Topology.objects.update_or_create(graph=graph, defaults=values)
    return row
