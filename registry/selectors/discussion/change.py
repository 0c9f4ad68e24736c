"""Changes of a pull request, and its conflicts with the target branch.

Revisions have one parent, so two branches have at most one newest common ancestor.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from django.db.models.expressions import RawSQL

from registry.errors import NotFound
from registry.selectors.repository.difference import Difference, difference, lines_of
from registry.selectors.repository.revision import branch_get
from registry.tables import Discussion, Revision
from registry.validation.paths import clashes

#: Maximum characters of a unified diff; further files are omitted.
MAX_DIFF = 1_000_000

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class MergeResult(Generic[Value]):
    """Path to value after a merge, and the paths in conflict."""

    entries: dict[str, Value]
    conflicts: list[str]


def three_way(
    base: Mapping[str, Value], ours: Mapping[str, Value], theirs: Mapping[str, Value]
) -> MergeResult[Value]:
    """``ours`` with the changes from ``base`` to ``theirs``.

    A path that both sides changed differently is a conflict; so is one that cannot coexist with
    another path of the result (see :func:`registry.validation.paths.clashes`).
    """
    entries, conflicts = dict(ours), set()
    for path in base.keys() | theirs.keys():
        before, mine, yours = base.get(path), ours.get(path), theirs.get(path)
        if yours in (before, mine):
            continue
        if mine != before:
            conflicts.add(path)
        elif yours is None:
            del entries[path]
        else:
            entries[path] = yours
    conflicts.update(path for path, _ in clashes(entries))
    return MergeResult(entries, sorted(conflicts))


def ends_of(pull: Discussion) -> tuple[Revision | None, Revision]:
    """Heads of the target branch, ``None`` if deleted, and of the pull request's branch."""
    line = branch_get(pull.mlmodel, f"refs/pr/{pull.num}").revision
    try:
        return branch_get(pull.mlmodel, f"refs/heads/{pull.target_branch}").revision, line
    except NotFound:
        return None, line


def common_ancestor(one: Revision, other: Revision) -> Revision | None:
    """The newest common ancestor, which may be either of the two; ``None`` without one.

    If ``one`` was squashed, it is the newest ancestor of ``other`` whose files an ancestor of
    ``one`` has, since the squashed revision has the files of those that it replaced.
    """
    return _newest_shared(one, other, "one.id = other.id") or _newest_shared(
        one, other, "one.tree_oid = other.tree_oid"
    )


def _newest_shared(one: Revision, other: Revision, alike: str) -> Revision | None:
    # A parent is written before its children, so keys increase along a history.
    shared = RawSQL(  # noqa: S611 (see below)
        f"""
        WITH RECURSIVE one (id, parent_id, tree_oid) AS (
            SELECT id, parent_id, tree_oid FROM registry_revision WHERE id = %s
            UNION ALL
            SELECT r.id, r.parent_id, r.tree_oid
            FROM registry_revision r JOIN one ON r.id = one.parent_id
        ), other (id, parent_id, tree_oid) AS (
            SELECT id, parent_id, tree_oid FROM registry_revision WHERE id = %s
            UNION ALL
            SELECT r.id, r.parent_id, r.tree_oid
            FROM registry_revision r JOIN other ON r.id = other.parent_id
        )
        SELECT MAX(other.id) FROM one JOIN other ON {alike}
        """,  # noqa: S608 (both conditions are ours)
        (one.pk, other.pk),
    )
    return Revision.objects.filter(pk=shared).first()


def base_of(pull: Discussion) -> tuple[Revision | None, Revision]:
    """The common ancestor with the target branch, and the head of the pull request's branch."""
    target, line = ends_of(pull)
    if target is None and pull.merged_as is not None:
        target = pull.merged_as.parent
    return merge_base(pull, target, line) if target is not None else None, line


def merge_base(pull: Discussion, target: Revision, line: Revision) -> Revision | None:
    """The common ancestor of ``target`` and ``line``, heads of the branches of ``pull``.

    The history of a squashed pull request starts anew; the place where it parted is stored.
    """
    return common_ancestor(target, pull.parted_at or line)


def oids_of(revision: Revision | None) -> dict[str, tuple[str, bool]]:
    """Path to git object id, and whether it is a large file; empty for ``None``."""
    if revision is None:
        return {}
    rows = revision.files.values_list("path", "oid", "is_lfs")
    return {path: (oid, is_lfs) for path, oid, is_lfs in rows}


def changes_of(pull: Discussion, *, limit: int = 300) -> Difference:
    """The pull request's changes since its common ancestor with the target branch."""
    base, line = base_of(pull)
    return difference(base, line, limit=limit)


def conflicts_of(pull: Discussion) -> list[str]:
    """The paths with merge conflicts."""
    target, line = ends_of(pull)
    if target is None or pull.merged_as_id is not None:
        return []
    base = merge_base(pull, target, line)
    if base == target:
        return []
    return three_way(oids_of(base), oids_of(target), oids_of(line)).conflicts


def diff_of(pull: Discussion) -> str:
    """The changes as a git diff; binary and long files are only reported to differ."""
    parts: list[str] = []
    size = 0
    for change in changes_of(pull).changes:
        old = f"a/{change.path}" if change.before else "/dev/null"
        new = f"b/{change.path}" if change.after else "/dev/null"
        lines = [f"diff --git a/{change.path} b/{change.path}"]
        if change.before is None:
            lines.append("new file mode 100644")
        if change.after is None:
            lines.append("deleted file mode 100644")
        short = [file.oid[:7] if file else "0" * 7 for file in (change.before, change.after)]
        lines.append(f"index {short[0]}..{short[1]}")
        hunks = lines_of(change)
        if hunks is None:
            lines.append(f"Binary files {old} and {new} differ")
        elif hunks:
            lines += [f"--- {old}", f"+++ {new}", *hunks]
        text = "\n".join(lines) + "\n"
        size += len(text)
        if size > MAX_DIFF:
            break
        parts.append(text)
    return "".join(parts)
