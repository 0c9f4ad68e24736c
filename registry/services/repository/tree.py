"""Stored git trees: written by commits, deleted with the last revision that has them."""

from collections.abc import Iterable, Mapping

from django.db import transaction

from registry.storage.git import tree_entries
from registry.tables import MLModel, Tree

# Databases bound the number of values in one query.
_AT_ONCE = 500


def trees_store(mlmodel: MLModel, contents: Mapping[str, bytes]) -> None:
    """Store tree objects, id to content, in the caller's transaction."""
    rows = [Tree(mlmodel=mlmodel, oid=oid, content=content) for oid, content in contents.items()]
    Tree.objects.bulk_create(rows, ignore_conflicts=True, batch_size=200)


def trees_prune(mlmodel: MLModel) -> None:
    """Delete the trees of ``mlmodel`` that no revision has, after revisions were deleted."""
    with transaction.atomic():
        # Commits hold this row while they write: no tree is deleted that one of them relies on.
        if not MLModel.objects.select_for_update().filter(pk=mlmodel.pk).exists():
            return
        roots = mlmodel.revisions.values_list("tree_oid", "directory_oid")
        reached = _reached(mlmodel, {oid for pair in roots.iterator() for oid in pair})
        stored = mlmodel.trees.values_list("oid", flat=True)
        lost = [oid for oid in stored.iterator() if oid not in reached]
        for start in range(0, len(lost), _AT_ONCE):
            mlmodel.trees.filter(oid__in=lost[start : start + _AT_ONCE]).delete()


def _reached(mlmodel: MLModel, roots: Iterable[str]) -> set[str]:
    """The ids of ``roots`` and of all trees below them, as far as they are stored."""
    reached = set(roots)
    left = list(reached)
    while left:
        some, left = left[:_AT_ONCE], left[_AT_ONCE:]
        rows = mlmodel.trees.filter(oid__in=some).values_list("content", flat=True)
        for content in rows.iterator():
            _, folders = tree_entries(bytes(content))
            fresh = set(folders.values()) - reached
            reached |= fresh
            left += fresh
    return reached
