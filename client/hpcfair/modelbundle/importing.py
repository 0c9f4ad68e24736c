"""Puts the model of a bundle into a hub, as an import from the hub that it was made from."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hpcfair.cache import Cache
from hpcfair.errors import BadInput
from hpcfair.hubimport import HubVersion, import_version, plan_import
from hpcfair.importrules import ModelImportOptions
from hpcfair.modelbundle.reader import ModelBundle
from hpcfair.modelbundle.source import BundleCache, connection_of
from hpcfair.modelimport import ModelImport
from hpcfair.transport import Transport
from hpcfair.trust.evidence import SCHEMA
from hpcfair.types import Account, File

_STATED = ("hub", "name", "revision", "identifiers", "targets", "builds", "signature", "keys")


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
    model = bundle.manifest["model"]
    files = tuple(File.from_json(file) for file in bundle.manifest["commit"]["files"])
    missing = [file.path for file in files if file.sha256 not in bundle.blobs]
    if missing:
        raise BadInput(
            f"{bundle.path} was made without {', '.join(missing)}.", "Make it with the weights."
        )
    version = HubVersion(
        connection_of(http.config, bundle),
        BundleCache(cache.root),
        files,
        str(model.get("license") or ""),
        model.get("visibility") == "public" and not model.get("gated"),
        _evidence(bundle),
    )
    if name is None:
        account = Account.from_json(http.get("/api/v1/whoami"))
        name = f"{account.name}/{bundle.name.partition('/')[2]}"
    return import_version(http, cache, version, plan_import(http, version, name, options))


def _evidence(bundle: ModelBundle) -> Mapping[str, Any]:
    manifest = bundle.manifest
    return {
        "schema": SCHEMA,
        **{part: manifest[part] for part in _STATED},
        "records": {
            record: {
                "document": bundle.json_of(entry["sha256"]),
                "attestation": entry["attestation"],
            }
            for record, entry in manifest["records"].items()
        },
    }
