"""Persistent identifiers: minted along with what they name, kept when it goes.

A row is never deleted and never names anything else. When what it names is withdrawn, the record
as it was last described is frozen in the row, and the identifier leads to that from then on.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

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
from registry.selectors.fair.description import (
    CARD_FIELDS,
    describe,
    describe_revisions,
    directory_oids,
)
from registry.selectors.fair.identifier import pid_url, restore
from registry.selectors.repository.revision import revision_get
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

_AT_ONCE = 500
_FROZEN_AT_ONCE = 50
_TRIES = 20


def identifiers_mint(mlmodel: MLModel, revisions: Sequence[Revision]) -> None:
    """Name ``mlmodel`` and each of its ``revisions`` that have no name yet.

    Call it in the transaction that makes them.
    """
    for start in range(0, len(revisions), _AT_ONCE):
        _mint(mlmodel, revisions[start : start + _AT_ONCE])


def identifiers_withdraw(mlmodel: MLModel, *, reason: str = "") -> None:
    """Freeze what is left of ``mlmodel``, in the transaction that deletes it, before its rows go.

    The default branch's head, all that a branch or a tag leads to and all that has a DOI keep
    their whole record; other versions what their card said and where the newest one was. Of what
    is private nothing is kept, and its identifiers lead nowhere.
    """
    now = timezone.now()
    rows = Identifier.objects.filter(mlmodel=mlmodel)
    left = rows.filter(withdrawn_at=None)
    # Asked anew, now that its row is held: it may have been hidden since it was read.
    if MLModel.objects.filter(pk=mlmodel.pk, visibility=Visibility.PUBLIC).exists():
        _freeze(mlmodel, left, Withdrawal(at=now, reason=reason or None))
    else:
        # Also of versions that went while it was public: it is its owner's wish.
        rows.update(description=None)
    left.update(withdrawn_at=now, reason=reason)
    # Of versions that went before it, too: what is left of them is found where it was found last.
    rows.update(full_name=mlmodel.full_name)
    rows.exclude(doi="").update(doi_due_at=now)
    derivations_withdraw(mlmodel)


def identifier_withdraw(revision: Revision, *, reason: str) -> None:
    """Freeze what is left of one version, in the transaction that deletes it, before its row goes.

    Args:
        revision: With its MLModel and namespace.
    """
    rows = Identifier.objects.filter(revision=revision, withdrawn_at=None)
    now = timezone.now()
    frozen = None
    if revision.mlmodel.visibility == Visibility.PUBLIC:
        frozen = dump(_withdrawn(describe(revision), Withdrawal(at=now, reason=reason)))
    full_name = revision.mlmodel.full_name
    rows.update(withdrawn_at=now, reason=reason, description=frozen, full_name=full_name)


def identifiers_retire(mlmodel: MLModel, revisions: Sequence[Revision], *, reason: str) -> None:
    """Freeze what is left of versions whose rows will be other versions, and let go of the rows.

    Call it in the transaction that rewrites them, before it does; and then
    :func:`identifiers_mint`.

    Raises:
        Conflict: ``doi_exists`` where one of them has a DOI, which promises that it stays.
    """
    now = timezone.now()
    is_public = MLModel.objects.filter(pk=mlmodel.pk, visibility=Visibility.PUBLIC).exists()
    for start in range(0, len(revisions), _AT_ONCE):
        rows = Identifier.objects.filter(revision__in=revisions[start : start + _AT_ONCE])
        if (cited := rows.exclude(doi="").first()) is not None:
            raise Conflict(
                "doi_exists",
                f"Version {cited.oid[:10]} has the DOI {cited.doi}, and would change.",
                "Delete the files without rewriting history, or delete the whole repository.",
            )
        if is_public:
            _freeze(mlmodel, rows, Withdrawal(at=now, reason=reason))
        rows.update(withdrawn_at=now, reason=reason, full_name=mlmodel.full_name, revision=None)


def _mint(mlmodel: MLModel, revisions: Sequence[Revision]) -> None:
    for tries_left in reversed(range(_TRIES)):
        rows = list(_unnamed(mlmodel, revisions))
        try:
            with transaction.atomic():
                Identifier.objects.bulk_create(rows)
        except IntegrityError:
            # A name was drawn that is taken, or somebody named the same in this moment.
            if not tries_left:
                raise
        else:
            return


def _unnamed(mlmodel: MLModel, revisions: Sequence[Revision]) -> Iterator[Identifier]:
    """Unsaved rows for what has none."""
    same = {
        "mlmodel": mlmodel,
        "repository_kind": mlmodel.kind,
        "full_name": mlmodel.full_name,
    }
    if not Identifier.objects.filter(mlmodel=mlmodel, kind=IdentifierKind.CONCEPT).exists():
        yield Identifier(name=ark.mint(settings.NAAN), kind=IdentifierKind.CONCEPT, **same)
    named = set(
        Identifier.objects.filter(revision__in=revisions).values_list("revision_id", flat=True)
    )
    for revision in revisions:
        if revision.pk not in named:
            yield Identifier(
                name=ark.mint(settings.NAAN),
                kind=IdentifierKind.VERSION,
                revision=revision,
                oid=revision.oid,
                **same,
            )


def _freeze(mlmodel: MLModel, rows: QuerySet[Identifier], withdrawal: Withdrawal) -> None:
    identifiers = list(rows.defer("description").select_related("revision").order_by("pk"))
    if not identifiers:
        return
    newest = _withdrawn(describe(_head(mlmodel)), withdrawal)
    lines = mlmodel.refs.exclude(kind=RefKind.PULL).values_list("revision_id", flat=True)
    whole = set(lines)
    for start in range(0, len(identifiers), _FROZEN_AT_ONCE):
        some = identifiers[start : start + _FROZEN_AT_ONCE]
        for identifier, left in zip(some, _left_of(mlmodel, some, whole, newest), strict=True):
            identifier.description = dump(left)
        Identifier.objects.bulk_update(some, ["description"])


def _left_of(
    mlmodel: MLModel, identifiers: Sequence[Identifier], whole: set[int], newest: Description
) -> Iterator[Description]:
    """What is left of what each identifier names."""
    revisions = [row.revision for row in identifiers if row.revision is not None]
    for revision in revisions:
        revision.mlmodel = mlmodel
    dear = {row.revision_id for row in identifiers if row.doi} | whole
    kept = [revision for revision in revisions if revision.pk in dear]
    lesser = [revision for revision in revisions if revision.pk not in dear]
    directories = directory_oids(lesser)
    described = dict(zip((one.pk for one in kept), describe_revisions(kept), strict=True))
    for row in identifiers:
        if row.revision is None:
            yield newest
        elif (description := described.get(row.revision.pk)) is not None:
            yield _withdrawn(description, newest.withdrawal)
        else:
            directory = directories[row.revision.pk]
            yield _lesser(newest, row.revision, pid_url(row.name), directory)


def _head(mlmodel: MLModel) -> Revision:
    head = revision_get(mlmodel)
    head.mlmodel = mlmodel
    return head


def _withdrawn(description: Description, withdrawal: Withdrawal | None) -> Description:
    return replace(
        description, status="withdrawn", access="metadata only access", withdrawal=withdrawal
    )


def _lesser(newest: Description, revision: Revision, pid: str, directory: str) -> Description:
    """What is left of a version that nobody named: its own card's values, and the newest's address.

    What only its files could tell is absent, and so is the card's text behind its values.
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
        # Addresses of a version hold its id.
        landing=newest.landing.replace(newest.oid, revision.oid),
        concept_landing=newest.concept_landing,
        linkset_url=newest.linkset_url.replace(newest.oid, revision.oid),
        crate_url=newest.crate_url.replace(newest.oid, revision.oid),
        title=facts.title or newest.name,
        version=facts.version or revision.oid[:10],
        oid=revision.oid,
        tree_oid=directory,
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
