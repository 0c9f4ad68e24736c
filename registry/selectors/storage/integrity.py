"""Rows of files and revisions that contradict the rows they belong to."""

from collections.abc import Iterator
from collections.abc import Set as AbstractSet

from django.db.models import Exists, F, OuterRef, Q, QuerySet, Subquery, Window
from django.db.models.functions import Coalesce, Lag

from registry.storage.git import blob_oid, commit_oid, lfs_pointer, tree_oid
from registry.tables import Blob, File, Revision
from registry.tables.repository.file import OPEN


def files_lost() -> QuerySet[File]:
    """Files without a blob, or of no revision."""
    # Foreign keys forbid the first, but a partly or manually restored database may contain it.
    blob = Blob.objects.filter(pk=OuterRef("blob_id"))
    following = Revision.objects.filter(
        series=OuterRef("series_id"), position__gte=OuterRef("first")
    ).order_by("position")
    # An index lookup for each row; a join on a range could be of all rows with all revisions.
    position = Coalesce(Subquery(following.values("position")[:1]), OPEN)
    files = File.objects.alias(next_position=position)
    return files.filter(~Exists(blob) | Q(next_position__gte=F("end")))


def files_repeated() -> QuerySet[File]:
    """Files at whose path, in some position of their series, is another one that ends earlier."""
    # In the order of an index. If any two rows of a path overlap, two that follow each other do.
    before = Window(Lag("end"), partition_by=["series", "path"], order_by="end")
    return File.objects.annotate(end_before=before).filter(end_before__gt=F("first"))


def files_misnamed() -> Iterator[File]:
    """Files whose git id is not that of their blob, or of its pointer for large files."""
    yield from File.objects.filter(is_lfs=False).exclude(oid=F("blob__git_oid")).iterator()
    large = File.objects.filter(is_lfs=True).order_by("blob")
    for sha256, size_bytes, oid in large.values_list("blob", "blob__size_bytes", "oid").distinct():
        if blob_oid(lfs_pointer(sha256, size_bytes)) != oid:
            yield from large.filter(blob=sha256, oid=oid).iterator()


def revision_mismatch(revision: Revision, wrong_rows: AbstractSet[str]) -> str:
    """How ids and sums of a revision differ from those of its files; "" if they agree.

    Args:
        revision: With its parent and its series.
        wrong_rows: Digests of blobs whose own rows are wrong.
    """
    if revision.series.mlmodel_id != revision.mlmodel_id:
        return "its files are those of another repository"
    columns = "path", "oid", "blob_id", "blob__git_oid", "blob__size_bytes"
    files = list(revision.files.values_list(*columns))
    tree = tree_oid({path: oid for path, oid, *_ in files})
    if tree != revision.tree_oid:
        return f"its files give tree {tree}, not {revision.tree_oid}"
    directory = tree_oid({path: git_oid for path, _, _, git_oid, _ in files})
    sums = directory, len(files), sum(size_bytes for *_, size_bytes in files)
    is_judged = wrong_rows.isdisjoint(sha256 for _, _, sha256, *_ in files)
    if is_judged and sums != (revision.directory_oid, revision.file_count, revision.size_bytes):
        return "its directory id, number or size of files are not those of its files"
    oid = commit_oid(
        tree=tree,
        parent=revision.parent.oid if revision.parent else None,
        author_line=revision.author_line,
        message=revision.message,
    )
    return "" if oid == revision.oid else f"it gives commit {oid}"
