"""Puts the model of a bundle into a hub, as an import from the hub that the bundle was made from.

Files go the way of every commit. What the other hub measured and signed is kept word by word in one
file of the revision, :data:`EVIDENCE`; this hub measures for itself.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from hpcfair.cache import Cache
from hpcfair.download import fetch_blobs
from hpcfair.errors import BadInput
from hpcfair.hubprotocol import RemoteFile, RemoteVersion
from hpcfair.importchanges import Changes, require_no_edits, require_same
from hpcfair.localfiles import local_files
from hpcfair.mlmodel import ensure
from hpcfair.modelbundle.reader import ModelBundle
from hpcfair.modelbundle.source import BundleCache, connection_of
from hpcfair.modelimport import (
    ModelImport,
    ModelImportOptions,
    current_model,
    license_of,
    require_room,
    visibility_of,
)
from hpcfair.origin import ModelOrigin
from hpcfair.revision import commit, revision
from hpcfair.transport import Transport
from hpcfair.trust import check as trust
from hpcfair.trust.envelope import can_verify
from hpcfair.types import Account, Build, File, MLModel
from hpcfair.upload import upload

#: Path of what the other hub measured and signed.
EVIDENCE: Final = "hpcfair-evidence.json"
_SCHEMA: Final = "hpcfair.evidence/1"
#: First parts of paths that OpenSSF Model Signing leaves out.
_NOT_SIGNED: Final = frozenset({".git", ".gitattributes", ".github", ".gitignore", "model.sig"})


def import_bundle(
    http: Transport, cache: Cache, path: Path, name: str | None, options: ModelImportOptions
) -> ModelImport:
    """Import the model of a bundle, or update it; see :meth:`hpcfair.Client.import_model`.

    Raises:
        Corrupt: the bundle was changed.
        Untrusted: a signature in it is not valid, or missing although it is required.
        BadInput: the bundle was made without some files of the model.
    """
    bundle = ModelBundle(path)
    connection = connection_of(http.config, bundle)
    files = [File.from_json(file) for file in bundle.manifest["commit"]["files"]]
    _verify(connection, cache, bundle, files)
    account = Account.from_json(http.get("/api/v1/whoami"))
    name = name or f"{account.name}/{bundle.name.partition('/')[2]}"
    origin = ModelOrigin(bundle.hub, bundle.name, bundle.revision)
    current = current_model(http, name)
    require_same(name, current, origin)
    if current and current.origin and current.origin["commit"] == bundle.revision:
        head = revision(http, name, current.default_branch)
        return ModelImport(name, head, origin.url, bundle.revision)
    version = _version(bundle, origin, files)
    visibility = visibility_of(version, current, license_of(version, current, options), options)
    changes = _changes(http, name, current, version)
    if not options.overwrite:
        require_no_edits(name, changes)
    require_room(http, account, name, changes.updated)
    updated = {file.path for file in changes.updated}
    digests = _upload(http, connection, cache, bundle, [f for f in files if f.path in updated])
    if current is None:
        ensure(http, name, visibility=visibility)
    saved = commit(
        http,
        name,
        add=digests,
        delete=changes.deleted,
        message=f"Import {origin.url} at {bundle.revision}",
        branch=current.default_branch if current else "main",
        parent=current.revision if current else None,
        origin={"url": origin.url, "commit": bundle.revision},
    )
    return ModelImport(
        name, saved, origin.url, bundle.revision, tuple(digests), tuple(changes.deleted)
    )


def _verify(http: Transport, cache: Cache, bundle: ModelBundle, files: list[File]) -> None:
    """Refuse a bundle that lacks files, or of which the hub's signatures are not valid."""
    missing = [file.path for file in files if file.sha256 not in bundle.blobs]
    if missing:
        raise BadInput(
            f"{bundle.path} was made without {', '.join(missing)}.", "Make it with the weights."
        )
    required = http.config.signed
    if required or (bundle.manifest["signature"] and can_verify()):
        signed = [file for file in files if file.path.split("/")[0] not in _NOT_SIGNED]
        trust.check_model(
            http, BundleCache(cache.root), bundle.name, bundle.revision, signed, required=required
        )
    for document in bundle.manifest["builds"]:
        build = Build.from_json(document)
        claim = trust.OfferedBuild(
            bundle.name,
            bundle.revision,
            build,
            build.files,
            build.entry_point,
            build.record_id,
        )
        trust.check_build(http, claim, document.get("attestation"), required=required)


def _version(bundle: ModelBundle, origin: ModelOrigin, files: list[File]) -> RemoteVersion:
    model = bundle.manifest["model"]
    return RemoteVersion(
        origin,
        tuple(RemoteFile(file.path, file.size_bytes, "", file.sha256) for file in files),
        str(model.get("license") or ""),
        model.get("visibility") == "public" and not model.get("gated"),
    )


def _changes(
    http: Transport, name: str, current: MLModel | None, version: RemoteVersion
) -> Changes:
    """What differs from the last import, whose files the hub still has."""
    if current is None:
        return Changes(list(version.files))
    head = {file.path: file for file in current.files}
    before: dict[str, File] = {}
    if current.origin:
        imported = revision(http, name, current.origin["revision"])
        before = {file.path: file for file in imported.files}
    updated = [
        file
        for file in version.files
        if not (file.is_same(before.get(file.path)) or file.is_same(head.get(file.path)))
    ]
    paths = {file.path for file in version.files} | {EVIDENCE}
    deleted = sorted((before.keys() & head.keys()) - paths)
    touched = [*(file.path for file in updated), *deleted]
    edited = [
        path
        for path in touched
        if path in head and (path not in before or before[path].sha256 != head[path].sha256)
    ]
    return Changes(updated, deleted, edited if current.origin else [], head)


def _upload(
    http: Transport, connection: Transport, cache: Cache, bundle: ModelBundle, files: list[File]
) -> dict[str, str]:
    """Upload files and the evidence; returns path to SHA-256."""
    with local_files(cache.root, "HPCFAIR_CACHE"):
        fetch_blobs(connection, cache, files, what=bundle.name)
    local = {file.path: cache.blob(file.sha256) for file in files}
    with local_files(None, "TMPDIR"), TemporaryDirectory(prefix="hpcfair-") as folder:
        evidence = Path(folder) / EVIDENCE
        evidence.write_text(json.dumps(_evidence(bundle), indent=1, ensure_ascii=False), "utf-8")
        return upload(http, {**local, EVIDENCE: evidence}, what=bundle.name)


def _evidence(bundle: ModelBundle) -> Mapping[str, Any]:
    """What the other hub stated of the revision, with its signatures and the list of its keys."""
    manifest = bundle.manifest
    parts = ("hub", "name", "revision", "identifiers", "targets", "builds", "signature", "keys")
    return {
        "schema": _SCHEMA,
        **{part: manifest[part] for part in parts},
        "records": {
            record: {
                "document": bundle.json_of(entry["sha256"]),
                "attestation": entry["attestation"],
            }
            for record, entry in manifest["records"].items()
        },
    }
