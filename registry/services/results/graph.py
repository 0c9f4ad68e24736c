"""Facts of networks, stored by inspections."""

from dataclasses import asdict

from django.db import transaction

from hpcfair.tickets import GraphFacts
from registry.errors import NotFound
from registry.selectors.results.graph import graph_of, outdated_heads
from registry.services.analysis.topology import topology_store
from registry.services.results.best import best_builds_update
from registry.services.work.job import job_submit
from registry.services.work.lease import held_job
from registry.services.work.plan import REINSPECTION_PRIORITY
from registry.states import ArchitectureClass, JobKind, JobState
from registry.tables import Graph, Job, OutboxEntry
from registry.validation.texts import check_json
from registry.validation.topology import TopologyFacts

#: Renewed inspections that wait at most at any time: a hub may have thousands of networks.
MOST_WAITING = 20
_COLUMNS = (
    "graph_hash", "architecture_class", "parameters", "macs", "signature", "operators", "embedding",
)  # fmt: skip


def graph_store(
    *,
    job_uuid: str,
    fence: int,
    facts: GraphFacts,
    is_primary: bool,
    drawing: TopologyFacts | None = None,
) -> Graph:
    """Store the facts of one file of the job's revision, replacing earlier facts of that file.

    Args:
        is_primary: Whether the hub tunes and loads this file; the revision's other graphs are no
            longer primary then.
        drawing: The stored topology; ``None`` if the network could not be drawn.

    Raises:
        Conflict: ``lease_lost``.
        Invalid: ``invalid_request``; ``blob_missing``.
    """
    values = check_json(asdict(facts))
    columns = {name: values.pop(name) for name in _COLUMNS}
    columns["architecture_class"] = ArchitectureClass(facts.architecture_class)
    path = values.pop("path")
    with transaction.atomic():
        revision = held_job(job_uuid=job_uuid, fence=fence).revision
        if is_primary:
            Graph.objects.filter(revision=revision).exclude(path=path).update(is_primary=False)
        graph, _ = Graph.objects.update_or_create(
            revision=revision,
            path=path,
            defaults={**columns, "is_primary": is_primary, "facts": values},
        )
        topology_store(graph=graph, drawing=drawing)
        best_builds_update(revision.mlmodel)
        OutboxEntry.objects.create(mlmodel_uuid=revision.mlmodel.uuid)
    return graph


def inspections_renew() -> list[Job]:
    """Queue inspections of networks that an older version of the hub inspected, newest first, a few
    at a time, so that they get what inspections learned since: topologies, and facts on which
    searches depend.

    No search follows. Models that fail are not tried again.
    """
    waiting = Job.objects.filter(
        kind=JobKind.INSPECT, state=JobState.QUEUED, priority=REINSPECTION_PRIORITY
    )
    left = MOST_WAITING - waiting[:MOST_WAITING].count()
    return [
        job_submit(
            actor=None, kind=JobKind.INSPECT, revision=revision, priority=REINSPECTION_PRIORITY
        )
        for revision in outdated_heads()[: max(left, 0)]
    ]


def required_graph(job: Job) -> Graph:
    """The primary graph of a job's revision. Raises ``NotFound`` ``graph_not_found``."""
    graph = graph_of(job.revision)
    if graph is None:
        raise NotFound(
            "graph_not_found", f"The revision of job {job.uuid} has no inspected network."
        )
    return graph
