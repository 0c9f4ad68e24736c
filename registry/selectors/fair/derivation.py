"""What was made from what, as a graph: up to the origins, down to all that was made of them.

Whoever asks learns only of what they may read. What cards name is resolved by
:mod:`registry.selectors.fair.source`.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial

from django.contrib.auth.models import AnonymousUser
from django.db.models import F, Q, QuerySet

from registry.errors import NotFound
from registry.fair.card.links import Base, bases_of
from registry.fair.card.values import CardReader
from registry.selectors.access import Actor, readable_repositories, readable_with
from registry.selectors.fair.source import HUB_RELATIONS, source_name, source_pids, source_url
from registry.selectors.repository.mlmodel import mlmodel_get
from registry.states import RefKind
from registry.tables import Derivation, MLModel, Ref, Revision
from registry.validation.card import Card

#: Nobody reads more.
MAX_NODES = 60
_MAX_STEPS = 12
_ANYBODY = AnonymousUser()


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A model or data set, or what was written in place of one.

    Attributes:
        key: Names it within the graph.
        name: ``namespace/name``, or what was written.
        steps: Below 0: it is so many steps above the one in question, which was made from it in
            the end; above 0: it was made from that one.
        mlmodel: With its namespace; ``None`` for what is not of this hub, is gone, or is not for
            the asker to read.
        url: Where such a one is, if that is known.
    """

    key: str
    name: str
    steps: int
    mlmodel: MLModel | None = None
    url: str | None = None


@dataclass(frozen=True, slots=True)
class Edge:
    """``derived`` was made from ``source``; both are keys of nodes."""

    derived: str
    source: str
    relation: str


@dataclass(frozen=True, slots=True)
class Lineage:
    """All that was found.

    Attributes:
        nodes: The farthest origin first; the one in question is among them, with ``steps`` 0.
        is_whole: Whether nothing was left out for there being too much.
    """

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    is_whole: bool


def ancestors(full_name: str, actor: Actor = _ANYBODY) -> tuple[str, ...]:
    """What the newest version of ``namespace/name`` says it was made from: one step up.

    Nothing for one that ``actor`` may not read. What the hub noted does not count: to be made
    from one's own fork is no circle.
    """
    try:
        mlmodel = mlmodel_get(actor, full_name)
    except NotFound:
        return ()
    rows = _at_heads(Derivation.objects.filter(revision__mlmodel=mlmodel))
    said = rows.exclude(relation__in=HUB_RELATIONS).select_related("source_mlmodel__namespace")
    return tuple(
        row.source_mlmodel.full_name
        if row.source_mlmodel and readable_with(row.source_mlmodel, mlmodel)
        else row.source
        for row in said.order_by("pk")
    )


def declared_bases(actor: Actor, mlmodel: MLModel, card: Card) -> tuple[Base, ...]:
    """The bases that a card of ``mlmodel`` declares, without those that derive from it.

    Args:
        actor: Cycles are detected among the repositories that they may read.
    """
    return bases_of(CardReader(card), mlmodel.full_name, partial(ancestors, actor=actor))


def lineage(actor: Actor, mlmodel: MLModel, revision: Revision) -> Lineage:
    """What ``revision`` was made from and what was made from ``mlmodel``, in all steps.

    Others stand there as their default branch's newest version says, or as the version says that
    was named. Circles end where they close.

    Args:
        mlmodel: One the actor may read, with its namespace.
        revision: One of its own.
    """
    tracer = _Tracer(actor)
    tracer.put(_node(mlmodel, 0))
    tracer.go_up(mlmodel, revision)
    tracer.go_down(mlmodel)
    nodes = sorted(tracer.nodes.values(), key=lambda node: node.steps)
    return Lineage(tuple(nodes), tuple(tracer.edges), tracer.is_whole)


@dataclass(slots=True)
class _Tracer:
    """The graph as far as it was walked."""

    actor: Actor
    nodes: dict[str, Node] = field(default_factory=dict)
    edges: dict[Edge, None] = field(default_factory=dict)
    is_whole: bool = True

    def put(self, node: Node) -> bool:
        """Add a node; whether it is a new one to go on from."""
        if node.key in self.nodes:
            return False
        if len(self.nodes) >= MAX_NODES:
            self.is_whole = False
            return False
        self.nodes[node.key] = node
        return True

    def connect(self, derived: str, source: str, relation: str) -> None:
        """Add an edge between two different nodes that are there."""
        if derived != source and {derived, source} <= self.nodes.keys():
            self.edges[Edge(derived, source, str(relation))] = None

    def go_up(self, mlmodel: MLModel, revision: Revision) -> None:
        level = {revision.pk: mlmodel.pk}
        for steps in range(-1, -_MAX_STEPS - 1, -1):
            found: dict[int, str] = {}
            for row, source in self._sources(level, steps):
                if self.put(source) and source.mlmodel is not None:
                    found[source.mlmodel.pk] = row.source_oid
                self.connect(_key(level[row.revision_id]), source.key, row.relation)
            level = _revisions(found)
        # More than so many steps in a row are a chain that nobody follows to its end.
        self.is_whole = self.is_whole and not level

    def go_down(self, mlmodel: MLModel) -> None:
        level = [mlmodel.pk]
        for steps in range(1, _MAX_STEPS + 1):
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
        """The first of ``rows``: more edges than these lead to no more nodes."""
        found = list(rows.order_by("pk")[: 2 * MAX_NODES + 1])
        self.is_whole = self.is_whole and len(found) <= 2 * MAX_NODES
        return found[: 2 * MAX_NODES]

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


def _revisions(found: dict[int, str]) -> dict[int, int]:
    """Key of a revision to that of its MLModel: the version that was named, else the newest.

    Args:
        found: Key of an MLModel to a commit id, or "".
    """
    heads = Ref.objects.filter(
        mlmodel__in=found, kind=RefKind.BRANCH, name=F("mlmodel__default_branch")
    )
    chosen = dict(heads.values_list("mlmodel", "revision"))
    named = Q(pk__in=[])
    for mlmodel, oid in found.items():
        named |= Q(mlmodel=mlmodel, oid=oid)
    chosen |= dict(Revision.objects.filter(named).values_list("mlmodel", "pk"))
    return {revision: mlmodel for mlmodel, revision in chosen.items()}


def _at_heads(rows: QuerySet[Derivation]) -> QuerySet[Derivation]:
    """Those of ``rows`` about the newest version of a default branch."""
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
