"""What inspection found out about networks."""

from dataclasses import asdict

from django.db import transaction

from registry.services.work.lease import held_job
from registry.states import ArchitectureClass
from registry.tables import Graph, OutboxEntry
from registry.tickets import GraphFacts
from registry.validation.document import check_json

_COLUMNS = (
    "graph_hash", "architecture_class", "parameters", "macs", "signature", "operators", "embedding",
)  # fmt: skip


def graph_store(*, job_uuid: str, fence: int, facts: GraphFacts, is_primary: bool) -> Graph:
    """Keep the facts of one file of the revision the job inspects.

    The same file again replaces what was known of it: a newer inspection may know more. A new
    primary graph takes that place from any other.

    Raises:
        Conflict: ``lease_lost``.
        Invalid: ``invalid_request``.
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
        OutboxEntry.objects.create(mlmodel_uuid=revision.mlmodel.uuid)
    return graph
