"""Ids of versions as folders of files: what Software Heritage's tools compute of a download.

It is git's tree id, but over the files' own bytes. A version's own tree has the text of a pointer
in place of each large file, as ``git clone`` gives it without git-lfs.
"""

from collections.abc import Collection

from registry.storage.git import tree_oid
from registry.tables import File, Revision


def directory_oid(revision: Revision, files: Collection[File]) -> str:
    """The id of one version.

    Args:
        files: All of it, with their blobs.
    """
    if not any(file.is_lfs for file in files):
        return revision.tree_oid
    return tree_oid({file.path: file.blob.git_oid for file in files})


def directory_oids(revisions: Collection[Revision]) -> dict[int, str]:
    """For lists: by key of the revision. By one query."""
    files: dict[int, list[File]] = {revision.pk: [] for revision in revisions}
    for row in File.objects.filter(revision__in=files).select_related("blob"):
        files[row.revision_id].append(row)
    return {revision.pk: directory_oid(revision, files[revision.pk]) for revision in revisions}
