"""Evidence of another hub: what it measured and signed of a revision that was imported from it.

A document of the schema ``hpcfair.evidence/1``::

    {"schema", "hub", "name", "revision",
     "identifiers": its answers on the persistent identifiers
     "targets":     [{"slug", "architecture", "features", "rank"}]
     "builds":      its answers on the builds, each with "attestation"
     "records":     {<id>: {"document", "attestation"}}
     "signature":   model.sig of the revision; null without one
     "keys":        signed list of its keys; null without one}

Signatures are verified with that list. Whom it belongs to is decided by a key that the reader
trusts: see :func:`is_trusted`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from hpcfair.digest import sha256_of_json
from hpcfair.errors import Corrupt, Untrusted
from hpcfair.trust.envelope import IN_TOTO, invalid, open_envelope
from hpcfair.trust.keylist import KeyList, follow, read_list
from hpcfair.trust.statements import (
    OfferedBuild,
    confirm_build,
    confirm_record,
    identifiers_in,
    is_signed,
    resources_in,
)
from hpcfair.types import Build

SCHEMA: Final = "hpcfair.evidence/1"


@dataclass(frozen=True, slots=True)
class ForeignBuild:
    """A build of another hub.

    Attributes:
        keyid: Of the key that signed it; empty if none did.
        p50_ns, ratio: From its record, which the signature of the build names.
    """

    build: Build
    keyid: str
    p50_ns: float
    ratio: float | None


@dataclass(frozen=True, slots=True)
class HubEvidence:
    """Evidence whose signatures are valid, by keys that belong together.

    Attributes:
        hub, name, revision: The revision at the other hub.
        builds: In the order of the document.
        signed_by: Id of the key that signed the files of the revision; empty if none did.
        identifiers: As signed with the files: ``model``, ``version``, ``doi``.
    """

    hub: str
    name: str
    revision: str
    builds: tuple[ForeignBuild, ...]
    signed_by: str
    identifiers: Mapping[str, str]
    resources: Mapping[str, str]

    @property
    def url(self) -> str:
        """Address of the model's page at the other hub."""
        return f"{self.hub}/{self.name}"

    def covers(self, files: Mapping[str, str]) -> bool:
        """Whether these files (path to SHA-256) are those that the other hub signed, no more and no
        fewer."""
        signed = {path: digest for path, digest in files.items() if is_signed(path)}
        return bool(self.signed_by) and self.resources == signed


def open_evidence(document: Any) -> HubEvidence:
    """The evidence in a document.

    Raises:
        Untrusted: it is malformed, or a signature in it is not valid.
        Corrupt: a record differs from its id.
        MissingPackage: it has signatures, and ``cryptography`` is not installed.
    """
    try:
        return _open(document)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise invalid("the evidence is malformed") from error


def is_trusted(document: Mapping[str, Any], keyid: str) -> bool:
    """Whether the keys of an evidence document follow from the trusted key ``keyid``. The document
    is one that :func:`open_evidence` has accepted."""
    keys = read_list(document["keys"]) if document["keys"] else None
    pem = keys.public.get(keyid) if keys else None
    if keys is None or pem is None:
        return False
    try:
        follow(keys, keyid, pem, hub=str(document["hub"]))
    except Untrusted:
        return False
    return True


def _open(document: Any) -> HubEvidence:
    if document["schema"] != SCHEMA:
        raise invalid("the evidence is of another schema")
    hub, name, revision = (str(document[part]) for part in ("hub", "name", "revision"))
    keys = read_list(document["keys"]) if document["keys"] else None
    for record, entry in document["records"].items():
        content = {key: value for key, value in entry["document"].items() if key != "record_id"}
        if sha256_of_json(content) != record:
            raise Corrupt(f"The record {record} of {hub} differs from its id.", "")
        if entry["attestation"]:
            confirm_record(_signed(entry["attestation"], keys)[0], record)
    builds = [_build(each, document, keys) for each in document["builds"]]
    signature: Any = document["signature"] or {}
    envelope = signature.get("dsseEnvelope")
    statement, signed_by = _signed(envelope, keys) if envelope else (None, "")
    return HubEvidence(
        hub,
        name,
        revision,
        tuple(builds),
        signed_by,
        identifiers_in(statement),
        resources_in(statement, name, revision) if statement else {},
    )


def _build(answer: Any, document: Any, keys: KeyList | None) -> ForeignBuild:
    build = Build.from_json(answer)
    record = document["records"][build.record_id]["document"]
    compared = record.get("comparison")
    if not isinstance(build.candidate["options"], dict):
        raise invalid("the options of a build are malformed")
    keyid = ""
    if answer["attestation"]:
        statement, keyid = _signed(answer["attestation"], keys)
        claim = OfferedBuild(
            document["name"],
            document["revision"],
            build,
            build.files,
            build.entry_point,
            build.record_id,
        )
        confirm_build(statement, claim)
    p50_ns = float(record["statistics"]["candidate"]["p50_ns"])
    return ForeignBuild(build, keyid, p50_ns, float(compared["ratio"]) if compared else None)


def _signed(envelope: Any, keys: KeyList | None) -> tuple[Any, str]:
    return open_envelope(envelope, IN_TOTO, keys.public if keys else {})
