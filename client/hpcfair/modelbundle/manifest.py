"""The manifest of a model bundle and its envelope.

A model bundle is a file of :mod:`hpcfair.bundle`. Its envelope is no signature, because users have
no keys: it protects against damage. What the hub signed is inside, and is verified when a build is
loaded.

::

    envelope: {"payloadType": ..., "payload": <base64 of the manifest>, "sha256": <of the manifest>}
    manifest: {"schema": "hpcfair.model-bundle/1",
               "hub", "name", "revision",
               "model":       the hub's answer on the model
               "commit":      the hub's answer on the revision, with all its files
               "network":     {"entry_point", "files", "signature", "model_file"}
               "targets":     [{"slug", "architecture", "features", "rank"}]
               "builds":      the hub's answers on the builds, each with "attestation"
               "records":     {<id>: {"sha256", "attestation"}}
               "tests":       the hub's answer on the test tensors
               "identifiers": the hub's answers on the persistent identifiers
               "metadata":    [{"format", "media_type", "sha256"}]
               "signature":   model.sig of the revision; null without one
               "keys":        signed list of the hub's keys; null without one
               "blobs":       [{"sha256", "size_bytes"}]}

The ``url`` of each file is ``/blobs/<SHA-256>``. Files of the revision may be left out of
``blobs``.
"""

import base64
import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from hpcfair.bundle import BundleInvalid

TYPE: Final = "application/vnd.hpcfair.model-bundle+json"
SCHEMA: Final = "hpcfair.model-bundle/1"
#: Suffix by which a bundle is told from the name of a model.
SUFFIX: Final = ".hpcfair"
_PARTS: Final[dict[str, type | tuple[type, ...]]] = {
    "hub": str,
    "name": str,
    "revision": str,
    "model": dict,
    "commit": dict,
    "network": dict,
    "targets": list,
    "builds": list,
    "records": dict,
    "tests": dict,
    "identifiers": list,
    "metadata": list,
    "signature": (dict, type(None)),
    "keys": (dict, type(None)),
    "blobs": list,
}


def payload_of(manifest: Mapping[str, Any]) -> bytes:
    """The manifest as bytes; equal manifests have equal bytes."""
    text = json.dumps(manifest, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return text.encode()


def envelope_of(manifest: Mapping[str, Any]) -> dict[str, str]:
    """The envelope of a manifest."""
    return _envelope(payload_of(manifest))


def manifest_in(envelope: Any) -> dict[str, Any]:
    """The manifest in an envelope. Raises BundleInvalid if it is damaged or of another kind."""
    if not isinstance(envelope, dict) or envelope.get("payloadType") != TYPE:
        raise BundleInvalid("it is no model bundle")
    try:
        payload = base64.b64decode(envelope["payload"], validate=True)
    except (KeyError, TypeError, ValueError) as error:
        raise BundleInvalid("the manifest is damaged") from error
    # Different texts in base64 may stand for the same bytes.
    if envelope != _envelope(payload):
        raise BundleInvalid("the manifest is damaged")
    return manifest_of(payload)


def manifest_of(payload: bytes) -> dict[str, Any]:
    """The manifest that bytes state. Raises BundleInvalid if it lacks a part."""
    try:
        manifest = json.loads(payload)
    except (ValueError, RecursionError) as error:
        raise BundleInvalid("the manifest is not JSON") from error
    if not isinstance(manifest, dict) or manifest.get("schema") != SCHEMA:
        raise BundleInvalid(f"the manifest is not of the schema {SCHEMA}")
    for name, kind in _PARTS.items():
        if not isinstance(manifest.get(name, ...), kind):
            raise BundleInvalid(f"the manifest has no valid {name!r}")
    return manifest


def _envelope(payload: bytes) -> dict[str, str]:
    return {
        "payloadType": TYPE,
        "payload": base64.b64encode(payload).decode(),
        "sha256": hashlib.sha256(payload).hexdigest(),
    }


def url_of(sha256: str) -> str:
    """Address of a blob in the answers of a bundle."""
    return f"/blobs/{sha256}"


def titles_of(manifest: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """A path for everything that a bundle may carry, with the SHA-256 of the blob."""
    for record, entry in manifest["records"].items():
        yield f"records/{record}.json", entry["sha256"]
    for document in manifest["metadata"]:
        yield f"metadata/{document['format']}", document["sha256"]
    for one in manifest["tests"].get("sets") or ():
        for tensor in one["tensors"]:
            yield f"tests/{tensor['path']}", tensor["sha256"]
    for build in manifest["builds"]:
        for file in build["files"]:
            yield f"builds/{build['uuid']}/{file['path']}", file["sha256"]
    for file in manifest["commit"]["files"]:
        yield f"files/{file['path']}", file["sha256"]
