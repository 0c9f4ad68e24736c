"""Imports a model of another hub with what that hub measured and signed of it.

The other hub answers over the network or from a model bundle. Files go the way of every commit, and
their revision gets the evidence: see :mod:`hpcfair.trust.evidence`. This hub measures for itself.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hpcfair.cache import Cache
from hpcfair.download import fetch_blobs
from hpcfair.hubevidence import optional
from hpcfair.hubprotocol import RemoteFile, RemoteVersion
from hpcfair.importchanges import Changes, require_no_edits, require_same
from hpcfair.importdestination import HubDestination, current_model
from hpcfair.importrules import ModelImportOptions, license_of, visibility_of
from hpcfair.localfiles import local_files
from hpcfair.mlmodel import address
from hpcfair.modelimport import ModelImport, commit_import
from hpcfair.origin import ModelOrigin
from hpcfair.revision import revision
from hpcfair.transport import Transport
from hpcfair.trust import check as trust
from hpcfair.trust.envelope import can_verify, unverified
from hpcfair.trust.statements import OfferedBuild, is_signed
from hpcfair.types import Build, File, MLModel
from hpcfair.upload import missing_blobs, upload


@dataclass(frozen=True, slots=True)
class HubVersion:
    """A revision of a model at another hub.

    Attributes:
        http, cache: Where its files and signatures are read.
        files: All of them.
        license: Empty if the card states none.
        is_open: Whether everybody may fetch it there: neither private nor gated.
        evidence: See :mod:`hpcfair.trust.evidence`.
    """

    http: Transport
    cache: Cache
    files: tuple[File, ...]
    license: str
    is_open: bool
    evidence: Mapping[str, Any]

    @property
    def origin(self) -> ModelOrigin:
        """Its hub, name and commit id."""
        stated = self.evidence
        return ModelOrigin(stated["hub"], stated["name"], stated["revision"])


@dataclass(frozen=True, slots=True)
class ImportPlan:
    """What an import of a version will do.

    Attributes:
        current: The model on this hub; ``None`` if it is new.
        visibility: Of a new model; ``None`` is the default of its namespace.
        changes: ``None`` if the hub has this version already.
    """

    name: str
    current: MLModel | None
    visibility: str | None
    changes: Changes | None = None

    @property
    def imported(self) -> str:
        """Commit id of the last import on this hub; empty before the first."""
        origin = self.current.origin if self.current else None
        return origin["revision"] if origin else ""


def plan_import(
    http: Transport, version: HubVersion, name: str, options: ModelImportOptions
) -> ImportPlan:
    """Compare a version with the hub, and verify its signatures, before anything is moved.

    Raises:
        Untrusted: a signature is not valid, or missing although it is required.
        Conflict, LicenseMissing, Forbidden, BadInput: as :meth:`hpcfair.Client.import_model`.
    """
    _verify(version)
    current = current_model(http, name)
    origin = version.origin
    require_same(name, current, origin)
    if current and current.origin and current.origin["commit"] == origin.revision:
        return ImportPlan(name, current, None)
    files = (RemoteFile(file.path, file.size_bytes, "", file.sha256) for file in version.files)
    remote = RemoteVersion(origin, tuple(files), version.license, version.is_open)
    visibility = visibility_of(remote, current, license_of(remote, current, options), options)
    changes = _changes(http, name, current, remote)
    if not options.overwrite:
        require_no_edits(name, changes)
    HubDestination(http, name).require_room(changes.updated)
    return ImportPlan(name, current, visibility, changes)


def import_version(
    http: Transport, cache: Cache, version: HubVersion, plan: ImportPlan
) -> ModelImport:
    """Carry out a plan: move the files that changed, commit them, and store the evidence."""
    origin, name = version.origin, plan.name
    if plan.changes is None:
        branch = plan.current.default_branch if plan.current else "main"
        head = revision(http, name, branch)
        is_new = _put_evidence(http, name, plan.imported, version.evidence)
        return ModelImport(name, head, origin.url, str(origin.revision), evidence=is_new)
    digests = _move(http, cache, version, plan.changes)
    here = HubDestination(http, name)
    done = commit_import(here, plan.current, origin, digests, plan.changes, plan.visibility)
    if done.changed or done.deleted:
        _put_evidence(http, name, done.revision.oid, version.evidence)
    return done


def read_stored_evidence(http: Transport, name: str, oid: str) -> Mapping[str, Any] | None:
    """The hub's answer on the evidence of an imported revision; ``None`` without one."""
    answer: Mapping[str, Any] | None = optional(http, f"{address(name)}/evidence", revision=oid)
    return answer


def is_news(http: Transport, name: str, oid: str, document: Mapping[str, Any]) -> bool:
    """Whether an evidence document says something that the one on the hub does not."""
    stored = read_stored_evidence(http, name, oid)
    return stored is None or _statements(stored["document"]) != _statements(document)


def _verify(version: HubVersion) -> None:
    """Refuse a version of which the other hub's signatures are not valid."""
    http, evidence = version.http, version.evidence
    name, oid = evidence["name"], evidence["revision"]
    required = http.config.signed
    if required or (evidence["signature"] and can_verify()):
        signed = [file for file in version.files if is_signed(file.path)]
        trust.check_model(http, version.cache, name, oid, signed, required=required)
    for document in evidence["builds"]:
        build = Build.from_json(document)
        claim = OfferedBuild(name, oid, build, build.files, build.entry_point, build.record_id)
        trust.check_build(http, claim, document.get("attestation"), required=required)


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
    paths = {file.path for file in version.files}
    deleted = sorted((before.keys() & head.keys()) - paths)
    touched = [*(file.path for file in updated), *deleted]
    edited = [
        path
        for path in touched
        if path in head and (path not in before or before[path].sha256 != head[path].sha256)
    ]
    return Changes(updated, deleted, edited if current.origin else [], head)


def _move(http: Transport, cache: Cache, version: HubVersion, changes: Changes) -> dict[str, str]:
    """Path to SHA-256 of the changed files. Only bytes that the hub lacks are moved."""
    paths = {file.path for file in changes.updated}
    files = [file for file in version.files if file.path in paths]
    missing = missing_blobs(http, sorted({file.sha256 for file in files}))
    moved = [file for file in files if file.sha256 in missing]
    with local_files(cache.root, "HPCFAIR_CACHE"):
        fetch_blobs(version.http, cache, moved, what=version.origin.name)
    upload(http, {file.path: cache.blob(file.sha256) for file in moved}, what=version.origin.name)
    return {file.path: file.sha256 for file in files}


def _put_evidence(http: Transport, name: str, oid: str, document: Mapping[str, Any]) -> bool:
    """Store the evidence of a revision; returns whether it says something new."""
    if not is_news(http, name, oid, document):
        return False
    path = f"{address(name)}/evidence"
    http.json("PUT", path, params={"revision": oid}, body={"document": document})
    return True


def _statements(document: Mapping[str, Any]) -> Any:
    """What a document says. Lists of keys and ``model.sig`` are signed anew with each answer."""
    builds = {build["uuid"]: bool(build["attestation"]) for build in document["builds"]}
    signature, keys = document["signature"], document["keys"]
    return (
        builds,
        {item["ark"]: item["doi"] for item in document["identifiers"]},
        unverified(signature["dsseEnvelope"]) if signature else None,
        unverified(keys) if keys else None,
    )
