"""Moving a line on: a branch, or a pull request's.

For the services that make revisions: who may, and the one transaction in which a revision becomes
the line's head.
"""

from types import EllipsisType

from django.db import transaction
from django.utils import timezone

from registry.errors import Conflict
from registry.selectors.access import Actor, require
from registry.selectors.repository.revision import branch_get
from registry.services.audit import audit
from registry.services.discussion.discussion import pull_request_committed
from registry.services.discussion.talk import require_voice
from registry.services.fair.assessment import assess_soon
from registry.services.fair.derivation import ALONE, Origins, bases_said, derivations_write
from registry.services.fair.identifier import identifiers_mint
from registry.services.repository.card import describe
from registry.services.repository.history import revision_write
from registry.services.repository.snapshot import Entry
from registry.services.storage.blob import blobs_hold
from registry.services.webhook.notice import notify_ref
from registry.services.work.job import job_submit
from registry.states import DiscussionState, JobKind, RefKind, RepositoryKind, Role
from registry.tables import MLModel, OutboxEntry, Ref, Revision
from registry.validation.card import Card
from registry.validation.networks import has_network


def require_line(actor: Actor, mlmodel: MLModel, branch: str) -> None:
    """Refuse unless ``actor`` may commit to ``branch``.

    To a branch may whoever may write; to an open pull request's line, its author too.

    Raises:
        Unauthenticated, Forbidden: see :func:`registry.selectors.access.require`.
        NotFound: ``revision_not_found`` for a pull request's line.
        Conflict: ``discussion_closed``.
    """
    if not branch.startswith("refs/pr/"):
        require(actor, role=Role.WRITE, namespace=mlmodel.namespace)
        return
    user = require_voice(actor, mlmodel)
    number = branch_get(mlmodel, branch).name
    pull = mlmodel.discussions.get(num=number)
    if user is not None and pull.author_id != user.pk:
        require(actor, role=Role.WRITE, namespace=mlmodel.namespace)
    if pull.state in {DiscussionState.MERGED, DiscussionState.CLOSED}:
        raise Conflict(
            "discussion_closed",
            f"Pull request {number} of {mlmodel.full_name} is {pull.state}.",
            "Open a new one.",
        )


def append(
    actor: Actor,
    mlmodel: MLModel,
    head: Ref,
    message: str,
    entries: dict[str, Entry],
    card: Card,
    *,
    squashed_onto: Revision | EllipsisType | None = ...,
    origins: Origins = ALONE,
) -> Revision:
    """Write the revision and move the branch, unless it has moved on since ``head`` was read.

    For services that have asked whether ``actor`` may.

    Args:
        squashed_onto: What the revision grows from instead of the branch's head; ``None``: from
            nothing.
        origins: What else it came from.

    Raises:
        Conflict: ``stale_parent``, ``nothing_to_commit`` or ``discussion_closed``.
        Invalid: ``blob_missing`` where bytes were collected since the entries were made.
    """
    bases = bases_said(actor, mlmodel, card)
    with transaction.atomic():
        if lock(head) != head.revision_id:
            raise stale(head.name)
        blobs_hold({entry.blob.pk for entry in entries.values() if entry.changed_in is None})
        parent = head.revision if squashed_onto is ... else squashed_onto
        revision = revision_write(actor, mlmodel, parent, message, entries, card)
        Ref.objects.filter(pk=head.pk).update(revision=revision)
        identifiers_mint(mlmodel, [revision])
        derivations_write(revision, bases, head.revision, origins)
        mlmodel.updated_at = timezone.now()
        mlmodel.save(update_fields=["updated_at"])
        if head.kind == RefKind.BRANCH and head.name == mlmodel.default_branch:
            describe(mlmodel, card, entries)
        OutboxEntry.objects.create(mlmodel_uuid=mlmodel.uuid)
        notify_ref(head, old=head.revision.oid, new=revision.oid)
        audit(
            actor=actor,
            action="revision.commit" if squashed_onto is ... else "revision.squash",
            subject=f"{mlmodel.full_name}@{revision.oid}",
            namespace=mlmodel.namespace.name,
            detail={"branch": head.name, "parent": head.revision.oid},
        )
        if head.kind == RefKind.PULL:
            # What anybody proposes is inspected once somebody who may write has merged it.
            pull_request_committed(actor=actor, head=head, revision=revision)
        elif mlmodel.kind == RepositoryKind.MODEL and has_network(entries):
            job_submit(actor=actor, kind=JobKind.INSPECT, revision=revision)
        assess_soon(revision)
    return revision


def lock(head: Ref) -> int:
    """Hold a branch until the transaction ends; the key of its newest revision.

    SQLite has no row locks and needs none: its transactions here begin as the only writer.
    """
    rows = Ref.objects.select_for_update().filter(pk=head.pk)
    revision = rows.values_list("revision_id", flat=True).first()
    if revision is None:
        raise stale(head.name)
    return revision


def stale(what: str) -> Conflict:
    """The error for somebody who built on what is no longer the newest."""
    return Conflict(
        "stale_parent",
        f"{what!r} has moved on since you looked.",
        "Fetch its newest revision, look at what changed, and commit on top of that.",
    )
