"""What tells whether a version may be described as before: what changes when anything does."""

from collections.abc import Sequence
from typing import Any

from django.db.models import Count, Max, OuterRef, QuerySet, Subquery

from registry.states import RefKind
from registry.tables import (
    Assessment,
    Build,
    Derivation,
    Graph,
    Identifier,
    Job,
    MLModel,
    Ref,
    Reproduction,
    Revision,
)

_NAMESPACE = ("name", "kind", "title", "ror")
_MLMODEL = ("uuid", "kind", "name", "visibility", "gate", "default_branch", "updated_at")


def stamps_of(revisions: Sequence[Revision]) -> dict[int, tuple[object, ...]]:
    """Key of a revision to values of which one differs once its description does; one query.

    Args:
        revisions: With their MLModels and namespaces, of which it is told as they were read.
    """
    rows = Revision.objects.filter(pk__in=[one.pk for one in revisions])
    columns = ("pk", "author__full_name", "author__orcid")
    found = {row[0]: row for row in rows.values_list(*columns, *_changes())}
    return {one.pk: (one.oid, *_values(one.mlmodel), *found.get(one.pk, ())) for one in revisions}


def _values(mlmodel: MLModel) -> list[Any]:
    namespace = mlmodel.namespace
    return [
        *(getattr(mlmodel, name) for name in _MLMODEL),
        *(getattr(namespace, name) for name in _NAMESPACE),
    ]


def _changes() -> list[Subquery]:
    this = OuterRef("pk")
    sources = Derivation.objects.filter(revision=this)
    builds = Build.objects.filter(graph__revision=this)
    tags = Ref.objects.filter(mlmodel=OuterRef("mlmodel"), kind=RefKind.TAG)
    return [
        _last(builds, "graph__revision", Max("pk")),
        _last(builds, "graph__revision", Max("withdrawn_at")),
        _last(Graph.objects.filter(revision=this), "revision", Max("pk")),
        # Inspections replace what is known of a network and store its tests.
        _last(Job.objects.filter(revision=this), "revision", Max("ended_at")),
        _last(
            Reproduction.objects.filter(build__graph__revision=this),
            "build__graph__revision",
            Max("pk"),
        ),
        _last(Assessment.objects.filter(revision=this), "revision", Max("pk")),
        _last(Identifier.objects.filter(revision=this), "revision", Max("doi")),
        _last(Identifier.objects.filter(revision=this), "revision", Max("name")),
        _last(sources, "revision", Max("pk")),
        # Sources that are hidden, moved or deleted.
        _last(sources, "revision", Max("source_mlmodel__updated_at")),
        _last(sources, "revision", Count("source_mlmodel")),
        _last(tags, "mlmodel", Max("pk")),
        _last(tags, "mlmodel", Count("pk")),
    ]


def _last(rows: QuerySet[Any], of: str, value: Max | Count) -> Subquery:
    """``value`` over ``rows``, which are all of one ``of``."""
    return Subquery(rows.order_by().values(of).annotate(stamp=value).values("stamp"))
