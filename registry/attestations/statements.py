"""in-toto statements (v1) of builds, benchmark records and the files of a revision.

Sources: https://github.com/in-toto/attestation, ``spec/v1/statement.md``;
https://slsa.dev/spec/v1.0/provenance; OpenSSF Model Signing 1.0.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

STATEMENT = "https://in-toto.io/Statement/v1"
PROVENANCE = "https://slsa.dev/provenance/v1"
_DOCUMENTATION = "https://github.com/hpc-fair/hpcfair/blob/main/docs/trust.md"
#: What the parameters of a build's provenance mean.
BUILD_TYPE = f"{_DOCUMENTATION}#builds"
RECORD = f"{_DOCUMENTATION}#records"
MODEL_SIGNATURE = "https://model_signing/signature/v1.0"
# What the tool leaves out as well: files of git, and the signature itself.
_NOT_SIGNED = (".git", ".gitattributes", ".github", ".gitignore", "model.sig")
BUNDLE_TYPE = "application/vnd.dev.sigstore.bundle.v0.3+json"


@dataclass(frozen=True, slots=True)
class BuildProvenance:
    """What is stated of a build.

    Attributes:
        files: Path to SHA-256.
        network: Path and SHA-256 of the network file it was made from.
        job: UUID of the search; empty if its row was deleted.
        created_at: Time of publication, in ISO 8601.
        execution: Batch and streams of a build for many samples; empty for a single stream.
    """

    hub: str
    uuid: str
    model: str
    revision: str
    network: tuple[str, str]
    target: str
    tolerance: str
    candidate: dict[str, Any]
    runtime: str
    runtime_options: dict[str, Any]
    entry_point: str
    files: Mapping[str, str]
    record_id: str
    job: str
    created_at: str
    toolchain: Mapping[str, str] = field(default_factory=dict)
    execution: Mapping[str, Any] = field(default_factory=dict)


def build_statement(build: BuildProvenance) -> dict[str, Any]:
    """The provenance of a build: its files, and what they were made from with which tools."""
    path, network = build.network
    tools = [
        {"uri": f"pkg:generic/{name}@{version}"}
        for name, version in sorted(build.toolchain.items())
    ]
    definition = {
        "buildType": BUILD_TYPE,
        "externalParameters": {
            "model": build.model,
            "revision": build.revision,
            "target": build.target,
            "tolerance": build.tolerance,
            "candidate": build.candidate,
        },
        "internalParameters": {
            "build": build.uuid,
            "runtime": build.runtime,
            "runtime_options": build.runtime_options,
            **({"execution": dict(build.execution)} if build.execution else {}),
            "entry_point": build.entry_point,
        },
        "resolvedDependencies": [
            {"uri": f"{build.hub}/{build.model}", "digest": {"gitCommit": build.revision}},
            {"name": path, "digest": {"sha256": network}},
            *tools,
        ],
    }
    run = {
        "builder": {"id": build.hub},
        "metadata": {
            **({"invocationId": f"{build.hub}/jobs/{build.job}"} if build.job else {}),
            "finishedOn": build.created_at,
        },
        "byproducts": [
            {
                "name": "record",
                "uri": f"{build.hub}/api/v1/records/{build.record_id}",
                "digest": {"sha256": build.record_id},
            }
        ],
    }
    predicate = {"buildDefinition": definition, "runDetails": run}
    return _statement(build.files, PROVENANCE, predicate)


def record_statement(
    record_id: str, *, hub: str, model: str, revision: str, kind: str, by: str, created_at: str
) -> dict[str, Any]:
    """What the hub knows of a benchmark record.

    Args:
        by: Who measured it: ``hub`` for its workers, ``user`` for a reproduction that a user added.
    """
    predicate = {
        "hub": hub,
        "model": model,
        "revision": revision,
        "kind": kind,
        "measured_by": by,
        "created_at": created_at,
    }
    return _statement({f"{record_id}.json": record_id}, RECORD, predicate)


def model_statement(
    name: str, files: Mapping[str, str], identifiers: Mapping[str, str]
) -> dict[str, Any]:
    """The statement of OpenSSF Model Signing on the files of a revision (path to SHA-256), but for
    those of git.

    Args:
        identifiers: Persistent identifiers, stated as an annotation of the subject: ``model`` for
            all versions together, ``version`` and ``doi`` for this one.
    """
    digest = hashlib.sha256()
    resources = []
    for path in sorted(path for path in files if path.split("/")[0] not in _NOT_SIGNED):
        digest.update(bytes.fromhex(files[path]))
        resources.append({"name": path, "algorithm": "sha256", "digest": files[path]})
    predicate = {
        "serialization": {
            "method": "files",
            "hash_type": "sha256",
            "allow_symlinks": False,
            "ignore_paths": list(_NOT_SIGNED),
        },
        "resources": resources,
    }
    statement = _statement({name: digest.hexdigest()}, MODEL_SIGNATURE, predicate)
    if identifiers:
        statement["subject"][0]["annotations"] = {"identifiers": dict(identifiers)}
    return statement


def bundle(envelope: dict[str, Any], keyid: str) -> dict[str, Any]:
    """A Sigstore bundle of an envelope that a key without certificate signed."""
    return {
        "mediaType": BUNDLE_TYPE,
        "verificationMaterial": {"publicKey": {"hint": keyid}, "tlogEntries": []},
        "dsseEnvelope": envelope,
    }


def _statement(
    subjects: Mapping[str, str], predicate_type: str, predicate: dict[str, Any]
) -> dict[str, Any]:
    return {
        "_type": STATEMENT,
        "subject": [
            {"name": name, "digest": {"sha256": subjects[name]}} for name in sorted(subjects)
        ],
        "predicateType": predicate_type,
        "predicate": predicate,
    }
