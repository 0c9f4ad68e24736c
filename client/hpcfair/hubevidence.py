"""Reads from a hub what it measured and signed of a revision: see :mod:`hpcfair.trust.evidence`."""

from collections.abc import Mapping, Sequence
from typing import Any

from hpcfair.errors import BadInput, HubError, NotFound
from hpcfair.mlmodel import address
from hpcfair.record import record_id
from hpcfair.transport import Transport, pages, quoted
from hpcfair.trust.envelope import unverified
from hpcfair.trust.evidence import SCHEMA
from hpcfair.trust.hubkeys import PATH as KEYS

_TARGET = ("slug", "architecture", "features", "rank")


def read_evidence(
    http: Transport,
    name: str,
    oid: str,
    builds: Sequence[Mapping[str, Any]],
    earlier: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The evidence document of a revision.

    Args:
        builds: The hub's answers on the builds to include.
        earlier: An earlier document of the revision. What it has is not asked for again, unless the
            hub's keys have changed since.
    """
    keys = optional(http, KEYS)
    stored = earlier if earlier and _same_keys(keys, earlier["keys"]) else None
    signed = {each["uuid"]: each for each in stored["builds"]} if stored else {}
    records = dict(stored["records"]) if stored else {}
    ids = dict.fromkeys(str(build["record_id"]) for build in builds)
    return {
        "schema": SCHEMA,
        "hub": http.config.url,
        "name": name,
        "revision": oid,
        "identifiers": _identifiers(http, name, oid),
        "targets": _targets(http, builds),
        "builds": [_attested(http, build, signed.get(build["uuid"])) for build in builds],
        "records": {each: _whole(records.get(each)) or _record(http, each) for each in ids},
        "signature": optional(http, f"/{quoted(name)}/model.sig", revision=oid),
        "keys": keys,
    }


def read_live_builds(http: Transport, name: str, oid: str) -> list[dict[str, Any]]:
    """The hub's answers on the builds of a revision that machines load, and on the defaults that
    they were compared with."""
    builds = http.get(f"{address(name)}/builds", {"revision": oid})["items"]
    return [build for build in builds if build["is_best"] or build["is_baseline"]]


def optional(http: Transport, path: str, **params: str) -> Any:
    """An answer, or ``None`` if the hub has none: it may sign nothing."""
    try:
        return http.get(path, params)
    except HubError as error:
        if isinstance(error, NotFound) or error.code == "signing_unavailable":
            return None
        raise


def _same_keys(one: Any, other: Any) -> bool:
    """Whether two lists of keys say the same; each is signed anew."""
    return bool(one and other) and unverified(one) == unverified(other)


def _whole(entry: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    return entry if entry and entry["attestation"] else None


def _attested(
    http: Transport, build: Mapping[str, Any], earlier: Mapping[str, Any] | None
) -> dict[str, Any]:
    envelope = build.get("attestation") or (earlier or {}).get("attestation")
    path = f"/api/v1/builds/{build['uuid']}/attestation"
    return {**build, "attestation": envelope or optional(http, path)}


def _record(http: Transport, digest: str) -> dict[str, Any]:
    path = f"/api/v1/records/{digest}"
    document = http.get(path)
    if record_id(document) != digest:
        raise BadInput(
            f"The hub's record {digest} does not match its name.",
            "It was changed after it was measured; report this to the hub's operators.",
        )
    return {"document": document, "attestation": optional(http, f"{path}/attestation")}


def _targets(http: Transport, builds: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    slugs = sorted({build["target"] for build in builds})
    answers = [http.get(f"/api/v1/targets/{quoted(slug)}") for slug in slugs]
    return [{key: target[key] for key in _TARGET} for target in answers]


def _identifiers(http: Transport, name: str, oid: str) -> list[Any]:
    """The identifiers of the model and of the revision."""
    items = pages(http, f"{address(name)}/identifiers")
    return [item for item in items if item["revision"] in {None, oid}]
