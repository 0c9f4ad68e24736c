"""Lineage graphs: ancestors and descendants of a model or data set, limited to readable ones.

Sources in cards are resolved by :mod:`registry.selectors.fair.source`.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial

from django.contrib.auth.models import AnonymousUser
from django.db.models import F, Q, QuerySet

from registry.errors import NotFound
from registry.fair.card.links import Base, bases_of
from registry.fair.card.values import CardReader
from registry.selectors.access import Actor, readable_mlmodels, readable_repositories, readable_with
from registry.selectors.fair.source import HUB_RELATIONS, source_name, source_pids, source_url
from registry.selectors.repository.mlmodel import mlmodel_get
from registry.states import RefKind
from registry.tables import Derivation, MLModel, Ref, Revision
from registry.validation.card import Card

#: Upper bound on the nodes of a lineage graph. Larger graphs are truncated, and ``is_whole`` is
#: false.
MAX_NODES = 60
#: Upper bound on the number of derived models that is counted.
MAX_CHILDREN = 10_000
#: Upper bound on the steps in each direction.
_MAX_STEPS = 12
_ANYBODY = AnonymousUser()


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A model or data set, or a source that is only known by its text in a card.

    Attributes:
        key: Identifies it within the graph.
        name: ``namespace/name``, or the text in the card.
        steps: Distance from the root: negative for ancestors, positive for descendants.
        mlmodel: With its namespace; ``None`` if it is outside this hub, deleted, or not readable.
        url: Its address, if ``mlmodel`` is ``None`` and an address is known.
    """

    key: str
    name: str
    steps: int
    mlmodel: MLModel | None = None
    url: str | None = None


@dataclass(frozen=True, slots=True)
class Edge:
    """``derived`` is derived from ``source``; both are keys of nodes."""

    derived: str
    source: str
    relation: str


@dataclass(frozen=True, slots=True)
class Lineage:
    """A complete (``is_whole``) or truncated graph; nodes by ``steps``, farthest ancestor first."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    is_whole: bool


def ancestors(full_name: str, actor: Actor = _ANYBODY) -> tuple[str, ...]:
    """Sources that the newest version of ``namespace/name`` declares; empty if it is not readable.

    Relations that the hub recorded do not count: a base model that is one's own fork is no cycle.
    """
    try:
        mlmodel = mlmodel_get(actor, full_name)
    except NotFound:
        return ()
    rows = _at_heads(Derivation.objects.filter(revision__mlmodel=mlmodel))
    declared = rows.exclude(relation__in=HUB_RELATIONS).select_related("source_mlmodel__namespace")
    return tuple(
        row.source_mlmodel.full_name
        if row.source_mlmodel and readable_with(row.source_mlmodel, mlmodel)
        else row.source
        for row in declared.order_by("pk")
    )


def declared_bases(actor: Actor, mlmodel: MLModel, card: Card) -> tuple[Base, ...]:
    """The bases that a card of ``mlmodel`` declares, without those that derive from it.

    Cycles are detected among the repositories that ``actor`` may read.
    """
    return bases_of(CardReader(card), mlmodel.full_name, partial(ancestors, actor=actor))


def children_count(mlmodel: MLModel) -> int:
    """The number of public models whose newest version declares ``mlmodel`` as a source.

    At most :data:`MAX_CHILDREN`, which bounds the rows that are read.
    """
    rows = Derivation.objects.filter(
        source_mlmodel=mlmodel, revision__mlmodel__in=readable_mlmodels(_ANYBODY)
    ).exclude(relation__in=HUB_RELATIONS)
    heads = _at_heads(rows).order_by("pk").values_list("revision__mlmodel", flat=True)
    return len(set(heads[:MAX_CHILDREN]))


def lineage(actor: Actor, mlmodel: MLModel, revision: Revision) -> Lineage:
    """The ancestors of ``revision``, one of ``mlmodel``, and the descendants of ``mlmodel``.

    Other repositories are represented by the newest version of their default branch, or by the
    version that the derivation names. Cycles are followed once.

    Args:
        mlmodel: The root, which the actor may read, with its namespace.
    """
    tracer = _Tracer(actor)
    tracer.put(_node(mlmodel, 0))
    tracer.go_up(mlmodel, revision)
    tracer.go_down(mlmodel)
    nodes = sorted(tracer.nodes.values(), key=lambda node: node.steps)
    return Lineage(tuple(nodes), tuple(tracer.edges), tracer.is_whole)


@dataclass(slots=True)
class _Tracer:
    """Breadth-first traversal with the graph so far."""

    actor: Actor
    nodes: dict[str, Node] = field(default_factory=dict)
    edges: dict[Edge, None] = field(default_factory=dict)
    is_whole: bool = True

    def put(self, node: Node) -> bool:
        """Add a node; returns whether it is new and is to be expanded."""
        if node.key in self.nodes:
            return False
        if len(self.nodes) >= MAX_NODES:
            self.is_whole = False
            return False
        self.nodes[node.key] = node
        return True

    def connect(self, derived: str, source: str, relation: str) -> None:
        if derived != source and {derived, source} <= self.nodes.keys():
            self.edges[Edge(derived, source, str(relation))] = None

    def go_up(self, mlmodel: MLModel, revision: Revision) -> None:
        level = {revision.pk: mlmodel.pk}
        for steps in range(-1, -_MAX_STEPS - 1, -1):
            sources: dict[int, str] = {}
            for row, source in self._sources(level, steps):
                if self.put(source) and source.mlmodel is not None:
                    sources[source.mlmodel.pk] = row.source_oid
                self.connect(_key(level[row.revision_id]), source.key, row.relation)
            level = _revisions(sources)
        self.is_whole = self.is_whole and not level

    def go_down(self, mlmodel: MLModel) -> None:
        level = [mlmodel.pk]
        for steps in range(1, _MAX_STEPS + 1):
            if len(self.nodes) >= MAX_NODES:
                # Further rows would only be read to be left out.
                break
            rows = _at_heads(
                Derivation.objects.filter(
                    source_mlmodel__in=level,
                    revision__mlmodel__in=readable_repositories(self.actor),
                )
            ).select_related("revision__mlmodel__namespace")
            level = []
            for row in self._few(rows):
                derived = _node(row.revision.mlmodel, steps)
                if self.put(derived):
                    level.append(row.revision.mlmodel_id)
                self.connect(derived.key, _key(row.source_mlmodel_id), row.relation)
        self.is_whole = self.is_whole and not level

    def _few(self, rows: QuerySet[Derivation]) -> list[Derivation]:
        """The first ``2 * MAX_NODES`` rows, which bounds the work per level."""
        first = list(rows.order_by("pk")[: 2 * MAX_NODES + 1])
        self.is_whole = self.is_whole and len(first) <= 2 * MAX_NODES
        return first[: 2 * MAX_NODES]

    def _sources(self, level: Iterable[int], steps: int) -> Iterable[tuple[Derivation, Node]]:
        rows = self._few(
            Derivation.objects.filter(revision__in=level).select_related(
                "source_mlmodel__namespace"
            )
        )
        pids = source_pids([row for row in rows if row.source_mlmodel_id is None])
        linked = {row.source_mlmodel_id for row in rows if row.source_mlmodel_id}
        readable = set(
            readable_repositories(self.actor).filter(pk__in=linked).values_list("pk", flat=True)
        )
        for row in rows:
            if row.source_mlmodel is not None and row.source_mlmodel_id in readable:
                yield row, _node(row.source_mlmodel, steps)
            elif row.source_mlmodel is None and row.pk in pids:
                yield row, _elsewhere(source_name(row.source), steps, pids[row.pk])
            elif row.relation not in HUB_RELATIONS:
                yield row, _elsewhere(row.source, steps, source_url(row.source))


def _revisions(oids: dict[int, str]) -> dict[int, int]:
    """Key of a revision to that of its MLModel: the commit in ``oids``, else the newest one."""
    heads = Ref.objects.filter(
        mlmodel__in=oids, kind=RefKind.BRANCH, name=F("mlmodel__default_branch")
    )
    chosen = dict(heads.values_list("mlmodel", "revision"))
    named = Q(pk__in=[])
    for mlmodel, oid in oids.items():
        named |= Q(mlmodel=mlmodel, oid=oid)
    chosen |= dict(Revision.objects.filter(named).values_list("mlmodel", "pk"))
    return {revision: mlmodel for mlmodel, revision in chosen.items()}


def _at_heads(rows: QuerySet[Derivation]) -> QuerySet[Derivation]:
    """Those of ``rows`` of the newest version of a default branch."""
    return rows.filter(
        revision__refs__kind=RefKind.BRANCH,
        revision__refs__name=F("revision__mlmodel__default_branch"),
    )


def _node(mlmodel: MLModel, steps: int) -> Node:
    return Node(key=_key(mlmodel.pk), name=mlmodel.full_name, steps=steps, mlmodel=mlmodel)


def _elsewhere(name: str, steps: int, url: str | None) -> Node:
    return Node(key=f"elsewhere {name.casefold()}", name=name, steps=steps, url=url)


def _key(mlmodel: int | None) -> str:
    return f"here {mlmodel}"
