"""Garbage collection of unreferenced bytes and interrupted uploads.

A blob that is unreferenced and was unused for the grace period is first *condemned*: it counts as
absent, so a client that wants it uploads it again, which clears the condemnation. After another
grace period it is deleted: with its row locked it is checked again, then the bytes are deleted,
then the row. Every step is safe beside uploads, commits and other collections, and may be killed
at any point:

- an upload writes its bytes again once it holds the row
  (:mod:`registry.services.storage.blob`);
- a commit locks the rows it is about to reference
  (:func:`registry.services.storage.blob.blobs_hold`);
- a crash after the deletion of bytes leaves a condemned row, which counts as absent.

Bytes without a row are deleted under a temporary row, on which an upload of the same bytes waits.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import TypeVar

from django.db import IntegrityError, transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone

from registry.selectors.storage.blob import AT_ONCE, blobs_unreferenced
from registry.services.audit import audit
from registry.services.storage.prune import news_prune, revisions_lost, revisions_prune
from registry.services.storage.quota import usage_recount, usage_sum
from registry.services.storage.sweep import sweep
from registry.services.storage.xorb import xorb_sweep, xorbs_shrink
from registry.storage import BlobStore, StoredEntry, blob_store
from registry.tables import Blob, MLModel, Namespace, Upload, User, XorbRun

T = TypeVar("T")

#: Blobs deleted in one transaction: few, since it blocks all other writers on SQLite.
_DELETED_AT_ONCE = 20
#: An upload with progress more recent than this may still continue, whatever the grace period.
_LEAST_PATIENCE = timedelta(hours=1)


@dataclass(slots=True)
class Freed:
    """Numbers and total bytes of the objects that a collection deleted or would delete."""

    revisions: int = 0
    payloads: int = 0
    condemned: int = 0
    blobs: int = 0
    blob_bytes: int = 0
    strays: int = 0
    stray_bytes: int = 0
    leftovers: int = 0
    leftover_bytes: int = 0
    news: int = 0

    def as_dict(self) -> dict[str, int]:
        """For JSON."""
        return asdict(self)


def gc(
    *,
    grace: timedelta,
    dry_run: bool = False,
    most: int | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> Freed:
    """Collect garbage.

    Args:
        grace: Objects created or used within this period are kept.
        dry_run: Only count. Objects that become unreferenced by other deletions are not counted.
        most: Upper bound on the objects that each step looks at. The next call with a bound goes on
            behind them, so that several calls see everything. ``None``: everything.
        say: Called with the name of each step.

    Raises:
        Unavailable: ``storage_unavailable``; completed steps are not undone.
    """
    now, freed, store = timezone.now(), Freed(), blob_store()
    before = now - grace
    say("revisions")
    freed.revisions = (
        revisions_lost(before=before).count()
        if dry_run
        else revisions_prune(before=before, most=most)
    )
    if not dry_run:
        say("xorbs")
        freed.payloads = xorb_sweep(grace=grace)
    say("blobs")
    freed.condemned = _condemn(before, now, most, dry_run=dry_run)
    _delete_condemned(store, before, most, freed, dry_run=dry_run)
    say("stored bytes")
    _delete_strays(store, before, most, freed, dry_run=dry_run)
    say("uploads left behind")
    for leftover in store.leftovers():
        if leftover.modified < min(before, now - _LEAST_PATIENCE):
            freed.leftovers += 1
            freed.leftover_bytes += leftover.size_bytes
            if not dry_run:
                store.discard(leftover)
    freed.news = news_prune(dry_run=dry_run, most=most)
    if not dry_run:
        detail = {name: count for name, count in freed.as_dict().items() if count}
        audit(None, "gc.run", "storage", detail=detail)
    return freed


def erase(sha256s: Collection[str], *, owner: User) -> Freed:
    """Delete private bytes of a person at once, without the grace period.

    Blobs that something references, or that somebody else uploaded, are left to :func:`gc`.
    """
    others = Upload.objects.filter(blob=OuterRef("pk")).exclude(user=owner)
    rows = blobs_unreferenced().filter(~Exists(others), pk__in=sha256s)
    freed, now = Freed(), timezone.now()
    with transaction.atomic():
        # Locked before the check: a blob that a commit references meanwhile is kept.
        list(Blob.objects.select_for_update().filter(pk__in=sha256s).order_by("pk"))
        doomed = list(rows.values_list("pk", flat=True))
        Blob.objects.filter(pk__in=doomed).update(condemned_at=now)
    _delete_some(blob_store(), Blob.objects.filter(pk__in=doomed, condemned_at=now), freed)
    return freed


def recount(*, say: Callable[[str], None] = lambda _: None) -> int:
    """Recount the used bytes of all repositories and namespaces; the number of wrong counts."""
    say("used bytes")
    rows, namespaces = MLModel.objects.order_by("pk"), Namespace.objects.order_by("pk")
    wrong = sum(usage_recount(mlmodel) != 0 for mlmodel in rows.iterator())
    return wrong + sum(usage_sum(namespace) != 0 for namespace in namespaces.iterator())


def _condemn(before: datetime, now: datetime, most: int | None, *, dry_run: bool) -> int:
    rows = blobs_unreferenced().filter(condemned_at=None, used_at__lt=before)
    if dry_run:
        return rows.count()
    count = 0
    for some in sweep("blobs", _blob_keys, at_once=AT_ONCE, most=most):
        unused = list(rows.filter(pk__in=some).values_list("pk", flat=True))
        if not unused:
            continue
        with transaction.atomic():
            # Locked before the check: a blob that a commit references meanwhile is kept.
            list(Blob.objects.select_for_update().filter(pk__in=unused).order_by("pk"))
            condemned = list(rows.filter(pk__in=unused).values_list("pk", flat=True))
            count += Blob.objects.filter(pk__in=condemned).update(condemned_at=now)
            # Their chunks count as lost: clients must no longer rely on them.
            xorbs_shrink(_xorbs_in(condemned))
    return count


def _blob_keys(after: str, count: int) -> list[str]:
    rows = Blob.objects.filter(pk__gt=after).order_by("pk")
    return list(rows.values_list("pk", flat=True)[:count])


def _delete_condemned(
    store: BlobStore, before: datetime, most: int | None, freed: Freed, *, dry_run: bool
) -> None:
    condemned = Blob.objects.filter(condemned_at__lte=before).order_by("condemned_at", "pk")
    if dry_run:
        for blob in blobs_unreferenced().filter(pk__in=condemned.values("pk")).iterator():
            freed.blobs += 1
            freed.blob_bytes += blob.size_bytes
        return
    while most is None or freed.blobs < most:
        # Each is deleted or no longer condemned afterwards.
        some = list(condemned.values_list("pk", flat=True)[:_DELETED_AT_ONCE])
        if not some:
            break
        _delete_some(store, condemned.filter(pk__in=some), freed)


def _delete_some(store: BlobStore, condemned: QuerySet[Blob], freed: Freed) -> None:
    with transaction.atomic():
        held = condemned.select_for_update().order_by("pk")
        sizes = {blob.pk: blob.size_bytes for blob in held}
        doomed = set(blobs_unreferenced().filter(pk__in=sizes).values_list("pk", flat=True))
        for sha256 in doomed:
            store.delete(sha256)
        xorbs = _xorbs_in(doomed)
        Blob.objects.filter(pk__in=doomed).delete()
        xorbs_shrink(xorbs)
        # The others are referenced again.
        Blob.objects.filter(pk__in=set(sizes) - doomed).update(condemned_at=None)
    freed.blobs += len(doomed)
    freed.blob_bytes += sum(sizes[sha256] for sha256 in doomed)


def _xorbs_in(blobs: Collection[str]) -> set[str]:
    """Xorbs with chunks in ``blobs``."""
    return set(XorbRun.objects.filter(blob__in=blobs).values_list("xorb_id", flat=True))


def _delete_strays(
    store: BlobStore, before: datetime, most: int | None, freed: Freed, *, dry_run: bool
) -> None:
    left = most
    for (prefix,) in sweep(
        "stored bytes", _prefixes, at_once=1, most=None if most is None else 256
    ):
        for some in _batches(store.entries(prefix), AT_ONCE):
            old = [entry for entry in some if entry.modified < before]
            digests = [entry.sha256 for entry in old]
            rows = set(Blob.objects.filter(pk__in=digests).values_list("pk", flat=True))
            for entry in old:
                if entry.sha256 not in rows and (dry_run or _delete_stray(store, entry)):
                    freed.strays += 1
                    freed.stray_bytes += entry.size_bytes
            left = None if left is None else left - len(some)
        if left is not None and left <= 0:
            break


def _prefixes(after: str, count: int) -> list[str]:
    first = int(after, 16) + 1 if after else 0
    return [f"{number:02x}" for number in range(first, min(256, first + count))]


def _delete_stray(store: BlobStore, entry: StoredEntry) -> bool:
    try:
        with transaction.atomic():
            # This row is never visible; an upload of the same bytes waits on it.
            row = Blob.objects.create(
                sha256=entry.sha256, size_bytes=entry.size_bytes, git_oid="0" * 40
            )
            store.delete(entry.sha256)
            row.delete()
    except IntegrityError:
        # Uploaded since the check.
        return False
    return True


def _batches(rows: Iterable[T], length: int) -> Iterator[list[T]]:
    left = iter(rows)
    while some := list(islice(left, length)):
        yield some
