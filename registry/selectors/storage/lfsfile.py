"""Large files that the revisions of an MLModel hold, by their digests."""

from collections.abc import Sequence

from django.db.models import Exists, F, Min, OuterRef, QuerySet, Subquery

from registry.ids import SHA256_RE
from registry.selectors.access import Actor, require
from registry.selectors.storage.blob import AT_ONCE
from registry.states import RefKind, Role
from registry.tables import Blob, File, FileSeries, MLModel, Ref


def blobs_held(mlmodel: MLModel, sha256s: Sequence[str]) -> dict[str, Blob]:
    """Digest to blob for those of ``sha256s`` that some revision of ``mlmodel`` holds."""
    valid = [sha256 for sha256 in sha256s if SHA256_RE.fullmatch(sha256)]
    # Read first, so that the planner looks up the index: it would rather join all files of a blob.
    series = list(FileSeries.objects.filter(mlmodel=mlmodel).values_list("pk", flat=True))
    blobs: dict[str, Blob] = {}
    for start in range(0, len(valid), AT_ONCE):
        some = valid[start : start + AT_ONCE]
        # The first of the files suffices: thousands of paths may have the blob.
        held = File.objects.filter(blob=OuterRef("pk"), series__in=series)
        blobs |= Blob.objects.filter(Exists(held), pk__in=some).in_bulk()
    return blobs


def lfsfiles_of(actor: Actor, mlmodel: MLModel) -> QuerySet[File]:
    """One row for each large blob in any revision of ``mlmodel``: its first appearance, which
    ``changed_in`` made.

    ``branch`` is a branch whose head still holds the blob, or ``None``. Raises the errors of
    :func:`registry.selectors.access.require`.
    """
    require(actor, role=Role.WRITE, namespace=mlmodel.namespace)
    # Rows of other series may be copies.
    put = File.objects.filter(
        series__mlmodel=mlmodel,
        is_lfs=True,
        series=F("changed_in__series"),
        first=F("changed_in__position"),
    ).order_by()
    earliest = put.values("blob").annotate(earliest=Min("pk")).values("earliest")
    held = File.objects.at_outer("revision").filter(blob=OuterRef(OuterRef("blob")))
    holding = Ref.objects.filter(Exists(held), mlmodel=mlmodel, kind=RefKind.BRANCH)
    return (
        File.objects.filter(pk__in=earliest)
        .annotate(branch=Subquery(holding.order_by("name").values("name")[:1]))
        .select_related("blob", "changed_in")
        .order_by("-pk")
    )
