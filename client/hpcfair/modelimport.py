"""Imports a model of another server into the hub, and updates an imported one.

The client moves the bytes: from the server into the cache, and from there to the hub. Both ways are
verified, and an interrupted import resumes. Files are compared by their digests before anything is
moved.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from hpcfair import card as cards
from hpcfair.cache import Cache
from hpcfair.errors import BadInput, Forbidden, LicenseMissing, ModelNotFound
from hpcfair.hubprotocol import RemoteFile, RemoteVersion, fetch_files, pin, read_version
from hpcfair.importchanges import Changes, changes_of, require_no_edits, require_same
from hpcfair.licenses import is_redistributable
from hpcfair.localfiles import local_files
from hpcfair.mlmodel import ensure, info
from hpcfair.origin import ModelOrigin
from hpcfair.revision import commit, revision
from hpcfair.transport import Transport
from hpcfair.types import Account, File, MLModel, Revision
from hpcfair.upload import missing_blobs, upload

README = "README.md"


@dataclass(frozen=True, slots=True)
class ModelImport:
    """The result of an import.

    Attributes:
        name: The model on the hub.
        revision: Its newest revision.
        origin: Address of the model on its server, at commit ``commit`` there.
        changed: Paths that were added or replaced; empty if the hub had all files already.
        deleted: Paths that the origin no longer has.
        evidence: Whether the files are as before, and what the origin measured and signed is new.
    """

    name: str
    revision: Revision
    origin: str
    commit: str
    changed: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()
    evidence: bool = False


@dataclass(frozen=True, slots=True)
class ModelImportOptions:
    """Options of an import; see :meth:`hpcfair.Client.import_model`."""

    license: str | None = None
    visibility: str | None = None
    overwrite: bool = False


def import_model(
    http: Transport,
    cache: Cache,
    origin: ModelOrigin,
    name: str | None,
    options: ModelImportOptions,
) -> ModelImport:
    """Copy a model into the hub, or update it; see :meth:`hpcfair.Client.import_model`."""
    account = Account.from_json(http.get("/api/v1/whoami"))
    name = name or f"{account.name}/{origin.name.partition('/')[2]}"
    current = current_model(http, name)
    with Transport(http.config.for_server(origin.server)) as there:
        pinned = pin(there, origin)
        require_same(name, current, pinned)
        if current and current.origin and current.origin["commit"] == pinned.revision:
            head = revision(http, name, current.default_branch)
            return ModelImport(name, head, pinned.url, str(pinned.revision))
        version = read_version(there, pinned)
        license_id = license_of(version, current, options)
        visibility = visibility_of(version, current, license_id, options)
        changes = changes_of(there, current, version)
        if not options.overwrite:
            require_no_edits(name, changes)
        require_room(http, account, name, changes.updated)
        files = _fetch(http, there, cache, version, changes.updated)
        digests = {path: file.sha256 for path, file in files.items()}
        local = {path: cache.blob(file.sha256) for path, file in files.items() if cache.has(file)}
        upload(http, local, what=name)
        if not version.license and (README in digests or not changes.head.get(README)):
            digests[README] = _upload_card(http, there, cache, version, license_id, name)
    return commit_import(http, name, current, version.origin, digests, changes, visibility)


def commit_import(
    http: Transport,
    name: str,
    current: MLModel | None,
    origin: ModelOrigin,
    digests: Mapping[str, str],
    changes: Changes,
    visibility: str | None,
) -> ModelImport:
    """Create the revision of an import, and the model if it is new; neither if nothing differs.

    Args:
        origin: With the commit id as its revision.
        digests: Path to SHA-256 of the files whose bytes the hub has now.
    """
    changed = {
        path: digest
        for path, digest in digests.items()
        if path not in changes.head or changes.head[path].sha256 != digest
    }
    version = str(origin.revision)
    branch = current.default_branch if current else "main"
    if current is None:
        ensure(http, name, visibility=visibility)
    if not changed and not changes.deleted:
        return ModelImport(name, revision(http, name, branch), origin.url, version)
    saved = commit(
        http,
        name,
        add=changed,
        delete=changes.deleted,
        message=f"Import {origin.url} at {version}",
        branch=branch,
        parent=current.revision if current else None,
        origin={"url": origin.url, "commit": version},
    )
    return ModelImport(name, saved, origin.url, version, tuple(changed), tuple(changes.deleted))


def current_model(http: Transport, name: str) -> MLModel | None:
    """The model on the hub; ``None`` if there is none."""
    try:
        return info(http, name)
    except ModelNotFound:
        return None


def license_of(version: RemoteVersion, current: MLModel | None, options: ModelImportOptions) -> str:
    """The license of the copy: that of the card, else the one that the user states."""
    stated = options.license or ""
    if version.license:
        if stated and stated.lower() != version.license.lower():
            raise BadInput(
                f"The card of {version.origin.url} states the license {version.license}.",
                "Leave the license out: an import keeps what the card states.",
            )
        return version.license
    earlier = (current.card.get("license") if current else None) or ""
    if not (stated or earlier):
        raise LicenseMissing(
            f"The card of {version.origin.url} states no license, so nobody is permitted to copy "
            "the model. Nothing was moved.",
            "If you may, state the license: --license ID, or license=...",
            code="license_missing",
        )
    return stated or str(earlier)


def visibility_of(
    version: RemoteVersion, current: MLModel | None, license_id: str, options: ModelImportOptions
) -> str | None:
    """The visibility of a new model; ``None`` is the default of its namespace."""
    is_free = version.is_open and is_redistributable(license_id)
    if options.visibility or is_free:
        return options.visibility
    if current and (current.is_held or current.visibility == "public"):
        reason = f"has the license {license_id}" if version.is_open else "is private or gated"
        raise BadInput(
            f"{current.name} is public, and {version.origin.url} {reason}. Nothing was moved.",
            "Make the model private, or confirm that it may be passed on: --public.",
        )
    return "private"


def require_room(http: Transport, account: Account, name: str, files: Sequence[RemoteFile]) -> None:
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


def _fetch(
    http: Transport,
    there: Transport,
    cache: Cache,
    version: RemoteVersion,
    files: Sequence[RemoteFile],
) -> dict[str, File]:
    """Path to each of ``files``. Those whose bytes the hub lacks are then in the cache."""
    named = {file.sha256 for file in files if file.sha256}
    missing = missing_blobs(http, sorted(named))
    stored = [file for file in files if file.sha256 and file.sha256 not in missing]
    rest = [file for file in files if file not in stored]
    fetched = fetch_files(there, cache, version.origin, rest)
    return fetched | {
        file.path: File(file.path, file.sha256 or "", file.size_bytes) for file in stored
    }


def _upload_card(
    http: Transport,
    there: Transport,
    cache: Cache,
    version: RemoteVersion,
    license_id: str,
    name: str,
) -> str:
    """Upload the card of ``version`` with a license. Returns its SHA-256."""
    remote = [file for file in version.files if file.path == README]
    fetched = fetch_files(there, cache, version.origin, remote)
    with local_files(None, "TMPDIR"), TemporaryDirectory(prefix="hpcfair-") as folder:
        text = cache.blob(fetched[README].sha256).read_text("utf-8") if fetched else None
        local = Path(folder) / "card.md"
        card = cards.merge(text, {"license": license_id}, name=name)
        local.write_text(card, "utf-8", newline="")
        return upload(http, {README: local}, what=name)[README]
