"""Reads of the facts of networks."""

from dataclasses import MISSING, fields
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet

from hpcfair.tickets import GraphFacts
from registry.fair.parts import NetworkDescription, TensorDescription
from registry.states import JobKind, JobState, RefKind
from registry.tables import Graph, Job, Ref, Revision

#: Facts that inspections by older versions of the hub lack.
_LATER_FACTS = [
    each.name
    for each in fields(GraphFacts)
    if each.default is not MISSING or each.default_factory is not MISSING
]


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
        **{name: graph.facts[name] for name in _LATER_FACTS if name in graph.facts},
    )


def outdated_heads() -> QuerySet[Revision]:
    """Heads of branches and tags that an older version of the hub inspected, newest first: facts of
    the primary network are missing, or a network was not drawn.

    Without those whose last inspection failed or is still to come.
    """
    heads = Ref.objects.filter(kind__in=[RefKind.BRANCH, RefKind.TAG]).values("revision")
    # Every inspection stores the primary network, so that none is outdated for ever.
    lacks_facts = Q(is_primary=True) & ~Q(facts__has_keys=_LATER_FACTS)
    graphs = Graph.objects.filter(Q(topology=None) | lacks_facts, revision=OuterRef("pk"))
    inspections = Job.objects.filter(revision=OuterRef("pk"), kind=JobKind.INSPECT)
    unsound = inspections.exclude(state=JobState.SUCCEEDED)
    return (
        Revision.objects.filter(Exists(graphs), ~Exists(unsound), pk__in=heads)
        .select_related("mlmodel__namespace")
        .order_by("-id")
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
