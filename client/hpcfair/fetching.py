"""Downloads and verifies the files that an answer of the hub names."""

from pathlib import Path

from hpcfair.cache import Cache
from hpcfair.download import fetch_tree
from hpcfair.fetchedmodel import FetchedModel, Guard
from hpcfair.paths import safe_join
from hpcfair.resolution import Resolution
from hpcfair.transport import Transport
from hpcfair.trust import check as trust
from hpcfair.trust.statements import OfferedBuild


def fetch_files(
    http: Transport, cache: Cache, resolution: Resolution, guard: Guard
) -> FetchedModel:
    """Download and verify the files of an answer of the hub."""
    required = guard.requires_signature(http)
    signature = _signature(http, cache, resolution, required=required)
    # A required signature is worth no more than the digests of the files that are opened.
    verify, name = guard.verify or required, resolution.name
    folder = fetch_tree(http, cache, resolution.files, what=name, verify=verify)
    return FetchedModel(resolution, safe_join(folder, resolution.entry_point), signature)


def companion_folder(
    http: Transport, cache: Cache, model: FetchedModel, guard: Guard
) -> Path | None:
    """The folder with the verified companions of a model; ``None`` if it has none."""
    published = model.resolution
    files = published.companions
    if not files:
        return None
    required = guard.requires_signature(http)
    if required:
        trust.check_model(http, cache, published.name, published.revision, files)
    return fetch_tree(http, cache, files, what=published.name, verify=guard.verify or required)


def _signature(
    http: Transport, cache: Cache, resolution: Resolution, *, required: bool
) -> trust.ValidSignature | None:
    if resolution.build is None:
        if not required:
            return None
        return trust.check_model(
            http, cache, resolution.name, resolution.revision, resolution.files
        )
    claim = OfferedBuild(
        name=resolution.name,
        revision=resolution.revision,
        build=resolution.build,
        files=resolution.files,
        entry_point=resolution.entry_point,
        record_id=resolution.record_id,
    )
    return trust.check_build(
        http,
        claim,
        resolution.attestation,
        required=required,
        is_cached=resolution.cached_since is not None,
    )
