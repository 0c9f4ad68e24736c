"""Byte-identical copies: versions whose content is that of a version elsewhere on this hub."""

from collections.abc import Iterable, Mapping

from registry.fair.files import role
from registry.states import RefKind
from registry.tables import MLModel, Ref, Revision

#: Roles of files that describe the content. A copy may replace them.
_DESCRIBING = frozenset({"card", "licence"})
#: Roles of files that are no content on their own: many repositories have equal ones.
_COMMON = _DESCRIBING | {"config", "environment"}


def is_copy(digests: Mapping[str, str], source: Iterable[str]) -> bool:
    """Whether all content is in the source, which has blobs with the SHA-256 ``source``.

    ``digests`` maps the paths of all files of a version to their SHA-256. A version without content
    of its own, such as one with a card only, is no copy.
    """
    content = {path: one for path, one in digests.items() if not _is_describing(path)}
    if all(role(path) in _COMMON for path in content):
        return False
    return set(content.values()) <= set(source)


def digests_of(revision: Revision) -> dict[str, str]:
    """Path to SHA-256 of all files of a version."""
    return dict(revision.files.values_list("path", "blob"))


def version_at(mlmodel: MLModel, oid: str) -> Revision | None:
    """The version with the commit id ``oid``; the newest one of the default branch if empty."""
    if oid:
        return Revision.objects.filter(mlmodel=mlmodel, oid=oid).first()
    branch = Ref.objects.filter(
        mlmodel=mlmodel, kind=RefKind.BRANCH, name=mlmodel.default_branch
    ).select_related("revision")
    head = branch.first()
    return head.revision if head else None


def _is_describing(path: str) -> bool:
    return role(path) in _DESCRIBING or path.rpartition("/")[2].startswith(".git")
