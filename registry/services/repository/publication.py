"""The transaction in which a drafted revision becomes the head of a branch."""

from django.db import transaction
from django.utils import timezone

from registry.selectors.access import Actor
from registry.selectors.fair.derivation import declared_bases
from registry.selectors.repository.contents import marking_paths
from registry.services.audit import audit
from registry.services.discussion.discussion import pull_request_committed
from registry.services.fair.assessment import assess_soon
from registry.services.fair.derivation import derivations_write
from registry.services.fair.identifier import identifiers_mint
from registry.services.repository.branch import require_head
from registry.services.repository.card import card_apply
from registry.services.repository.draft import RevisionDraft
from registry.services.repository.history import revision_write
from registry.services.repository.hold import hold_review
from registry.services.results.best import best_builds_update
from registry.services.storage.chunking import chunks_await
from registry.services.webhook.notice import notify_ref
from registry.services.work.plan import plan_inspection
from registry.states import RefKind
from registry.tables import OutboxEntry, Ref, Revision


def publish(actor: Actor, head: Ref, draft: RevisionDraft) -> Revision:
    """Write the revision, move the branch to it, and update everything that depends on its head.

    The caller has checked that ``actor`` may commit.

    Args:
        head: The branch with its MLModel, as it was read when the draft was made.
        draft: Grows from the branch's head, unless it replaces the branch's history.

    Raises:
        Conflict: ``stale_parent`` if the branch has moved on since ``head`` was read;
            ``nothing_to_commit`` or ``discussion_closed``.
        Forbidden: ``quota_exceeded``.
        Invalid: ``blob_missing`` if bytes were collected since the draft was made.
    """
    mlmodel, replaced = head.mlmodel, head.revision
    bases = declared_bases(actor, mlmodel, draft.snapshot.card)
    with transaction.atomic():
        require_head(head)
        revision = revision_write(actor, mlmodel, draft)
        Ref.objects.filter(pk=head.pk).update(revision=revision)
        if draft.parent != replaced:
            # Garbage collection looks whether anything else leads to it.
            Revision.objects.filter(pk=replaced.pk).update(is_stray=True)
        identifiers_mint(mlmodel, [revision])
        derivations_write(revision, bases, replaced, draft.origins)
        mlmodel.updated_at = timezone.now()
        mlmodel.save(update_fields=["updated_at"])
        paths = marking_paths(revision, mlmodel.kind)
        if head.kind == RefKind.BRANCH and head.name == mlmodel.default_branch:
            card_apply(mlmodel, draft.snapshot, paths)
            best_builds_update(mlmodel)
            hold_review(revision, paths)
        OutboxEntry.objects.create(mlmodel_uuid=mlmodel.uuid)
        audit(
            actor,
            "revision.commit" if draft.parent == replaced else "revision.squash",
            f"{mlmodel.full_name}@{revision.oid}",
            namespace=mlmodel.namespace.name,
            detail={"branch": head.name, "parent": replaced.oid},
        )
        if head.kind == RefKind.PULL:
            pull_request_committed(actor=actor, head=head, revision=revision)
        notify_ref(head, old=replaced.oid, new=revision.oid)
        if head.kind != RefKind.PULL:
            # A pull request is inspected after the merge, for which the role write is needed.
            plan_inspection(actor=actor, revision=revision, paths=paths)
        assess_soon(revision)
        large = {one.blob.sha256 for one in draft.snapshot.put.values() if one.is_lfs}
        if large:
            chunks_await(large)
    return revision
