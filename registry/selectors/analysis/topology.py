"""Reads of topologies. Their bytes tell as much as the file: callers check the access to it."""

from collections.abc import Mapping
from typing import Any

from registry.errors import NotFound
from registry.selectors.analysis.topologycache import ParsedTopology, TopologyCache
from registry.selectors.storage.blob import blob_open
from registry.selectors.work.job import open_jobs
from registry.states import JobKind
from registry.tables import Graph, Job, Revision, Topology

_PARSED = TopologyCache()


def networks_of(revision: Revision) -> list[Graph]:
    """The networks of a revision, the primary one first, with their topologies."""
    rows = Graph.objects.filter(revision=revision).select_related("topology")
    return list(rows.order_by("-is_primary", "path"))


def network_get(revision: Revision, path: str | None) -> Graph:
    """The network at ``path`` of a revision; by default the primary one.

    Raises ``NotFound``: ``graph_not_found``.
    """
    for graph in networks_of(revision):
        if path is None or graph.path == path:
            return graph
    which = f"no inspected network {path[:200]!r}" if path else "no inspected network"
    raise NotFound(
        "graph_not_found",
        f"This revision of {revision.mlmodel.full_name} has {which}.",
        "See its inspection: it may be running, or have found no network.",
    )


def topology_of(graph: Graph) -> Topology | None:
    """The topology of a network; ``None`` if it was not drawn, or could not be."""
    row: Topology | None = getattr(graph, "topology", None)
    return row if row is not None and row.blob_id is not None else None


def topology_get(graph: Graph) -> Topology:
    """:func:`topology_of`. Raises ``NotFound``: ``topology_not_found``."""
    row = topology_of(graph)
    if row is not None:
        return row
    if hasattr(graph, "topology"):
        raise NotFound(
            "topology_not_found",
            f"{graph.path} could not be drawn.",
            "The log of its inspection has the reason.",
        )
    raise NotFound(
        "topology_not_found",
        f"{graph.path} was inspected before networks were drawn.",
        "Versions of branches and tags are inspected again in the background, newest first.",
    )


def topology_bytes(topology: Topology) -> bytes:
    """The gzipped JSON of a topology. Raises ``NotFound``: ``blob_not_found``."""
    assert topology.blob is not None  # noqa: S101 - rows without are not returned
    with blob_open(topology.blob) as stream:
        return stream.read()


def topology_parsed(topology: Topology) -> ParsedTopology:
    """A topology, shared by the requests of a process. Raises ``NotFound``: ``blob_not_found``."""
    assert topology.blob_id is not None  # noqa: S101 - rows without are not returned
    return _PARSED.get(topology.blob_id, lambda: topology_bytes(topology))


def topology_document(topology: Topology) -> Mapping[str, Any]:
    """The document of a topology, which readers do not change.

    Raises ``NotFound``: ``blob_not_found``.
    """
    return topology_parsed(topology).document


def drawing_job(revision: Revision) -> Job | None:
    """The open inspection of a revision, if there is one: it will draw the networks."""
    return open_jobs(revision).filter(kind=JobKind.INSPECT).first()
