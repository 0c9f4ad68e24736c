"""Where the files of an import go."""

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from hpcfair.errors import Forbidden, ModelNotFound
from hpcfair.hubprotocol import RemoteFile
from hpcfair.mlmodel import ensure, info
from hpcfair.origin import ModelOrigin
from hpcfair.progress import Meter, transferring
from hpcfair.revision import commit, revision
from hpcfair.transport import Transport
from hpcfair.types import Account, MLModel, Revision
from hpcfair.upload import missing_blobs, upload


@dataclass(frozen=True, slots=True)
class ImportCommit:
    """The commit of an import: path to SHA-256 of what is added, paths that are deleted, and the
    origin at a commit there."""

    added: Mapping[str, str]
    deleted: Sequence[str]
    origin: ModelOrigin

    @property
    def message(self) -> str:
        return f"Import {self.origin.url} at {self.origin.revision}"


class ImportDestination(Protocol):
    """A model of a hub that an import creates or updates: over HTTP, or in the hub's own worker.

    The methods are called in this order, :meth:`keep` perhaps twice.
    """

    name: str

    def current(self) -> MLModel | None:
        """The model; ``None`` if there is none."""
        ...

    def require_room(self, files: Sequence[RemoteFile]) -> None:
        """Refuse files that do not fit, before bytes are moved."""
        ...

    def missing(self, digests: Sequence[str]) -> Collection[str]:
        """Those of ``digests`` whose bytes the hub needs."""
        ...

    def transferring(self, message: str, total_bytes: int) -> AbstractContextManager[Meter]:
        """Shows the progress of a download."""
        ...

    def keep(self, files: Mapping[str, Path]) -> Mapping[str, str]:
        """Give the hub the bytes of files. Returns path to SHA-256."""
        ...

    def create(self, current: MLModel | None, visibility: str | None) -> None:
        """Create the model if there is none; ``visibility`` ``None`` is its namespace's default."""
        ...

    def head(self, current: MLModel | None) -> Revision:
        """The newest revision, if nothing is to be committed."""
        ...

    def commit(self, current: MLModel | None, change: ImportCommit) -> Revision:
        """Make a revision whose parent is that of ``current``."""
        ...


class HubDestination:
    """An :class:`ImportDestination` on a hub that is reached by HTTP."""

    def __init__(self, http: Transport, name: str) -> None:
        self._http = http
        self.name = name

    def current(self) -> MLModel | None:
        return current_model(self._http, self.name)

    def require_room(self, files: Sequence[RemoteFile]) -> None:
        account = Account.from_json(self._http.get("/api/v1/whoami"))
        _require_room(self._http, account, self.name, files)

    def missing(self, digests: Sequence[str]) -> Collection[str]:
        return missing_blobs(self._http, digests)

    def transferring(self, message: str, total_bytes: int) -> AbstractContextManager[Meter]:
        return transferring(message, total_bytes)

    def keep(self, files: Mapping[str, Path]) -> Mapping[str, str]:
        return upload(self._http, files, what=self.name)

    def create(self, current: MLModel | None, visibility: str | None) -> None:
        if current is None:
            ensure(self._http, self.name, visibility=visibility)

    def head(self, current: MLModel | None) -> Revision:
        return revision(self._http, self.name, _branch(current))

    def commit(self, current: MLModel | None, change: ImportCommit) -> Revision:
        return commit(
            self._http,
            self.name,
            add=change.added,
            delete=change.deleted,
            message=change.message,
            branch=_branch(current),
            parent=current.revision if current else None,
            origin={"url": change.origin.url, "commit": str(change.origin.revision)},
        )


def current_model(http: Transport, name: str) -> MLModel | None:
    """The model on the hub; ``None`` if there is none."""
    try:
        return info(http, name)
    except ModelNotFound:
        return None


def _require_room(
    http: Transport, account: Account, name: str, files: Sequence[RemoteFile]
) -> None:
    """Refuse an import that exceeds the quota of one's own namespace, before bytes are moved. The
    hub refuses those of others."""
    room = next((one for one in account.quotas if one["name"] == "bytes"), None)
    if room is None or room["limit"] is None or name.partition("/")[0] != account.name:
        return
    needed, free = sum(file.size_bytes for file in files), room["limit"] - room["used"]
    if needed > free:
        raise Forbidden(
            f"The files have {needed:,} bytes, and {max(free, 0):,} are left of the quota of "
            f"{account.name} on {http.config.url}. Nothing was moved.",
            "Delete something, or ask the hub's operators for more.",
            code="quota_exceeded",
        )


def _branch(current: MLModel | None) -> str:
    return current.default_branch if current else "main"
