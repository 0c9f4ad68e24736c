"""Reads of revisions, their files, branches and tags."""

import re
from collections.abc import Sequence
from functools import lru_cache

from django.db.models import Exists, OuterRef, QuerySet
from django.db.models.expressions import RawSQL

from registry.errors import NotFound
from registry.fair.files import role
from registry.ids import OID_RE
from registry.selectors.storage.blob import AT_ONCE, blob_open
from registry.states import RefKind
from registry.tables import File, MLModel, Ref, Revision
from registry.validation.card import MAX_CARD_BYTES, body_of
from registry.validation.texts import unseen

#: Roles of files that describe the others; to read one is no download.
_ABOUT_OTHERS = frozenset({"card", "licence", "environment"})

_SHORT_OID_RE = re.compile(r"[0-9a-f]{7,39}")
# Parts of the longest reference name: at most 200 characters after ``refs/heads/``.
_MOST_PARTS = 102
_KIND_OF_PREFIX = {
    "refs/heads/": RefKind.BRANCH,
    "refs/tags/": RefKind.TAG,
    "refs/pr/": RefKind.PULL,
}


def revision_get(mlmodel: MLModel, rev: str | None = None) -> Revision:
    """The revision that ``rev`` names. Raises ``NotFound``: ``revision_not_found``.

    Args:
        mlmodel: One the actor may read.
        rev: A branch, else a tag, else a revision id or an unambiguous prefix of at least 7 digits;
            ``None`` for the default branch. ``refs/heads/`` and ``refs/tags/`` select the kind;
            ``refs/pr/<number>`` is a pull request's branch.
    """
    name = rev or mlmodel.default_branch
    revision = None
    if name.isprintable():
        revision = _by_refs(mlmodel, [name]).get(name) or _by_oid(mlmodel, name.lower())
    if revision is None:
        raise NotFound(
            "revision_not_found",
            f"{mlmodel.full_name} has no branch, tag or revision {name[:100]!r}.",
            "List its branches and tags to see what there is.",
        )
    return revision


def is_newest(revision: Revision) -> bool:
    """Whether the default branch of its MLModel, which is loaded, leads to ``revision``."""
    mlmodel = revision.mlmodel
    heads = mlmodel.refs.filter(kind=RefKind.BRANCH, name=mlmodel.default_branch)
    return heads.filter(revision=revision).exists()


def is_empty_start(key: str = "pk") -> Exists:
    """A condition on rows: whether their revision is the empty first commit of a repository.

    It has no parent and no file but ``.gitattributes``. ``key`` is the field of the rows with the
    revision's key.
    """
    content = File.objects.at_outer().exclude(path=".gitattributes")
    return Exists(Revision.objects.filter(~Exists(content), pk=OuterRef(key), parent=None))


def revision_along(mlmodel: MLModel, place: str) -> tuple[str, Revision, str]:
    """Split ``<revision>/<path>`` of an address, where the revision's name may hold slashes.

    Raises ``NotFound``: ``revision_not_found``.

    Args:
        mlmodel: One the actor may read.
        place: The longest prefix that names a branch, a tag or a pull request's branch counts; else
            the first part is a revision id.

    Returns:
        The revision's name as it stands in ``place``, the revision, and the path, "" without one.
    """
    parts = place.split("/")
    # No name has more parts, which bounds the query however long the path is.
    lengths = range(1, min(len(parts), _MOST_PARTS) + 1)
    revisions = _by_refs(mlmodel, ["/".join(parts[:length]) for length in lengths])
    name = max(revisions, key=len, default=parts[0])
    if name not in revisions and parts[0] == "refs":
        name = "/".join(parts[:3])
    return name, revisions.get(name) or revision_get(mlmodel, name), place[len(name) + 1 :]


def files_of(revision: Revision) -> QuerySet[File]:
    """The files of a revision with their blobs, ordered by path."""
    return revision.files.select_related("blob").order_by("path")


def file_get(revision: Revision, path: str) -> File:
    """The file at ``path``. Raises ``NotFound``: ``file_not_found``."""
    return files_get(revision, [path])[path]


def files_get(revision: Revision, paths: Sequence[str]) -> dict[str, File]:
    """Path to file, with its blob, for all ``paths``. Raises ``NotFound``: ``file_not_found``."""
    # No path holds a control character, and PostgreSQL rejects NUL.
    valid = [path for path in paths if not unseen(path)]
    files: dict[str, File] = {}
    for start in range(0, len(valid), AT_ONCE):
        rows = revision.files.filter(path__in=valid[start : start + AT_ONCE])
        files |= {file.path: file for file in rows.select_related("blob")}
    missing = next((path for path in paths if path not in files), None)
    if missing is not None:
        raise NotFound(
            "file_not_found", f"Revision {revision.oid[:10]} has no file {missing[:200]!r}."
        )
    return files


def main_path(revision: Revision) -> str | None:
    """The path of the largest file, the first among equals; ``None`` without one.

    Files that describe the others do not count: the card, licences, environments and git's own.
    """
    # Cached: a tree never changes, and every download needs it.
    return _main_path(revision.pk, revision.tree_oid)


@lru_cache(maxsize=4096)
def _main_path(revision: int, tree_oid: str) -> str | None:  # noqa: ARG001 (part of the key)
    files = File.objects.of([revision]).order_by("-blob__size_bytes", "path")
    paths = files.values_list("path", flat=True).iterator()
    return next((path for path in paths if not _is_about_others(path)), None)


def _is_about_others(path: str) -> bool:
    return role(path) in _ABOUT_OTHERS or path.rpartition("/")[2].startswith(".git")


def text_of(revision: Revision, path: str, *, most_bytes: int) -> str | None:
    """The file's content; ``None`` if it is missing, longer than ``most_bytes`` or not UTF-8."""
    file = revision.files.select_related("blob").filter(path=path).first()
    if file is None or file.blob.size_bytes > most_bytes:
        return None
    with blob_open(file.blob) as stream:
        try:
            return stream.read().decode()
        except UnicodeDecodeError:
            return None


def readme_of(revision: Revision) -> str:
    """The Markdown below the front matter of README.md; "" without one."""
    return body_of(text_of(revision, "README.md", most_bytes=MAX_CARD_BYTES) or "")


def refs_of(mlmodel: MLModel) -> QuerySet[Ref]:
    """The branches, then the tags of ``mlmodel``, by name, with their revisions."""
    rows = mlmodel.refs.exclude(kind=RefKind.PULL)
    return rows.select_related("revision").order_by("kind", "name")


def pulls_of(mlmodel: MLModel) -> QuerySet[Ref]:
    """The branches of the pull requests of ``mlmodel``, with their revisions."""
    return mlmodel.refs.filter(kind=RefKind.PULL).select_related("revision").order_by("pk")


def branch_get(mlmodel: MLModel, name: str) -> Ref:
    """The branch ``name``, or the pull request's branch ``refs/pr/<number>``, with its revision.

    Raises ``NotFound``: ``revision_not_found``.
    """
    kind, short = RefKind.BRANCH, name.removeprefix("refs/heads/")
    if name.startswith("refs/pr/"):
        kind, short = RefKind.PULL, name.removeprefix("refs/pr/")
    rows = mlmodel.refs.select_related("revision").filter(kind=kind)
    ref = rows.filter(name=short).first() if short.isprintable() else None
    if ref is None:
        raise NotFound(
            "revision_not_found",
            f"{mlmodel.full_name} has no branch {name[:100]!r}.",
            f"Commit to {mlmodel.default_branch!r}, or make the branch first.",
        )
    return ref


def target_get(mlmodel: MLModel, name: str) -> Ref:
    """The branch ``name`` that a pull request is to change, with its revision.

    Raises ``NotFound``: ``revision_not_found``, also for tags, commits and other pull requests.
    """
    ref = branch_get(mlmodel, name)
    if ref.kind != RefKind.BRANCH:
        raise NotFound(
            "revision_not_found", "A pull request changes a branch, not another pull request."
        )
    return ref


def history(mlmodel: MLModel, revision: Revision) -> QuerySet[Revision]:
    """``revision`` and its ancestors, newest first."""
    ancestors = RawSQL(
        """
        WITH RECURSIVE line (id, parent_id) AS (
            SELECT id, parent_id FROM registry_revision WHERE id = %s
            UNION ALL
            SELECT r.id, r.parent_id FROM registry_revision r JOIN line ON r.id = line.parent_id
        )
        SELECT id FROM line
        """,
        (revision.pk,),
    )
    return (
        mlmodel.revisions.filter(pk__in=ancestors)
        .select_related("author", "parent")
        .order_by("-id")
    )


def _by_refs(mlmodel: MLModel, names: list[str]) -> dict[str, Revision]:
    """Name to revision for those of ``names`` that are a branch, a tag or a pull request's branch.

    A branch takes precedence over a tag of the same name.
    """
    spelled = {name: _kinds_and_name(name) for name in names if name.isprintable()}
    refs = mlmodel.refs.filter(name__in={short for _, short in spelled.values()})
    revisions = {(ref.kind, ref.name): ref.revision for ref in refs.select_related("revision")}
    return {
        name: revisions[kind, short]
        for name, (kinds, short) in spelled.items()
        for kind in reversed(kinds)
        if (kind, short) in revisions
    }


def _kinds_and_name(name: str) -> tuple[list[RefKind], str]:
    """The kinds of references that ``name`` may mean, by precedence, and the short name."""
    for prefix, kind in _KIND_OF_PREFIX.items():
        if name.startswith(prefix):
            return [kind], name.removeprefix(prefix)
    return [RefKind.BRANCH, RefKind.TAG], name


def _by_oid(mlmodel: MLModel, oid: str) -> Revision | None:
    if OID_RE.fullmatch(oid):
        return mlmodel.revisions.filter(oid=oid).first()
    if not _SHORT_OID_RE.fullmatch(oid):
        return None
    matches = list(mlmodel.revisions.filter(oid__startswith=oid)[:2])
    return matches[0] if len(matches) == 1 else None
