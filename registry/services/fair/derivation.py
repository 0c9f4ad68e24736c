"""Derivations of new versions: sources in their cards, and forks and copies seen by the hub."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from registry.fair.card.links import Base
from registry.selectors.fair.copies import digests_of, is_copy, version_at
from registry.selectors.fair.source import HUB_RELATIONS, deleted_source, resolve_source
from registry.states import Relation, RepositoryKind
from registry.tables import Derivation, Identifier, MLModel, Revision
from registry.validation.url import check_url

_BATCH = 500
_MAX_SOURCE = 500
#: Declared relations that the files disprove if all content is that of the source. A quantised or
#: exported network may well be a file of its source.
_NEW_WORKS = frozenset(
    {Relation.DERIVED, Relation.FINETUNE, Relation.ADAPTER, Relation.MERGE, Relation.DISTILLED}
)


@dataclass(frozen=True, slots=True)
class ModelOrigin:
    """A repository of another server that was imported: its address, and the commit id there."""

    url: str
    oid: str

    def __post_init__(self) -> None:
        """Raises ``Invalid`` ``invalid_url``. The hub only shows the address."""
        check_url(self.url, private=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Origins:
    """Sources of a revision besides its parent and its card.

    ``merged`` is the merged revision, ``copied`` the sources of copied files: an MLModel with its
    namespace, and a commit id; ``imported`` is the repository whose files the revision has.
    """

    merged: Revision | None = None
    copied: Sequence[tuple[MLModel, str]] = ()
    imported: ModelOrigin | None = None


ALONE = Origins()


def derivations_write(
    revision: Revision, bases: Iterable[Base], before: Revision, origins: Origins = ALONE
) -> None:
    """Store the derivations of a new revision, in the transaction that creates it.

    ``bases`` are those of :func:`registry.selectors.fair.derivation.declared_bases`; ``before`` is
    the parent, whose forks, copies and imports are inherited.
    """
    kind = RepositoryKind(revision.mlmodel.kind)
    rows = [_declared(revision, kind, base) for base in bases]
    rows += [_recorded(revision, Relation.COPY, source, oid) for source, oid in origins.copied]
    parents = [before, *([origins.merged] if origins.merged else [])]
    relations = {*HUB_RELATIONS, Relation.IMPORT}
    if origins.imported is not None:
        rows.append(_imported(revision, origins.imported))
        relations.remove(Relation.IMPORT)
    inherited = Derivation.objects.filter(revision__in=parents, relation__in=relations)
    rows += [_copy(row, revision) for row in inherited.order_by("pk")]
    _save(rows)


def derivations_fork(source: MLModel, twins: Mapping[int, Revision]) -> None:
    """Store the derivations of forked revisions: the fork, and those of their sources.

    ``twins`` maps the key of each revision of ``source`` to its copy.
    """
    of_source = Derivation.objects.filter(revision__mlmodel=source).exclude(relation=Relation.FORK)
    rows = [
        _copy(row, twins[row.revision_id])
        for row in of_source.order_by("pk")
        if row.revision_id in twins
    ]
    rows += [_recorded(twin, Relation.FORK, source, twin.oid) for twin in twins.values()]
    _save(rows)


def derivations_withdraw(mlmodel: MLModel) -> None:
    """Point derivations from ``mlmodel`` to its kept records, in the transaction that deletes it.

    Call it after its records are stored and before its rows are deleted.
    """
    records = Identifier.objects.filter(mlmodel=mlmodel, description__isnull=False)
    # The identifier of all versions together has no commit id.
    names = dict(records.values_list("oid", "name"))
    rows = Derivation.objects.filter(source_mlmodel=mlmodel).exclude(revision__mlmodel=mlmodel)
    unique: dict[tuple[int, str, str], Derivation] = {}
    duplicates = []
    for row in rows.order_by("pk"):
        name = names.get(row.source_oid) or names.get("")
        if name is None:
            continue
        row.source = deleted_source(mlmodel.full_name, name)
        if unique.setdefault((row.revision_id, row.relation, row.source), row) is not row:
            duplicates.append(row.pk)
    Derivation.objects.filter(pk__in=duplicates).delete()
    Derivation.objects.bulk_update(unique.values(), ["source"], batch_size=_BATCH)


def _declared(revision: Revision, kind: RepositoryKind, base: Base) -> Derivation:
    source, oid = resolve_source(kind, base.source, base.revision)
    # The text names the version if that is unknown here.
    text = base.source if oid or not base.revision else f"{base.source}@{base.revision}"
    relation = Relation(base.relation or Relation.DERIVED)
    if source is not None and relation in _NEW_WORKS:
        original = version_at(source, oid)
        if original and is_copy(digests_of(revision), digests_of(original).values()):
            relation, oid = Relation.COPY, original.oid
    return Derivation(
        revision=revision,
        relation=relation,
        source=text[:_MAX_SOURCE],
        source_mlmodel=source,
        source_oid=oid,
    )


def _recorded(revision: Revision, relation: Relation, source: MLModel, oid: str) -> Derivation:
    return Derivation(
        revision=revision,
        relation=relation,
        source=source.full_name,
        source_mlmodel=source,
        source_oid=oid,
    )


def _imported(revision: Revision, origin: ModelOrigin) -> Derivation:
    return Derivation(
        revision=revision, relation=Relation.IMPORT, source=origin.url, source_oid=origin.oid
    )


def _copy(row: Derivation, revision: Revision) -> Derivation:
    return Derivation(
        revision=revision,
        relation=row.relation,
        source=row.source,
        source_mlmodel_id=row.source_mlmodel_id,
        source_oid=row.source_oid,
    )


def _save(rows: Sequence[Derivation]) -> None:
    # Commits and sources may be repeated.
    Derivation.objects.bulk_create(rows, batch_size=_BATCH, ignore_conflicts=True)
