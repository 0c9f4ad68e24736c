"""Reads of large files by their digests."""

from collections.abc import Sequence

from registry.ids import SHA256_RE
from registry.selectors.storage.blob import AT_ONCE
from registry.tables import Blob, File, MLModel


def blobs_held(mlmodel: MLModel, sha256s: Sequence[str]) -> dict[str, Blob]:
    """Digest to blob for those of ``sha256s`` that some revision of ``mlmodel`` holds."""
    wanted = [sha256 for sha256 in sha256s if SHA256_RE.fullmatch(sha256)]
    found: dict[str, Blob] = {}
    for start in range(0, len(wanted), AT_ONCE):
        some = wanted[start : start + AT_ONCE]
        held = File.objects.filter(revision__mlmodel=mlmodel, blob__in=some).values("blob")
        found |= Blob.objects.filter(pk__in=held).in_bulk()
    return found
