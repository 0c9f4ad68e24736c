"""What a pull request would change, and whether it still can.

Revisions have one parent, so two lines meet in at most one newest common ancestor.
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

#: Characters of a unified difference; what comes after is left out.
MAX_DIFF = 1_000_000

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Merged(Generic[Value]):
    """Paths and what lies there after a merge, and the paths that could not be decided."""

    entries: dict[str, Value]
    conflicts: list[str]


def three_way(
    base: Mapping[str, Value], ours: Mapping[str, Value], theirs: Mapping[str, Value]
) -> Merged[Value]:
    """``ours`` with what changed from ``base`` to ``theirs``.

    A path that both sides changed, and not alike, is a conflict; so is one that cannot lie beside
    another of the result (see :func:`registry.validation.paths.clashes`).
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
    return Merged(entries, sorted(conflicts))


def ends_of(pull: Discussion) -> tuple[Revision | None, Revision]:
    """The newest of the target branch, and of the pull request's line.

    The first is ``None`` if the branch is gone.
    """
    line = branch_get(pull.mlmodel, f"refs/pr/{pull.num}").revision
    try:
        return branch_get(pull.mlmodel, f"refs/heads/{pull.target_branch}").revision, line
    except NotFound:
        return None, line


def common_ancestor(one: Revision, other: Revision) -> Revision | None:
    """The newest revision that both grew from; either may be it.

    Where ``one`` was squashed they share none. Then it is the newest that ``other`` grew from and
    whose files ``one`` once had, as the squashed revision has those of what it replaced.
    ``None``: there is none of these either.
    """
    return _newest_shared(one, other, "one.id = other.id") or _newest_shared(
        one, other, "one.tree_oid = other.tree_oid"
    )


def _newest_shared(one: Revision, other: Revision, alike: str) -> Revision | None:
    # A parent is written before its children, so along a line keys only grow.
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
    """What the pull request's changes are counted from, and its newest revision."""
    target, line = ends_of(pull)
    if target is None and pull.merged_as is not None:
        target = pull.merged_as.parent
    return common_ancestor(target, line) if target is not None else None, line


def changes_of(pull: Discussion, *, limit: int = 300) -> Difference:
    """What the pull request changes since it parted from its target branch."""
    base, line = base_of(pull)
    return difference(base, line, limit=limit)


def conflicts_of(pull: Discussion) -> list[str]:
    """The paths that keep it from being merged as things stand."""
    target, line = ends_of(pull)
    if target is None or pull.merged_as_id is not None:
        return []
    base = common_ancestor(target, line)
    if base == target:
        return []
    return three_way(_oids(base), _oids(target), _oids(line)).conflicts


def diff_of(pull: Discussion) -> str:
    """Its changes as git writes them; what is no text, or too long, is only said to differ."""
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


def _oids(revision: Revision | None) -> dict[str, tuple[str, bool]]:
    if revision is None:
        return {}
    rows = revision.files.values_list("path", "oid", "is_lfs")
    return {path: (oid, is_lfs) for path, oid, is_lfs in rows}
