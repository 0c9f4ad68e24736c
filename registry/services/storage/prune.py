"""Deletion of unreachable revisions and of old entries of the search index's outbox."""

from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import QuerySet, RestrictedError
from django.db.models.expressions import RawSQL
from django.utils import timezone

from registry.services.audit import audit
from registry.services.fair.identifier import identifier_withdraw
from registry.services.repository.tree import trees_prune
from registry.services.storage.quota import usage_recount
from registry.states import JobState
from registry.tables import MLModel, OutboxEntry, Revision

#: Outbox entries are kept for this time, and at least this number of them. An index that is
#: further behind has to be rebuilt.
_NEWS_LIFETIME = timedelta(days=30)
_LEAST_NEWS = 10_000
#: Reason in the tombstone of a pruned revision.
_LOST = "No branch, tag or pull request led to it any more."


def revisions_lost(*, before: datetime) -> QuerySet[Revision]:
    """Revisions made before then that no branch, tag, pull request or merge reaches.

    Revisions with a benchmark record, a DOI or a pending job are excluded, and so are ancestors
    of these and of newer revisions.
    """
    reachable = RawSQL(
        """
        WITH RECURSIVE reachable (id) AS (
            SELECT revision_id FROM registry_ref
            UNION SELECT merged_as_id FROM registry_discussion WHERE merged_as_id IS NOT NULL
            UNION SELECT parted_at_id FROM registry_discussion WHERE parted_at_id IS NOT NULL
            UNION SELECT revision_id FROM registry_record
            UNION SELECT revision_id FROM registry_identifier
                  WHERE doi <> '' AND revision_id IS NOT NULL
            UNION SELECT revision_id FROM registry_job WHERE state IN (%s, %s)
            UNION SELECT id FROM registry_revision WHERE created_at >= %s
            UNION SELECT r.parent_id FROM registry_revision r JOIN reachable ON r.id = reachable.id
                  WHERE r.parent_id IS NOT NULL
        )
        SELECT id FROM reachable
        """,
        (JobState.QUEUED, JobState.LEASED, before),
    )
    return Revision.objects.filter(created_at__lt=before).exclude(pk__in=reachable)


def revisions_prune(*, before: datetime) -> int:
    """Delete :func:`revisions_lost`, with their graphs and jobs; their number."""
    changed: set[int] = set()
    count = 0
    # Newest first: descendants are deleted before their ancestors.
    for pk in list(revisions_lost(before=before).order_by("-pk").values_list("pk", flat=True)):
        mlmodel = _prune(pk, before)
        if mlmodel is not None:
            changed.add(mlmodel)
            count += 1
    for shrunk in MLModel.objects.filter(pk__in=changed):
        usage_recount(shrunk)
        trees_prune(shrunk)
    return count


def news_prune(*, dry_run: bool) -> int:
    """Delete old outbox entries, which every index has long read; their number."""
    newest = OutboxEntry.objects.order_by("-id").first()
    if newest is None:
        return 0
    old = OutboxEntry.objects.filter(
        id__lte=newest.pk - _LEAST_NEWS, at__lt=timezone.now() - _NEWS_LIFETIME
    )
    return old.count() if dry_run else old.delete()[0]


def _prune(pk: int, before: datetime) -> int | None:
    """Delete one lost revision, unless it is reachable again; the key of its MLModel."""
    with transaction.atomic():
        rows = Revision.objects.select_for_update(of=("self",)).select_related("mlmodel__namespace")
        revision = rows.filter(pk=pk).first()
        # Checked again with the row locked: a branch that would name it has to wait.
        if revision is None or not revisions_lost(before=before).filter(pk=pk).exists():
            return None
        try:
            with transaction.atomic():
                identifier_withdraw(revision, reason=_LOST)
                revision.delete()
        except RestrictedError:
            # Still referenced, by a file that was last changed in it.
            return None
        audit(
            None,
            "revision.prune",
            f"{revision.mlmodel.full_name}@{revision.oid}",
            namespace=revision.mlmodel.namespace.name,
        )
        return revision.mlmodel_id
