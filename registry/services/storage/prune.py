"""Deletion of unreachable revisions and of old entries of the search index's outbox."""

from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet, RestrictedError
from django.db.models.expressions import RawSQL
from django.utils import timezone

from registry.services.audit import audit
from registry.services.fair.identifier import identifier_withdraw
from registry.services.repository.file import files_delete, series_delete
from registry.services.repository.tree import trees_prune
from registry.services.storage.quota import usage_recount
from registry.states import JobState
from registry.tables import Discussion, MLModel, OutboxEntry, Record, Ref, Revision

#: Outbox entries are kept for this time, and at least this number of them. An index that is
#: further behind has to be rebuilt.
_NEWS_LIFETIME = timedelta(days=30)
_LEAST_NEWS = 10_000
_AT_ONCE = 500
#: Condition of a revision ``r`` that something else than a child leads to.
_HELD = """
    EXISTS (SELECT 1 FROM registry_ref WHERE revision_id = r.id)
    OR EXISTS (SELECT 1 FROM registry_discussion WHERE merged_as_id = r.id)
    OR EXISTS (SELECT 1 FROM registry_discussion WHERE parted_at_id = r.id)
    OR EXISTS (SELECT 1 FROM registry_record WHERE revision_id = r.id)
    OR EXISTS (SELECT 1 FROM registry_identifier WHERE revision_id = r.id AND doi <> '')
    OR EXISTS (SELECT 1 FROM registry_job WHERE revision_id = r.id AND state IN (%s, %s))
"""
#: Reason in the tombstone of a pruned revision.
_LOST = "No branch, tag or pull request led to it any more."


def revisions_lost(*, before: datetime) -> QuerySet[Revision]:
    """Revisions made before then that no branch, tag, pull request or merge reaches.

    Revisions with a benchmark record, a DOI or a pending job are excluded, and so are ancestors
    of these and of newer revisions. Only revisions that something ceased to lead to are read, and
    their ancestors; of several lost lines the common part is found when they are deleted.
    """
    states = (JobState.QUEUED, JobState.LEASED)
    lost = RawSQL(  # noqa: S611 - only our own text is interpolated
        f"""
        WITH RECURSIVE lost (id, parent_id) AS (
            SELECT r.id, r.parent_id FROM registry_revision r
            WHERE r.is_stray AND r.created_at < %s AND NOT ({_HELD})
                AND NOT EXISTS (SELECT 1 FROM registry_revision c WHERE c.parent_id = r.id)
            UNION
            SELECT r.id, r.parent_id FROM registry_revision r JOIN lost ON r.id = lost.parent_id
            WHERE r.created_at < %s AND NOT ({_HELD})
                AND (SELECT COUNT(*) FROM registry_revision c WHERE c.parent_id = r.id) = 1
        )
        SELECT id FROM lost
        """,  # noqa: S608
        (before, *states, before, *states),
    )
    return Revision.objects.filter(pk__in=lost)


def revisions_prune(*, before: datetime, most: int | None = None) -> int:
    """Delete :func:`revisions_lost`, with their graphs and jobs; their number.

    ``most`` bounds it; the rest is left to the next call.
    """
    changed: set[int] = set()
    count, is_progress = 0, True
    while is_progress and (most is None or count < most):
        # Newest first: descendants are deleted before their ancestors.
        rows = revisions_lost(before=before).order_by("-pk").values_list("pk", "mlmodel")
        deleted = [mlmodel for pk, mlmodel in rows[:_AT_ONCE] if _prune(pk, before)]
        count, is_progress = count + len(deleted), bool(deleted)
        changed.update(deleted)
    _forget_strays()
    for shrunk in MLModel.objects.filter(pk__in=changed):
        usage_recount(shrunk)
        trees_prune(shrunk)
    return count


def news_prune(*, dry_run: bool, most: int | None = None) -> int:
    """Delete old outbox entries, which every index has read; about ``most``. Their number."""
    newest = OutboxEntry.objects.order_by("-id").values_list("pk", flat=True).first()
    if newest is None:
        return 0
    rows = OutboxEntry.objects.filter(id__lte=newest - _LEAST_NEWS)
    old = rows.filter(at__lt=timezone.now() - _NEWS_LIFETIME).order_by("id")
    if dry_run:
        return old.count()
    count = 0
    while most is None or count < most:
        # Entries are in the order of their times: the first one decides whether any is old.
        first = rows.order_by("id").values_list("pk", "at")[:_AT_ONCE]
        keys = [pk for pk, at in first if at < timezone.now() - _NEWS_LIFETIME]
        if not keys:
            break
        count += OutboxEntry.objects.filter(pk__in=keys).delete()[0]
    return count


def _forget_strays() -> None:
    """Unmark revisions that something permanent leads to, or a child: its deletion marks them."""
    this = OuterRef("pk")
    held = (
        Exists(Ref.objects.filter(revision=this))
        | Exists(Revision.objects.filter(parent=this))
        | Exists(Discussion.objects.filter(merged_as=this))
        | Exists(Discussion.objects.filter(parted_at=this))
        | Exists(Record.objects.filter(revision=this))
    )
    Revision.objects.filter(held, is_stray=True).update(is_stray=False)


def _prune(pk: int, before: datetime) -> bool:
    """Delete one lost revision, unless it is reachable again; whether it was deleted."""
    with transaction.atomic():
        rows = Revision.objects.select_for_update(of=("self",)).select_related("mlmodel__namespace")
        revision = rows.filter(pk=pk).first()
        # Checked again with the row locked: a branch that would name it has to wait.
        if revision is None or not _is_lost(pk, before):
            return False
        try:
            with transaction.atomic():
                identifier_withdraw(revision, reason=_LOST)
                files_delete(revision)
                revision.delete()
                series_delete(revision)
        except RestrictedError:
            # Still referenced, by a file that was last changed in it.
            return False
        if revision.parent_id is not None:
            Revision.objects.filter(pk=revision.parent_id).update(is_stray=True)
        audit(
            None,
            "revision.prune",
            f"{revision.mlmodel.full_name}@{revision.oid}",
            namespace=revision.mlmodel.namespace.name,
        )
    return True


def _is_lost(pk: int, before: datetime) -> bool:
    lost = RawSQL(  # noqa: S611 - only our own text is interpolated
        f"""
        SELECT r.id FROM registry_revision r
        WHERE r.id = %s AND r.created_at < %s AND NOT ({_HELD})
            AND NOT EXISTS (SELECT 1 FROM registry_revision c WHERE c.parent_id = r.id)
        """,  # noqa: S608
        (pk, before, JobState.QUEUED, JobState.LEASED),
    )
    return Revision.objects.filter(pk__in=lost).exists()
