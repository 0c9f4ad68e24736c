"""Reads of revisions, their files and the names given to them."""

import re
from functools import lru_cache

from django.db.models import QuerySet
from django.db.models.expressions import RawSQL

from registry.errors import NotFound
from registry.ids import OID_RE
from registry.selectors.storage.blob import blob_open
from registry.states import RefKind
from registry.tables import File, MLModel, Ref, Revision
from registry.validation.card import MAX_CARD_BYTES, body_of
from registry.validation.texts import unseen

_SHORT_OID_RE = re.compile(r"[0-9a-f]{7,39}")
# Of a reference's name, which has at most 200 characters, after ``refs/heads/``.
_MOST_PARTS = 102
_KIND_OF_PREFIX = {
    "refs/heads/": RefKind.BRANCH,
    "refs/tags/": RefKind.TAG,
    "refs/pr/": RefKind.PULL,
}


def revision_get(mlmodel: MLModel, rev: str | None = None) -> Revision:
    """The revision that ``rev`` names.

    Args:
        mlmodel: One the asker may read.
        rev: A branch, else a tag, else a revision id or at least 7 digits of one that begin no
            other; ``None`` for the default branch. ``refs/heads/`` and ``refs/tags/`` narrow;
            ``refs/pr/<number>`` is a pull request's line.

    Raises:
        NotFound: ``revision_not_found``.
    """
    wanted = rev or mlmodel.default_branch
    revision = None
    if wanted.isprintable():
        named = _by_refs(mlmodel, [wanted])
        revision = named.get(wanted) or _by_oid(mlmodel, wanted.lower())
    if revision is None:
        raise NotFound(
            "revision_not_found",
            f"{mlmodel.full_name} has no branch, tag or revision {wanted[:100]!r}.",
            "List its branches and tags to see what there is.",
        )
    return revision


def revision_along(mlmodel: MLModel, place: str) -> tuple[str, Revision, str]:
    """What ``<revision>/<path>`` means, where the revision's name may hold slashes, too.

    Args:
        mlmodel: One the asker may read.
        place: As in an address. The longest beginning that is the name of a branch, a tag or a
            pull request's line wins; else the first part names a revision by its id.

    Returns:
        The revision's name as it was given, the revision, and the path, "" if there is none.

    Raises:
        NotFound: ``revision_not_found``.
    """
    parts = place.split("/")
    # No name is longer, so no more beginnings need to be looked for however long the path is.
    lengths = range(1, min(len(parts), _MOST_PARTS) + 1)
    beginnings = ["/".join(parts[:length]) for length in lengths]
    named = _by_refs(mlmodel, beginnings)
    name = max(named, key=len, default=parts[0])
    if name not in named and parts[0] == "refs":
        name = "/".join(parts[:3])
    return name, named.get(name) or revision_get(mlmodel, name), place[len(name) + 1 :]


def files_of(revision: Revision) -> QuerySet[File]:
    """The files of a revision with their blobs, ordered by path."""
    return revision.files.select_related("blob").order_by("path")


def file_get(revision: Revision, path: str) -> File:
    """The file at ``path``.

    Raises:
        NotFound: ``file_not_found``.
    """
    # No path holds such a character, and no database takes it.
    file = None if unseen(path) else files_of(revision).filter(path=path).first()
    if file is None:
        raise NotFound(
            "file_not_found", f"Revision {revision.oid[:10]} has no file {path[:200]!r}."
        )
    return file


def main_path(revision: Revision) -> str | None:
    """The path most of a revision's bytes are at, of equal ones the first; ``None`` if empty."""
    # What a tree holds never changes, and every download asks.
    return _main_path(revision.pk, revision.tree_oid)


@lru_cache(maxsize=4096)
def _main_path(revision: int, tree_oid: str) -> str | None:  # noqa: ARG001 (part of the key)
    files = File.objects.filter(revision=revision).order_by("-blob__size_bytes", "path")
    return files.values_list("path", flat=True).first()


def text_of(revision: Revision, path: str, *, most_bytes: int) -> str | None:
    """The file's content; ``None`` if there is none, it is longer, or it is not UTF-8."""
    file = revision.files.select_related("blob").filter(path=path).first()
    if file is None or file.blob.size_bytes > most_bytes:
        return None
    with blob_open(file.blob) as stream:
        try:
            return stream.read().decode()
        except UnicodeDecodeError:
            return None


def readme_of(revision: Revision) -> str:
    """The Markdown below the card's values; empty where there is none."""
    return body_of(text_of(revision, "README.md", most_bytes=MAX_CARD_BYTES) or "")


def refs_of(mlmodel: MLModel) -> QuerySet[Ref]:
    """Its branches, then its tags, by name, with their revisions."""
    rows = mlmodel.refs.exclude(kind=RefKind.PULL)
    return rows.select_related("revision").order_by("kind", "name")


def pulls_of(mlmodel: MLModel) -> QuerySet[Ref]:
    """The lines of its pull requests, with their revisions."""
    return mlmodel.refs.filter(kind=RefKind.PULL).select_related("revision").order_by("pk")


def branch_get(mlmodel: MLModel, name: str) -> Ref:
    """The branch of that name, or the pull request's line ``refs/pr/<number>``, with its revision.

    Raises:
        NotFound: ``revision_not_found``.
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


def history(mlmodel: MLModel, revision: Revision) -> QuerySet[Revision]:
    """``revision`` and all it grew from, newest first."""
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
    """Those of ``names`` that name a branch, a tag or a pull request's line, with what they name.

    Where a branch and a tag are called alike, the branch is meant.
    """
    asked = {name: _spelled(name) for name in names if name.isprintable()}
    refs = mlmodel.refs.filter(name__in={short for _, short in asked.values()})
    found = {(ref.kind, ref.name): ref.revision for ref in refs.select_related("revision")}
    return {
        name: found[kind, short]
        for name, (kinds, short) in asked.items()
        for kind in reversed(kinds)
        if (kind, short) in found
    }


def _spelled(name: str) -> tuple[list[RefKind], str]:
    """The kinds of references ``name`` may mean, the likeliest first, and their name."""
    for prefix, kind in _KIND_OF_PREFIX.items():
        if name.startswith(prefix):
            return [kind], name.removeprefix(prefix)
    return [RefKind.BRANCH, RefKind.TAG], name


def _by_oid(mlmodel: MLModel, oid: str) -> Revision | None:
    if OID_RE.fullmatch(oid):
        return mlmodel.revisions.filter(oid=oid).first()
    if not _SHORT_OID_RE.fullmatch(oid):
        return None
    found = list(mlmodel.revisions.filter(oid__startswith=oid)[:2])
    return found[0] if len(found) == 1 else None
