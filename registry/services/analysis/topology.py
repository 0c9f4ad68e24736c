"""Topologies of networks: stored with the facts of the graph, and made again for older graphs."""

from registry.selectors.analysis.topology import undrawn_heads
from registry.services.storage.blob import blobs_hold
from registry.services.work.job import job_submit
from registry.services.work.plan import DRAWING_PRIORITY
from registry.states import JobKind, JobState
from registry.tables import Graph, Job, Topology
from registry.validation.topology import TopologyFacts

#: Inspections of this kind that wait at most at any time: a hub may have thousands of networks.
MOST_WAITING = 20


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


def drawings_continue() -> list[Job]:
    """Queue inspections of networks without a topology, newest first, a few at a time.

    They read the same files as the first inspection, and no search follows. Models that fail are
    not tried again.
    """
    waiting = Job.objects.filter(
        kind=JobKind.INSPECT, state=JobState.QUEUED, priority=DRAWING_PRIORITY
    )
    left = MOST_WAITING - waiting[:MOST_WAITING].count()
    return [
        job_submit(actor=None, kind=JobKind.INSPECT, revision=revision, priority=DRAWING_PRIORITY)
        for revision in undrawn_heads()[: max(left, 0)]
    ]
