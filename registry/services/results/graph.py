"""Facts of networks, stored by inspections."""

from dataclasses import asdict

from django.db import transaction

from hpcfair.tickets import GraphFacts
from registry.errors import NotFound
from registry.selectors.results.graph import graph_of
from registry.services.analysis.topology import topology_store
from registry.services.results.best import best_builds_update
from registry.services.work.lease import held_job
from registry.states import ArchitectureClass
from registry.tables import Graph, Job, OutboxEntry
from registry.validation.texts import check_json
from registry.validation.topology import TopologyFacts

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


def required_graph(job: Job) -> Graph:
    """The primary graph of a job's revision. Raises ``NotFound`` ``graph_not_found``."""
    graph = graph_of(job.revision)
    if graph is None:
        raise NotFound(
            "graph_not_found", f"The revision of job {job.uuid} has no inspected network."
        )
    return graph
