"""Model bundles as OCI image layouts, which registries of containers store and copy.

The image is an artifact: its configuration is the manifest of the bundle, each layer a file.
Source: https://github.com/opencontainers/image-spec, ``image-layout.md``, ``manifest.md``,
``annotations.md`` (1.1).
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from hpcfair.bundle import BundleInvalid
from hpcfair.digest import sha256_of_file
from hpcfair.modelbundle.manifest import TYPE, manifest_of, payload_of, titles_of

#: Suffix by which a folder is told from the name of a model.
SUFFIX: Final = ".oci"
ARTIFACT_TYPE: Final = "application/vnd.hpcfair.model.v1"
LAYER_TYPE: Final = "application/vnd.hpcfair.file.v1"
_IMAGE_TYPE: Final = "application/vnd.oci.image.manifest.v1+json"
_INDEX_TYPE: Final = "application/vnd.oci.image.index.v1+json"
_LAYOUT: Final = {"imageLayoutVersion": "1.0.0"}
_PREFIX: Final = "org.opencontainers.image"
_MOST_BYTES: Final = 64 * 2**20


def documents_of(manifest: Mapping[str, Any]) -> dict[str, bytes]:
    """The documents of a layout by their paths; those of other blobs are not among them."""
    payload = payload_of(manifest)
    sizes = {blob["sha256"]: blob["size_bytes"] for blob in manifest["blobs"]}
    layers = [
        _descriptor(LAYER_TYPE, digest, sizes[digest], {f"{_PREFIX}.title": title})
        for title, digest in titles_of(manifest)
        if digest in sizes
    ]
    image = _json(
        {
            "schemaVersion": 2,
            "mediaType": _IMAGE_TYPE,
            "artifactType": ARTIFACT_TYPE,
            "config": _descriptor(TYPE, _digest(payload), len(payload)),
            "layers": layers,
            "annotations": _annotations(manifest),
        }
    )
    name = {f"{_PREFIX}.ref.name": manifest["revision"][:12]}
    entry = _descriptor(_IMAGE_TYPE, _digest(image), len(image), name)
    entry["artifactType"] = ARTIFACT_TYPE
    return {
        "oci-layout": _json(_LAYOUT),
        "index.json": _json({"schemaVersion": 2, "mediaType": _INDEX_TYPE, "manifests": [entry]}),
        _path_of(_digest(image)): image,
        _path_of(_digest(payload)): payload,
    }


def blob_path(folder: Path, sha256: str) -> Path:
    """The file of a blob in a layout."""
    return folder / _path_of(sha256)


def manifest_in(folder: Path) -> dict[str, Any]:
    """The manifest of the bundle in a layout. Raises BundleInvalid, OSError."""
    try:
        (entry,) = json.loads(_read(folder / "index.json"))["manifests"]
        image = json.loads(_read(folder / _path_of(_sha256_in(entry))))
        payload = _read(folder / _path_of(_sha256_in(image["config"])))
    except FileNotFoundError as error:
        raise BundleInvalid("it lacks a document of an OCI image layout") from error
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise BundleInvalid("its index is no index of a model bundle") from error
    manifest = manifest_of(payload)
    try:
        documents = documents_of(manifest)
    except (KeyError, TypeError, AttributeError) as error:
        raise BundleInvalid("the manifest is malformed") from error
    for path, content in documents.items():
        place = folder / path
        if not place.is_file() or place.read_bytes() != content:
            raise BundleInvalid(f"{path} differs from what was written")
    return manifest


def verified_blobs(folder: Path, manifest: Mapping[str, Any]) -> dict[str, int]:
    """Sizes of the blobs in a layout by SHA-256, all of which are hashed. Raises BundleInvalid."""
    sizes = {}
    for blob in manifest["blobs"]:
        digest = blob["sha256"]
        place = blob_path(folder, _sha256_in({"digest": f"sha256:{digest}"}))
        if not place.is_file() or sha256_of_file(place) != digest:
            raise BundleInvalid(f"the bytes of {digest} are damaged", digest)
        sizes[digest] = place.stat().st_size
    return sizes


def _annotations(manifest: Mapping[str, Any]) -> dict[str, str]:
    model, hub = manifest["model"], manifest["hub"]
    pids = [each["url"] for each in manifest["identifiers"] if each["kind"] == "version"]
    values = {
        "title": model.get("title") or manifest["name"],
        "description": model.get("description"),
        "licenses": model.get("license"),
        "revision": manifest["revision"],
        "created": manifest["commit"].get("created_at"),
        "source": f"{hub}/{manifest['name']}",
        "url": next(iter(pids), f"{hub}/{manifest['name']}"),
    }
    return {f"{_PREFIX}.{key}": str(value) for key, value in values.items() if value}


def _descriptor(
    media_type: str, sha256: str, size: int, annotations: Mapping[str, str] | None = None
) -> dict[str, Any]:
    descriptor = {"mediaType": media_type, "digest": f"sha256:{sha256}", "size": size}
    return {**descriptor, "annotations": dict(annotations)} if annotations else descriptor


def _path_of(sha256: str) -> str:
    return f"blobs/sha256/{sha256}"


def _sha256_in(descriptor: Mapping[str, Any]) -> str:
    """The digest in a descriptor. Raises ValueError for others, which must not become paths."""
    scheme, _, digest = str(descriptor["digest"]).partition(":")
    if scheme != "sha256" or len(digest) != 64 or set(digest) - set("0123456789abcdef"):
        raise ValueError(f"{digest!r} is no SHA-256 digest")
    return digest


def _read(path: Path) -> bytes:
    with path.open("rb") as file:
        content = file.read(_MOST_BYTES + 1)
    if len(content) > _MOST_BYTES:
        raise ValueError(f"{path.name} is larger than {_MOST_BYTES} bytes")
    return content


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _json(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode()
