"""Loads a model: asks the hub for the best build, fetches its files, opens it."""

import re
import warnings
from dataclasses import dataclass
from functools import partial

from hpcfair.acceptance import EXACT, Acceptance
from hpcfair.cache import Cache
from hpcfair.download import fetch_tree
from hpcfair.errors import MissingPackage, Untrusted
from hpcfair.formats import ONNX_RUNTIME, opener_of
from hpcfair.loaded import Loaded
from hpcfair.paths import safe_join
from hpcfair.record import record
from hpcfair.resolution import PlainModelWarning, Resolution, resolve
from hpcfair.runtimes import registry
from hpcfair.scenarios import SINGLE_STREAM, Scenario
from hpcfair.transport import Transport
from hpcfair.trust import check as trust

_COMMIT = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True, slots=True)
class Guard:
    """Protection against what is loaded: see the arguments of :meth:`hpcfair.Client.load`."""

    verify: bool = False
    signed: bool | None = None
    isolated: bool = False


def load(  # noqa: PLR0913 - each is a decision of its own
    http: Transport,
    cache: Cache,
    name: str,
    *,
    revision: str | None = None,
    target: str | None = "auto",
    acceptance: Acceptance = EXACT,
    scenario: Scenario = SINGLE_STREAM,
    guard: Guard = Guard(),
    place_caller: bool | None = None,
) -> Loaded:
    """Load the best build for this machine; see :meth:`hpcfair.Client.load`."""
    if not registry.installed():
        raise MissingPackage(
            "No runtime is installed.", registry.RUNTIMES[ONNX_RUNTIME.runtime].hint
        )
    resolution = resolve(
        http,
        cache,
        name,
        revision=revision,
        target=target,
        acceptance=acceptance,
        scenario=scenario,
    )
    build = resolution.build
    if build is None and target is not None:
        warnings.warn(
            f"{name}: no build suits this machine, the plain model is used. {resolution.reason}",
            PlainModelWarning,
            stacklevel=4,
        )
    required = http.config.signed if guard.signed is None else guard.signed
    _check_revision(resolution, revision)
    signature = _signature(http, cache, resolution, required=required)
    # A required signature is worth no more than the digests of the files that are opened.
    folder = fetch_tree(http, cache, resolution.files, what=name, verify=guard.verify or required)
    path = safe_join(folder, resolution.entry_point)
    opener = opener_of(path)
    open_build = partial(
        registry.open_isolated if guard.isolated else registry.open,
        build.runtime if build else opener.runtime,
        path,
        build.runtime_options if build else opener.default,
    )
    return Loaded(
        resolution,
        path,
        open_build,
        lambda digest: record(http, cache, digest),
        place_caller=place_caller,
        signed_by=signature,
    )


def _check_revision(resolution: Resolution, revision: str | None) -> None:
    """Refuse another revision than the commit that was asked for."""
    if revision and _COMMIT.fullmatch(revision) and resolution.revision != revision:
        raise Untrusted(
            f"The hub offers revision {resolution.revision[:12]} for {revision[:12]}.",
            "Report this to the hub's operators.",
            code="revision_differs",
        )


def _signature(
    http: Transport, cache: Cache, resolution: Resolution, *, required: bool
) -> trust.ValidSignature | None:
    if resolution.build is None:
        if not required:
            return None
        return trust.check_model(
            http, cache, resolution.name, resolution.revision, resolution.files
        )
    claim = trust.OfferedBuild(
        name=resolution.name,
        revision=resolution.revision,
        build=resolution.build,
        files=resolution.files,
        entry_point=resolution.entry_point,
        record_id=resolution.record_id,
    )
    return trust.check_build(http, claim, resolution.attestation, required=required)
