"""Commits, branches and tags.

A commit is worked out beside the database, from the branch's head as it was read, and becomes
visible in one short transaction that first locks the branch: either the head is still the same,
or the commit is stale. Nothing of it can be seen before, and all of it after.
"""

from collections.abc import Sequence
from dataclasses import replace

from django.db import IntegrityError, transaction

from registry.errors import Conflict, Forbidden, NotFound, RegistryError
from registry.selectors.access import Actor, person, require
from registry.selectors.discussion.change import base_of
from registry.selectors.discussion.discussion import discussion_get
from registry.selectors.repository.revision import branch_get, revision_get
from registry.services.audit import audit
from registry.services.fair.derivation import Origins
from registry.services.fair.identifier import identifiers_mint
from registry.services.repository.card import card_of
from registry.services.repository.history import revision_write
from registry.services.repository.line import append, lock, require_line, stale
from registry.services.repository.snapshot import (
    Add,
    Copy,
    Delete,
    Operation,
    apply,
    check_operations,
    entries_of,
    entry_for,
)
from registry.services.webhook.notice import notify_ref
from registry.states import RefKind, Role
from registry.storage.git import tree_oid
from registry.tables import Blob, MLModel, Ref, Revision
from registry.validation.advice import license_in
from registry.validation.attributes import lfs_rule
from registry.validation.card import Card
from registry.validation.license import license_missing
from registry.validation.names import check_ref
from registry.validation.texts import check_lines

__all__ = [
    "Add",
    "Copy",
    "Delete",
    "Operation",
    "commit",
    "commit_first",
    "ref_create",
    "ref_delete",
    "squash",
]

_MAX_MESSAGE = 65_536


def commit(
    *,
    actor: Actor,
    mlmodel: MLModel,
    branch: str = "main",
    message: str,
    operations: Sequence[Operation],
    parent_oid: str | None = None,
    require_license: bool = True,
    again_ok: bool = False,
) -> Revision:
    """Make the next revision of a branch.

    Args:
        actor: Needs the role ``write``; the author of a pull request may add to it without.
        mlmodel: What is changed.
        branch: An existing branch, or ``refs/pr/<number>``.
        message: What was changed and why.
        operations: All of them, or none, take effect. Bytes must have been uploaded.
        parent_oid: The revision the actor built on (7 digits or more); if the branch has moved
            on, the commit is refused. ``None``: build on whatever the head is.
        require_license: Whether the resulting card must name a license.
        again_ok: A client may send a commit again whose answer it did not get: where nothing
            would change, or the head is this very commit, the head is the answer.

    Raises:
        Unauthenticated, Forbidden: see :func:`registry.selectors.access.require`.
        NotFound: ``revision_not_found`` for the branch, ``file_not_found``.
        Conflict: ``stale_parent``, ``nothing_to_commit`` or ``discussion_closed``.
        Invalid: ``invalid_request`` for the message; ``invalid_card``, ``license_missing``,
            ``license_unknown``; see also :func:`registry.services.repository.snapshot.apply`.
    """
    require_line(actor, mlmodel, branch)
    message = _check_message(message)
    check_operations(operations)

    def attempt() -> Revision:
        head = branch_get(mlmodel, branch)
        _check_parent(head.revision, parent_oid)
        before = entries_of(head.revision)
        after = apply(actor=actor, mlmodel=mlmodel, before=before, operations=operations)
        if license_in(card := card_of(after)) == "" and require_license:
            raise license_missing(card.values)
        origins = Origins(copied=_copied_from(mlmodel, operations))
        return append(actor, mlmodel, head, message, after, card, origins=origins)

    try:
        return attempt()
    except (Conflict, NotFound) as refusal:
        head = branch_get(mlmodel, branch).revision
        nothing = refusal.code == "nothing_to_commit"
        asked = message, operations, parent_oid
        if again_ok and (nothing or _made_before(actor, mlmodel, head, *asked)):
            return head
        if refusal.code != "stale_parent" or parent_oid is not None:
            raise
    # Somebody was faster and we named no parent: once more, now holding the branch.
    with transaction.atomic():
        lock(branch_get(mlmodel, branch))
        return attempt()


def squash(*, actor: Actor, mlmodel: MLModel, branch: str, message: str) -> Revision:
    """Make a branch's files a first revision, so that the branch has no history; those of a pull
    request's line one revision on top of where it parted from its branch.

    Earlier revisions stay, with their builds and records, for whoever knows their ids.

    Raises:
        Unauthenticated, Forbidden: see :func:`registry.selectors.access.require`.
        NotFound: ``revision_not_found``.
        Conflict: ``discussion_closed``.
        Invalid: ``invalid_request`` for the message.
    """
    require_line(actor, mlmodel, branch)
    message = _check_message(message)
    with transaction.atomic():
        lock(branch_get(mlmodel, branch))
        head = branch_get(mlmodel, branch)
        base = None
        if head.kind == RefKind.PULL:
            base, _ = base_of(discussion_get(mlmodel, int(head.name)))
        kept = entries_of(base) if base else {}
        entries = {
            path: kept[path]
            if path in kept and kept[path].oid == entry.oid
            else replace(entry, changed_in=None)
            for path, entry in entries_of(head.revision).items()
        }
        card = card_of(entries)
        return append(actor, mlmodel, head, message, entries, card, squashed_onto=base)


def commit_first(*, actor: Actor, mlmodel: MLModel, attributes: Blob) -> Revision:
    """Make the first revision and the default branch, inside the caller's transaction.

    Args:
        attributes: The content of ``.gitattributes``, the only file.
    """
    entries = {".gitattributes": entry_for(".gitattributes", attributes, lfs_rule(b""))}
    revision = revision_write(actor, mlmodel, None, "initial commit", entries, Card())
    Ref.objects.create(
        mlmodel=mlmodel, kind=RefKind.BRANCH, name=mlmodel.default_branch, revision=revision
    )
    identifiers_mint(mlmodel, [revision])
    return revision


def ref_create(
    *, actor: Actor, mlmodel: MLModel, kind: RefKind, name: str, revision: Revision
) -> Ref:
    """Give a revision a name.

    Raises:
        Unauthenticated, Forbidden: see :func:`registry.selectors.access.require`.
        Invalid: ``invalid_ref``.
        Conflict: ``ref_exists``, also where git could not keep both names.
    """
    require(actor, role=Role.WRITE, namespace=mlmodel.namespace)
    check_ref(name)
    if revision.mlmodel_id != mlmodel.pk:
        raise NotFound("revision_not_found", "That revision belongs to another model.")
    taken = Conflict(
        "ref_exists",
        f"{mlmodel.full_name} has a {kind.value} {name!r} already.",
        "Choose another name, or delete the old one first.",
    )
    parts = name.split("/")
    above = ["/".join(parts[:length]) for length in range(1, len(parts))]
    same_kind = mlmodel.refs.filter(kind=kind)
    if same_kind.filter(name__in=above) or same_kind.filter(name__startswith=f"{name}/"):
        raise taken
    try:
        with transaction.atomic():
            ref = Ref.objects.create(mlmodel=mlmodel, kind=kind, name=name, revision=revision)
            _audit_ref(actor, ref, "ref.create")
            notify_ref(ref, old=None, new=revision.oid)
    except IntegrityError:
        raise taken from None
    return ref


def ref_delete(*, actor: Actor, mlmodel: MLModel, kind: RefKind, name: str) -> None:
    """Take a name away; its revisions stay.

    Raises:
        Unauthenticated, Forbidden: see :func:`registry.selectors.access.require`;
            ``permission_denied`` also for the default branch.
        NotFound: ``revision_not_found``.
    """
    require(actor, role=Role.WRITE, namespace=mlmodel.namespace)
    if kind == RefKind.BRANCH and name == mlmodel.default_branch:
        raise Forbidden(
            "permission_denied",
            f"{name!r} is the default branch of {mlmodel.full_name}.",
            "Make another branch the default first.",
        )
    with transaction.atomic():
        rows = (
            mlmodel.refs.filter(kind=kind, name=name) if name.isprintable() else Ref.objects.none()
        )
        ref = rows.select_related("revision").first()
        if ref is None:
            raise NotFound(
                "revision_not_found", f"{mlmodel.full_name} has no {kind.value} {name[:100]!r}."
            )
        _audit_ref(actor, ref, "ref.delete")
        notify_ref(ref, old=ref.revision.oid, new=None)
        ref.delete()


def _made_before(
    actor: Actor,
    mlmodel: MLModel,
    head: Revision,
    message: str,
    operations: Sequence[Operation],
    parent_oid: str | None,
) -> bool:
    """Whether ``head`` is the commit that is asked for once more."""
    if head.parent is None or (head.author, head.message) != (person(actor), message):
        return False
    try:
        _check_parent(head.parent, parent_oid)
        before = entries_of(head.parent)
        after = apply(actor=actor, mlmodel=mlmodel, before=before, operations=operations)
    except RegistryError:
        return False
    return tree_oid({path: entry.oid for path, entry in after.items()}) == head.tree_oid


def _copied_from(mlmodel: MLModel, operations: Sequence[Operation]) -> list[tuple[MLModel, str]]:
    """What files of others come from, and its commit id."""
    found = {}
    for one in operations:
        if isinstance(one, Copy) and one.source is not None and one.source.pk != mlmodel.pk:
            oid = revision_get(one.source, one.source_revision).oid
            found[one.source.pk, oid] = (one.source, oid)
    return list(found.values())


def _check_parent(head: Revision, parent_oid: str | None) -> None:
    if parent_oid is not None and not (
        len(parent_oid) >= 7 and head.oid.startswith(parent_oid.lower())
    ):
        raise stale(head.oid[:10])


def _check_message(message: str) -> str:
    return check_lines(message, what="commit message", field="message", most=_MAX_MESSAGE)


def _audit_ref(actor: Actor, ref: Ref, action: str) -> None:
    audit(
        actor=actor,
        action=action,
        subject=f"{ref.mlmodel.full_name}#{ref.kind}/{ref.name}",
        namespace=ref.mlmodel.namespace.name,
        detail={"revision": ref.revision.oid},
    )
