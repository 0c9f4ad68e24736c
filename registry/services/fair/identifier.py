"""Persistent identifiers: minted with their targets, kept after withdrawal.

A row is never deleted or reassigned. When its target is withdrawn, the last description is stored
in the row, and the identifier resolves to that record from then on.
"""

from collections.abc import Iterator, Sequence

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.utils import timezone

from registry.errors import Conflict
from registry.fair import ark
from registry.fair.activities import Withdrawal
from registry.fair.card.card import read
from registry.fair.description import Description
from registry.fair.freeze import dump
from registry.fair.withdrawal import withdrawn
from registry.selectors.fair.description import (
    CARD_FIELDS,
    describe,
    describe_revisions,
)
from registry.selectors.fair.identifier import pid_url, restore
from registry.selectors.repository.revision import is_empty_start, revision_get
from registry.services.fair.derivation import derivations_withdraw
from registry.states import IdentifierKind, RefKind, Visibility
from registry.tables import Identifier, MLModel, Revision
from registry.validation.card import Card

__all__ = [
    "identifier_withdraw",
    "identifiers_mint",
    "identifiers_retire",
    "identifiers_withdraw",
    "restore",
]

_BATCH = 500
_DESCRIPTIONS_BATCH = 50
_MINT_ATTEMPTS = 20


def identifiers_mint(mlmodel: MLModel, revisions: Sequence[Revision]) -> None:
    """Mint missing identifiers of ``mlmodel`` and ``revisions``, in the creating transaction.

    An empty first commit is no version to cite, so it gets none.
    """
    for start in range(0, len(revisions), _BATCH):
        _mint(mlmodel, revisions[start : start + _BATCH])


def identifiers_withdraw(mlmodel: MLModel, *, reason: str = "") -> None:
    """Store the records of ``mlmodel``, in the transaction that deletes it, before the deletion.

    Heads of branches, tagged versions and versions with a DOI keep their full record; others keep
    the values of their card and the addresses of the newest version. No records of private
    repositories are kept, and their identifiers no longer resolve.
    """
    now = timezone.now()
    rows = Identifier.objects.filter(mlmodel=mlmodel)
    active = rows.filter(withdrawn_at=None)
    # Queried again under the lock of its row: it may have become private since it was read.
    if MLModel.objects.filter(pk=mlmodel.pk, visibility=Visibility.PUBLIC).exists():
        _store(mlmodel, active, Withdrawal(at=now, reason=reason or None))
    else:
        # Also records of versions that were withdrawn while it was public, as its owner hid it.
        rows.update(description=None)
    active.update(withdrawn_at=now, reason=reason)
    # Also versions withdrawn earlier, whose records stay at the repository's last address.
    rows.update(full_name=mlmodel.full_name)
    rows.exclude(doi="").update(doi_due_at=now)
    derivations_withdraw(mlmodel)


def identifier_withdraw(revision: Revision, *, reason: str) -> None:
    """Store the record of a version, in the transaction that deletes it, before the deletion."""
    rows = Identifier.objects.filter(revision=revision, withdrawn_at=None)
    now = timezone.now()
    frozen = None
    if revision.mlmodel.visibility == Visibility.PUBLIC:
        frozen = dump(withdrawn(describe(revision), Withdrawal(at=now, reason=reason)))
    full_name = revision.mlmodel.full_name
    rows.update(withdrawn_at=now, reason=reason, description=frozen, full_name=full_name)


def identifiers_retire(mlmodel: MLModel, revisions: Sequence[Revision], *, reason: str) -> None:
    """Store the records of versions whose history is rewritten, and detach their identifiers.

    Call it in the transaction that rewrites them, before the rewriting, and
    :func:`identifiers_mint` after it. Raises ``Conflict`` ``doi_exists`` if one of them has a DOI,
    which must not change.
    """
    now = timezone.now()
    is_public = MLModel.objects.filter(pk=mlmodel.pk, visibility=Visibility.PUBLIC).exists()
    for start in range(0, len(revisions), _BATCH):
        rows = Identifier.objects.filter(revision__in=revisions[start : start + _BATCH])
        if (cited := rows.exclude(doi="").first()) is not None:
            raise Conflict(
                "doi_exists",
                f"Version {cited.oid[:10]} has the DOI {cited.doi}, and would change.",
                "Delete the files without rewriting history, or delete the whole repository.",
            )
        if is_public:
            _store(mlmodel, rows, Withdrawal(at=now, reason=reason))
        rows.update(withdrawn_at=now, reason=reason, full_name=mlmodel.full_name, revision=None)


def _mint(mlmodel: MLModel, revisions: Sequence[Revision]) -> None:
    for tries_left in reversed(range(_MINT_ATTEMPTS)):
        rows = list(_unnamed(mlmodel, revisions))
        try:
            with transaction.atomic():
                Identifier.objects.bulk_create(rows)
        except IntegrityError:
            # The random name exists, or another process minted for the same revision.
            if not tries_left:
                raise
        else:
            return


def _unnamed(mlmodel: MLModel, revisions: Sequence[Revision]) -> Iterator[Identifier]:
    """Unsaved rows for targets without an identifier."""
    same = {"mlmodel": mlmodel, "repository_kind": mlmodel.kind, "full_name": mlmodel.full_name}
    if not Identifier.objects.filter(mlmodel=mlmodel, kind=IdentifierKind.CONCEPT).exists():
        yield Identifier(name=ark.mint(settings.NAAN), kind=IdentifierKind.CONCEPT, **same)
    minted = set(
        Identifier.objects.filter(revision__in=revisions).values_list("revision_id", flat=True)
    )
    # Only those without a parent may be empty; of most commits, no files are read.
    first = [revision.pk for revision in revisions if revision.parent_id is None]
    empty: set[int] = set()
    if first:
        rows = Revision.objects.filter(is_empty_start(), pk__in=first)
        empty.update(rows.values_list("pk", flat=True))
    for revision in revisions:
        if revision.pk not in minted | empty:
            yield Identifier(
                name=ark.mint(settings.NAAN),
                kind=IdentifierKind.VERSION,
                revision=revision,
                oid=revision.oid,
                **same,
            )


def _store(mlmodel: MLModel, rows: QuerySet[Identifier], withdrawal: Withdrawal) -> None:
    identifiers = list(rows.defer("description").select_related("revision").order_by("pk"))
    if not identifiers:
        return
    newest = withdrawn(describe(_head(mlmodel)), withdrawal)
    lines = mlmodel.refs.exclude(kind=RefKind.PULL).values_list("revision_id", flat=True)
    whole = set(lines)
    for start in range(0, len(identifiers), _DESCRIPTIONS_BATCH):
        some = identifiers[start : start + _DESCRIPTIONS_BATCH]
        records = _records_of(mlmodel, some, whole, newest)
        for identifier, record in zip(some, records, strict=True):
            identifier.description = dump(record)
        Identifier.objects.bulk_update(some, ["description"])


def _records_of(
    mlmodel: MLModel, identifiers: Sequence[Identifier], whole: set[int], newest: Description
) -> Iterator[Description]:
    revisions = [row.revision for row in identifiers if row.revision is not None]
    for revision in revisions:
        revision.mlmodel = mlmodel
    full = {row.revision_id for row in identifiers if row.doi} | whole
    described_fully = [revision for revision in revisions if revision.pk in full]
    descriptions = describe_revisions(described_fully)
    described = dict(zip((one.pk for one in described_fully), descriptions, strict=True))
    for row in identifiers:
        if row.revision is None:
            yield newest
        elif (description := described.get(row.revision.pk)) is not None:
            yield withdrawn(description, newest.withdrawal)
        else:
            yield _reduced(newest, row.revision, pid_url(row.name))


def _head(mlmodel: MLModel) -> Revision:
    head = revision_get(mlmodel)
    head.mlmodel = mlmodel
    return head


def _reduced(newest: Description, revision: Revision, pid: str) -> Description:
    """A reduced record: the values of the version's card, and the addresses of the newest version.

    Facts from its files and the text of its card are absent.
    """
    facts = read(Card(values=revision.card), repository=newest.repository)
    return Description(
        hub=newest.hub,
        kind=newest.kind,
        repository=newest.repository,
        name=newest.name,
        owner=newest.owner,
        pid=pid,
        concept_pid=newest.concept_pid,
        # Addresses of a version contain its commit id.
        landing=newest.landing.replace(newest.oid, revision.oid),
        concept_landing=newest.concept_landing,
        linkset_url=newest.linkset_url.replace(newest.oid, revision.oid),
        crate_url=newest.crate_url.replace(newest.oid, revision.oid),
        title=facts.title or newest.name,
        version=facts.version or revision.oid[:10],
        oid=revision.oid,
        tree_oid=revision.directory_oid,
        created=revision.created_at,
        published=max(revision.created_at, revision.mlmodel.created_at),
        modified=newest.modified,
        access=newest.access,
        status=newest.status,
        withdrawal=newest.withdrawal,
        versions=tuple(dict.fromkeys((newest.pid, pid))),
        task=facts.task,
        library=facts.library,
        datasets=facts.datasets,
        evaluations=facts.evaluations,
        **{name: getattr(facts, name) for name in CARD_FIELDS},
    )
