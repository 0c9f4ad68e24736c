"""Work of the nodes of a network, from its stored topology."""

from registry.errors import NotFound
from registry.kernels.networkwork import NetworkWork
from registry.selectors.analysis.topology import topology_get, topology_parsed
from registry.tables import Graph


def work_get(graph: Graph) -> NetworkWork:
    """The work of a network's nodes, for those who may fetch its files.

    Raises ``NotFound``: ``topology_not_found``, ``blob_not_found``.
    """
    return topology_parsed(topology_get(graph)).work


def work_of(graph: Graph) -> NetworkWork | None:
    """:func:`work_get`; ``None`` if its topology is missing, or its bytes are."""
    try:
        return work_get(graph)
    except NotFound:
        return None
