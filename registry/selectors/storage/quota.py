"""Reads of how much of its storage a namespace uses."""

from collections.abc import Iterator
from dataclasses import dataclass

from django.conf import settings
from django.db.models import QuerySet, Sum
from django.db.models.functions import Coalesce

from registry.selectors.storage.blob import AT_ONCE
from registry.tables import Blob, File, MLModel, Namespace


@dataclass(frozen=True, slots=True)
class Usage:
    """What a namespace uses, and may use; ``quota_bytes`` is ``None`` where nothing limits it."""

    used_bytes: int
    quota_bytes: int | None

    @property
    def free_bytes(self) -> int | None:
        """What may still be added; never below 0."""
        return None if self.quota_bytes is None else max(0, self.quota_bytes - self.used_bytes)

    @property
    def share(self) -> float:
        """How much of the quota is used; 0 where nothing limits it."""
        return self.used_bytes / self.quota_bytes if self.quota_bytes else 0.0


def usage(namespace: Namespace) -> Usage:
    """What ``namespace`` uses: the sum over its MLModels and data sets, deleted ones not.

    Bytes that several of them share are counted for each, so that none depends on the others.
    """
    used = namespace.mlmodels.aggregate(bytes=Sum("used_bytes"))["bytes"] or 0
    return Usage(used, quota_of(namespace))


def usages() -> Iterator[tuple[Namespace, Usage]]:
    """What each namespace uses, the largest first."""
    used = Coalesce(Sum("mlmodels__used_bytes"), 0)
    for namespace in Namespace.objects.annotate(used=used).order_by("-used", "name"):
        yield namespace, Usage(namespace.used, quota_of(namespace))


def quota_of(namespace: Namespace) -> int | None:
    """What ``namespace`` may use, in bytes; ``None`` for as much as there is."""
    own = namespace.quota_bytes
    if own is None:
        default: int | None = settings.QUOTA_BYTES
        return default
    return own if own >= 0 else None


def bytes_of(mlmodel: MLModel) -> int:
    """Sum over the different blobs that any revision of ``mlmodel`` refers to, counted anew."""
    blobs = Blob.objects.filter(pk__in=_blob_keys(mlmodel))
    return blobs.aggregate(bytes=Sum("size_bytes"))["bytes"] or 0


def bytes_added(mlmodel: MLModel, blobs: dict[str, int]) -> int:
    """By how much ``mlmodel`` would grow with these blobs (digest to length in bytes)."""
    known: set[str] = set()
    wanted = list(blobs)
    for start in range(0, len(wanted), AT_ONCE):
        known |= set(_blob_keys(mlmodel).filter(blob__in=wanted[start : start + AT_ONCE]))
    return sum(size_bytes for sha256, size_bytes in blobs.items() if sha256 not in known)


def _blob_keys(mlmodel: MLModel) -> "QuerySet[File, str]":
    return File.objects.filter(revision__mlmodel=mlmodel).values_list("blob_id", flat=True)
