"""Letting go of rows that nothing leads to any more."""

from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import QuerySet, RestrictedError
from django.db.models.expressions import RawSQL
from django.utils import timezone

from registry.services.audit import audit
from registry.services.fair.identifier import identifier_withdraw
from registry.services.storage.quota import usage_recount
from registry.states import JobState
from registry.tables import MLModel, OutboxEntry, Revision

#: News for the search index is kept so long, and always so many: an index that looks for news
#: behind what is kept has to be built anew.
_NEWS_LIFETIME = timedelta(days=30)
_NEWS_KEPT = 10_000
#: What the record says that stays of a pruned revision.
_LOST = "No branch, tag or pull request led to it any more."


def revisions_lost(*, before: datetime) -> QuerySet[Revision]:
    """Revisions made before then that no branch, tag, pull request or merge leads to.

    Not among them: what a benchmark record is about, what has a DOI, what a job is still at work
    on, and what any of these, or a revision made since, grew from.
    """
    kept = RawSQL(
        """
        WITH RECURSIVE kept (id) AS (
            SELECT revision_id FROM registry_ref
            UNION SELECT merged_as_id FROM registry_discussion WHERE merged_as_id IS NOT NULL
            UNION SELECT revision_id FROM registry_record
            UNION SELECT revision_id FROM registry_identifier
                  WHERE doi <> '' AND revision_id IS NOT NULL
            UNION SELECT revision_id FROM registry_job WHERE state IN (%s, %s)
            UNION SELECT id FROM registry_revision WHERE created_at >= %s
            UNION SELECT r.parent_id FROM registry_revision r JOIN kept ON r.id = kept.id
                  WHERE r.parent_id IS NOT NULL
        )
        SELECT id FROM kept
        """,
        (JobState.QUEUED, JobState.LEASED, before),
    )
    return Revision.objects.filter(created_at__lt=before).exclude(pk__in=kept)


def revisions_prune(*, before: datetime) -> int:
    """Delete :func:`revisions_lost`, with their graphs and jobs; their number."""
    changed: set[int] = set()
    count = 0
    # Newest first: what grew from a revision goes before it.
    for pk in list(revisions_lost(before=before).order_by("-pk").values_list("pk", flat=True)):
        mlmodel = _prune(pk, before)
        if mlmodel is not None:
            changed.add(mlmodel)
            count += 1
    for shrunk in MLModel.objects.filter(pk__in=changed):
        usage_recount(shrunk)
    return count


def news_prune(*, dry_run: bool) -> int:
    """Forget what every index has long read; the number of entries."""
    newest = OutboxEntry.objects.order_by("-id").first()
    if newest is None:
        return 0
    old = OutboxEntry.objects.filter(
        id__lte=newest.pk - _NEWS_KEPT, at__lt=timezone.now() - _NEWS_LIFETIME
    )
    return old.count() if dry_run else old.delete()[0]


def _prune(pk: int, before: datetime) -> int | None:
    """Delete one lost revision, unless somebody found it meanwhile; the key of its MLModel."""
    with transaction.atomic():
        rows = Revision.objects.select_for_update(of=("self",)).select_related("mlmodel__namespace")
        revision = rows.filter(pk=pk).first()
        # Asked again now that it is held: naming it in a branch has to wait for us.
        if revision is None or not revisions_lost(before=before).filter(pk=pk).exists():
            return None
        try:
            with transaction.atomic():
                identifier_withdraw(revision, reason=_LOST)
                revision.delete()
        except RestrictedError:
            # Something still leads to it after all: a file that says it was changed there.
            return None
        audit(
            actor=None,
            action="revision.prune",
            subject=f"{revision.mlmodel.full_name}@{revision.oid}",
            namespace=revision.mlmodel.namespace.name,
        )
        return revision.mlmodel_id
