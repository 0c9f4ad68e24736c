"""What versions were made from, written down when they are made: as their card says, and as the
hub saw it itself (forks, and files copied from elsewhere)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from registry.fair.card.links import Base
from registry.selectors.fair.source import HUB_RELATIONS, deleted_source, resolve_source
from registry.states import Relation, RepositoryKind
from registry.tables import Derivation, Identifier, MLModel, Revision

_AT_ONCE = 500
_MAX_SOURCE = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Origins:
    """What a revision came from beside what it grew from.

    Attributes:
        merged: What was brought together with that.
        copied: What files were copied from: an MLModel with its namespace, and a commit id.
    """

    merged: Revision | None = None
    copied: Sequence[tuple[MLModel, str]] = ()


ALONE = Origins()


def derivations_write(
    revision: Revision, bases: Iterable[Base], before: Revision, origins: Origins = ALONE
) -> None:
    """Write down what ``revision`` was made from, in the transaction that makes it.

    Args:
        revision: With its MLModel.
        bases: See :func:`registry.selectors.fair.derivation.declared_bases`.
        before: What it grew from. What the hub noted of that is true of it, too.
    """
    kind = RepositoryKind(revision.mlmodel.kind)
    rows = [_said(revision, kind, base) for base in bases]
    rows += [_noted(revision, Relation.COPY, source, oid) for source, oid in origins.copied]
    grown_from = [before, *([origins.merged] if origins.merged else [])]
    noted = Derivation.objects.filter(revision__in=grown_from, relation__in=HUB_RELATIONS)
    rows += [_again(row, revision) for row in noted.order_by("pk")]
    _keep(rows)


def derivations_fork(source: MLModel, twins: Mapping[int, Revision]) -> None:
    """Write down that revisions were forked, and what their sources say they were made from.

    Args:
        source: With its namespace.
        twins: Key of each revision of ``source`` to its copy.
    """
    of_source = Derivation.objects.filter(revision__mlmodel=source).exclude(relation=Relation.FORK)
    rows = [
        _again(row, twins[row.revision_id])
        for row in of_source.order_by("pk")
        if row.revision_id in twins
    ]
    rows += [_noted(twin, Relation.FORK, source, twin.oid) for twin in twins.values()]
    _keep(rows)


def derivations_withdraw(mlmodel: MLModel) -> None:
    """Lead all that was made from ``mlmodel`` to the records that are left of it.

    Call it in the transaction that deletes it, when they are frozen and its rows are still there.
    """
    left = Identifier.objects.filter(mlmodel=mlmodel, description__isnull=False)
    # That of all versions together has no commit id.
    names = dict(left.values_list("oid", "name"))
    rows = Derivation.objects.filter(source_mlmodel=mlmodel).exclude(revision__mlmodel=mlmodel)
    kept: dict[tuple[int, str, str], Derivation] = {}
    twice = []
    for row in rows.order_by("pk"):
        name = names.get(row.source_oid) or names.get("")
        if name is None:
            continue
        row.source = deleted_source(mlmodel.full_name, name)
        if kept.setdefault((row.revision_id, row.relation, row.source), row) is not row:
            twice.append(row.pk)
    Derivation.objects.filter(pk__in=twice).delete()
    Derivation.objects.bulk_update(kept.values(), ["source"], batch_size=_AT_ONCE)


def _said(revision: Revision, kind: RepositoryKind, base: Base) -> Derivation:
    source, oid = resolve_source(kind, base.source, base.revision)
    # Where the version is not known here, what was written says which was meant.
    written = base.source if oid or not base.revision else f"{base.source}@{base.revision}"
    return Derivation(
        revision=revision,
        relation=base.relation or Relation.DERIVED,
        source=written[:_MAX_SOURCE],
        source_mlmodel=source,
        source_oid=oid,
    )


def _noted(revision: Revision, relation: Relation, source: MLModel, oid: str) -> Derivation:
    return Derivation(
        revision=revision,
        relation=relation,
        source=source.full_name,
        source_mlmodel=source,
        source_oid=oid,
    )


def _again(row: Derivation, revision: Revision) -> Derivation:
    return Derivation(
        revision=revision,
        relation=row.relation,
        source=row.source,
        source_mlmodel_id=row.source_mlmodel_id,
        source_oid=row.source_oid,
    )


def _keep(rows: Sequence[Derivation]) -> None:
    # The same commit may be made twice, and the same source be named twice.
    Derivation.objects.bulk_create(rows, batch_size=_AT_ONCE, ignore_conflicts=True)
