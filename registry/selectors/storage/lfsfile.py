"""Large files that the revisions of an MLModel hold, by their digests."""

from collections.abc import Sequence

from django.db.models import F, Min, OuterRef, QuerySet, Subquery

from registry.ids import SHA256_RE
from registry.selectors.access import Actor, require
from registry.selectors.storage.blob import AT_ONCE
from registry.states import RefKind, Role
from registry.tables import Blob, File, MLModel, Ref


def blobs_held(mlmodel: MLModel, sha256s: Sequence[str]) -> dict[str, Blob]:
    """Digest to blob for those of ``sha256s`` that some revision of ``mlmodel`` holds."""
    valid = [sha256 for sha256 in sha256s if SHA256_RE.fullmatch(sha256)]
    blobs: dict[str, Blob] = {}
    for start in range(0, len(valid), AT_ONCE):
        some = valid[start : start + AT_ONCE]
        held = File.objects.filter(revision__mlmodel=mlmodel, blob__in=some).values("blob")
        blobs |= Blob.objects.filter(pk__in=held).in_bulk()
    return blobs


def lfsfiles_of(actor: Actor, mlmodel: MLModel) -> QuerySet[File]:
    """One row for each large blob in any revision of ``mlmodel``: its first appearance.

    ``branch`` is a branch whose head still holds the blob, or ``None``. Raises the errors of
    :func:`registry.selectors.access.require`.
    """
    require(actor, role=Role.WRITE, namespace=mlmodel.namespace)
    put = File.objects.filter(
        revision__mlmodel=mlmodel, is_lfs=True, changed_in=F("revision")
    ).order_by()
    first = put.values("blob").annotate(first=Min("pk")).values("first")
    holding = Ref.objects.filter(
        mlmodel=mlmodel, kind=RefKind.BRANCH, revision__files__blob=OuterRef("blob")
    )
    return (
        File.objects.filter(pk__in=first)
        .annotate(branch=Subquery(holding.order_by("name").values("name")[:1]))
        .select_related("blob", "revision")
        .order_by("-pk")
    )
