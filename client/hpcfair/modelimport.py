"""Imports a model of another server into a hub, and updates an imported one.

The bytes go from the server into a cache, and from there to the hub: by the client, or by a worker
of the hub. Both ways are verified, and an interrupted import resumes. Files are compared by their
digests before anything is moved.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from hpcfair import card as cards
from hpcfair.cache import Cache
from hpcfair.hubprotocol import RemoteFile, RemoteVersion, fetch_files, pin, read_version
from hpcfair.importchanges import Changes, changes_of, require_no_edits, require_same
from hpcfair.importdestination import HubDestination, ImportCommit, ImportDestination
from hpcfair.importrules import ModelImportOptions, license_of, visibility_of
from hpcfair.localfiles import local_files
from hpcfair.origin import ModelOrigin
from hpcfair.transport import Transport
from hpcfair.types import Account, File, MLModel, Revision

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
class OriginComparison:
    """What an import of the origin's version would do.

    Attributes:
        current: The model on the hub; ``None`` if there is none.
        version: The origin now.
        license: License of the copy.
        visibility: Visibility of a new model; ``None`` is the default of its namespace.
        changes: What differs.
    """

    current: MLModel | None
    version: RemoteVersion
    license: str
    visibility: str | None
    changes: Changes


def import_model(
    http: Transport,
    cache: Cache,
    origin: ModelOrigin,
    name: str | None,
    options: ModelImportOptions,
) -> ModelImport:
    """Copy a model into the hub, or update it; see :meth:`hpcfair.Client.import_model`."""
    if name is None:
        account = Account.from_json(http.get("/api/v1/whoami"))
        name = f"{account.name}/{origin.name.partition('/')[2]}"
    destination = HubDestination(http, name)
    with Transport(http.config.for_server(origin.server)) as there:
        return import_into(destination, there, cache, origin, options)


def import_into(
    destination: ImportDestination,
    there: Transport,
    cache: Cache,
    origin: ModelOrigin,
    options: ModelImportOptions,
) -> ModelImport:
    """Copy a model into a hub, or update it; raises as :meth:`hpcfair.Client.import_model`.

    Args:
        there: Connections to the server of ``origin``.
    """
    current = destination.current()
    plan = compare_origin(destination, current, there, origin, options)
    if isinstance(plan, ModelOrigin):
        head = destination.head(current)
        return ModelImport(destination.name, head, plan.url, str(plan.revision))
    if not options.overwrite:
        require_no_edits(destination.name, plan.changes)
    destination.require_room(plan.changes.updated)
    digests = _move(destination, there, cache, plan)
    at = plan.version.origin
    return commit_import(destination, current, at, digests, plan.changes, plan.visibility)


def commit_import(
    destination: ImportDestination,
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
    name, url, version = destination.name, origin.url, str(origin.revision)
    destination.create(current, visibility)
    if not changed and not changes.deleted:
        return ModelImport(name, destination.head(current), url, version)
    saved = destination.commit(current, ImportCommit(changed, changes.deleted, origin))
    return ModelImport(name, saved, url, version, tuple(changed), tuple(changes.deleted))


def compare_origin(
    destination: ImportDestination,
    current: MLModel | None,
    there: Transport,
    origin: ModelOrigin,
    options: ModelImportOptions,
) -> OriginComparison | ModelOrigin:
    """What an import would do, without bytes; the origin at its commit if ``current`` has that one
    already."""
    pinned = pin(there, origin)
    require_same(destination.name, current, pinned)
    if current and current.origin and current.origin["commit"] == pinned.revision:
        return pinned
    version = read_version(there, pinned)
    license_id = license_of(version, current, options)
    visibility = visibility_of(version, current, license_id, options)
    return OriginComparison(
        current, version, license_id, visibility, changes_of(there, current, version)
    )


def _move(
    destination: ImportDestination, there: Transport, cache: Cache, plan: OriginComparison
) -> dict[str, str]:
    """Move what changed to the hub. Returns path to SHA-256."""
    version = plan.version
    files = _fetch(destination, there, cache, version, plan.changes.updated)
    digests = {path: file.sha256 for path, file in files.items()}
    local = {path: cache.blob(file.sha256) for path, file in files.items() if cache.has(file)}
    destination.keep(local)
    if not version.license and (README in digests or not plan.changes.head.get(README)):
        digests[README] = _keep_card(destination, there, cache, version, plan.license)
    return digests


def _fetch(
    destination: ImportDestination,
    there: Transport,
    cache: Cache,
    version: RemoteVersion,
    files: Sequence[RemoteFile],
) -> dict[str, File]:
    """Path to each of ``files``. Those whose bytes the hub lacks are then in the cache."""
    named = {file.sha256 for file in files if file.sha256}
    missing = destination.missing(sorted(named))
    stored = [file for file in files if file.sha256 and file.sha256 not in missing]
    rest = [file for file in files if file not in stored]
    fetched = fetch_files(there, cache, version.origin, rest, destination.transferring)
    return fetched | {
        file.path: File(file.path, file.sha256 or "", file.size_bytes) for file in stored
    }


def _keep_card(
    destination: ImportDestination,
    there: Transport,
    cache: Cache,
    version: RemoteVersion,
    license_id: str,
) -> str:
    """Give the hub the card of ``version`` with a license. Returns its SHA-256."""
    remote = [file for file in version.files if file.path == README]
    fetched = fetch_files(there, cache, version.origin, remote, destination.transferring)
    with local_files(None, "TMPDIR"), TemporaryDirectory(prefix="hpcfair-") as folder:
        text = cache.blob(fetched[README].sha256).read_text("utf-8") if fetched else None
        local = Path(folder) / "card.md"
        card = cards.merge(text, {"license": license_id}, name=destination.name)
        local.write_text(card, "utf-8", newline="")
        return destination.keep({README: local})[README]
