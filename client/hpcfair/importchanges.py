"""What an import changes: files at the origin against those of the last import and of the hub."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from hpcfair.errors import Conflict, RevisionNotFound
from hpcfair.hubprotocol import RemoteFile, RemoteVersion, read_version
from hpcfair.origin import ModelOrigin
from hpcfair.transport import Transport
from hpcfair.types import File, MLModel

#: What a model has that was created and holds nothing yet.
_EMPTY = {".gitattributes"}


@dataclass(frozen=True, slots=True)
class Changes:
    """The difference between the origin and the hub.

    Attributes:
        updated: Files that changed at the origin since the last import, and differ here.
        deleted: Paths that the origin had at the last import and has no more.
        edited: Those of both that were changed on the hub, too.
        head: Files of the hub.
    """

    updated: list[RemoteFile]
    deleted: list[str] = field(default_factory=list)
    edited: list[str] = field(default_factory=list)
    head: Mapping[str, File] = field(default_factory=dict)


def changes_of(there: Transport, current: MLModel | None, version: RemoteVersion) -> Changes:
    """What differs. Files that only the hub has, and files that only the hub changed, stay.

    If the origin has the version of the last import no more, nothing is deleted, and every file
    that differs counts as edited.

    Args:
        there: Connections to the origin's server.
        current: The model on the hub.
    """
    if current is None:
        return Changes(list(version.files))
    head = {file.path: file for file in current.files}
    if current.origin is None:
        return Changes([file for file in version.files if not file.is_same(head.get(file.path))])
    before = _files_at(there, replace(version.origin, revision=current.origin["commit"]))
    updated = [
        file
        for file in version.files
        if file != before.get(file.path) and not file.is_same(head.get(file.path))
    ]
    gone = before.keys() - {file.path for file in version.files}
    deleted = sorted(gone & head.keys())
    edited = [
        path
        for path in [*(file.path for file in updated), *deleted]
        if path in head and not (path in before and before[path].is_same(head[path]))
    ]
    return Changes(updated, deleted, edited, head)


def _files_at(there: Transport, origin: ModelOrigin) -> dict[str, RemoteFile]:
    try:
        return {file.path: file for file in read_version(there, origin).files}
    except RevisionNotFound:
        return {}


def require_same(name: str, current: MLModel | None, origin: ModelOrigin) -> None:
    """Refuse to put the files of one model over those of another. Raises Conflict."""
    if current is None or (current.origin and current.origin["url"] == origin.url):
        return
    if not current.origin and {file.path for file in current.files} <= _EMPTY:
        return
    other = f"imported from {current.origin['url']}" if current.origin else "published here"
    raise Conflict(
        f"{name} exists and was {other}, not imported from {origin.url}.",
        f"Choose another name: hpcfair import {origin} NAMESPACE/NAME",
        code="model_exists",
    )


def require_no_edits(name: str, changes: Changes) -> None:
    """Refuse to replace or delete files that were changed on the hub since the last import. Raises
    Conflict."""
    if changes.edited:
        raise Conflict(
            f"These files of {name} were changed both here and at the origin: "
            f"{', '.join(changes.edited)}.",
            "To replace them: --overwrite, or overwrite=True. The history keeps them.",
            code="files_edited",
        )
