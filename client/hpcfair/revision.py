"""Revisions: immutable snapshots of a model's files."""

from collections.abc import Iterator, Mapping, Sequence

from hpcfair.mlmodel import address
from hpcfair.transport import Transport, pages, quoted
from hpcfair.types import Revision


def revision(http: Transport, name: str, rev: str) -> Revision:
    """The revision a branch, tag or commit id names.

    Raises:
        RevisionNotFound: nothing has that name.
    """
    return Revision.from_json(http.get(f"{address(name)}/revisions/{quoted(rev)}"))


def revisions(http: Transport, name: str, rev: str | None = None) -> Iterator[Revision]:
    """History, newest first, from ``rev`` or the default branch backwards."""
    found = pages(http, f"{address(name)}/revisions", {"revision": rev})
    return (Revision.from_json(item) for item in found)


def commit(
    http: Transport,
    name: str,
    *,
    add: Mapping[str, str],
    message: str,
    branch: str,
    delete: Sequence[str] = (),
    parent: str | None = None,
) -> Revision:
    """Make a revision on a branch.

    Args:
        add: Path to the SHA-256 of bytes the hub has.
        parent: Refuse unless the branch still stands there.

    Raises:
        StaleParent, NothingToCommit, Invalid: as the classes say.
    """
    operations = [{"op": "add", "path": path, "sha256": digest} for path, digest in add.items()]
    operations += [{"op": "delete", "path": path} for path in delete]
    body = {"branch": branch, "message": message, "parent": parent, "operations": operations}
    return Revision.from_json(http.post(f"{address(name)}/commits", body))


def branch_make(http: Transport, name: str, branch: str, revision: str) -> None:
    """Give a revision (a branch, tag or commit id) the name of a new branch.

    Raises:
        Conflict: the branch is there and stands elsewhere.
        Invalid: that is no branch's name.
    """
    http.json("PUT", f"{address(name)}/refs/branch/{quoted(branch)}", body={"revision": revision})
