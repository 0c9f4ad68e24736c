"""Revisions: immutable snapshots of a model's files."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hpcfair.mlmodel import address, with_files
from hpcfair.transport import Transport, pages, quoted
from hpcfair.types import Revision


def revision(http: Transport, name: str, rev: str) -> Revision:
    """The revision of a branch, tag or commit id. Raises RevisionNotFound if there is no such
    name."""
    return _read(http, name, http.get(f"{address(name)}/revisions/{quoted(rev)}"))


def revisions(http: Transport, name: str, rev: str | None = None) -> Iterator[Revision]:
    """History of ``rev`` or the default branch, newest first."""
    items = pages(http, f"{address(name)}/revisions", {"revision": rev})
    return (Revision.from_json(item) for item in items)


def commit(
    http: Transport,
    name: str,
    *,
    add: Mapping[str, str],
    message: str,
    branch: str,
    delete: Sequence[str] = (),
    parent: str | None = None,
    origin: Mapping[str, str] | None = None,
) -> Revision:
    """Create a revision on a branch.

    Args:
        add: Path to the SHA-256 of an uploaded blob.
        parent: Expected head of the branch.
        origin: ``url`` and ``commit`` of the model on another server whose files these are.

    Raises:
        StaleParent, NothingToCommit, Invalid: see the classes.
    """
    operations = [{"op": "add", "path": path, "sha256": digest} for path, digest in add.items()]
    operations += [{"op": "delete", "path": path} for path in delete]
    body: dict[str, Any] = {
        "branch": branch,
        "message": message,
        "parent": parent,
        "operations": operations,
    }
    if origin is not None:
        body["origin"] = origin
    return _read(http, name, http.post(f"{address(name)}/commits", body))


def copy(http: Transport, name: str, source: str, original: Revision, branch: str) -> Revision:
    """Create a revision with all files of ``original``, one of the model ``source``.

    The hub copies the files and records their source. Raises NothingToCommit: it has them already.
    """
    shared = {"op": "copy", "source": source, "source_revision": original.oid}
    paths = [file.path for file in original.files]
    operations = [shared | {"path": path, "source_path": path} for path in paths]
    body = {
        "branch": branch,
        "message": f"Copy {source} at {original.oid}",
        "parent": None,
        "operations": operations,
    }
    return _read(http, name, http.post(f"{address(name)}/commits", body))


def _read(http: Transport, name: str, answer: dict[str, Any]) -> Revision:
    return Revision.from_json(with_files(http, name, answer, answer["oid"]))


def branch_make(http: Transport, name: str, branch: str, revision: str) -> None:
    """Create a branch at a revision (a branch, tag or commit id).

    Raises:
        Conflict: the branch exists at another revision.
        Invalid: it is not a valid name of a branch.
    """
    http.json("PUT", f"{address(name)}/refs/branch/{quoted(branch)}", body={"revision": revision})
