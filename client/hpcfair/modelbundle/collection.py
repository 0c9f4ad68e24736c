"""Reads from the hub what a model bundle carries."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from hpcfair import machine
from hpcfair.errors import BadInput, NotFound
from hpcfair.formats import FORMATS
from hpcfair.hubevidence import read_evidence
from hpcfair.mlmodel import address, with_files
from hpcfair.modelbundle.manifest import SCHEMA, url_of
from hpcfair.runtimes import registry
from hpcfair.scenarios import SINGLE_STREAM, Scenario
from hpcfair.targetdefinition import target_definition
from hpcfair.transport import Transport, quoted
from hpcfair.types import File

#: Metadata records that travel along, as the hub spells them.
METADATA = ("jsonld", "datacite-json", "rocrate", "prov-json", "cyclonedx", "cff", "bibtex")
_COMMIT = ("oid", "parent", "message", "author", "created_at", "files")


@dataclass(frozen=True, slots=True)
class BundleOptions:
    """What a bundle is to carry.

    Attributes:
        targets: Of the builds; empty for those of this machine.
        tolerances, scenarios: Of each, the best build.
        weights: Whether the published network and weights are carried.
    """

    targets: Sequence[str] = ()
    tolerances: Sequence[str] = ("exact",)
    scenarios: Sequence[Scenario] = (SINGLE_STREAM,)
    weights: bool = True


@dataclass(slots=True)
class Collection:
    """The parts of a bundle.

    Attributes:
        manifest: Complete.
        files: Blobs of the hub by SHA-256, with their addresses there.
        documents: Other blobs by SHA-256.
    """

    manifest: dict[str, Any]
    files: dict[str, File] = field(default_factory=dict)
    documents: dict[str, bytes] = field(default_factory=dict)

    def add_files(self, files: Iterable[dict[str, Any]]) -> None:
        """Carry files of an answer."""
        for file in map(File.from_json, files):
            self.files.setdefault(file.sha256, file)

    def add_document(self, content: bytes) -> str:
        """Carry a document; returns its SHA-256."""
        digest = hashlib.sha256(content).hexdigest()
        self.documents[digest] = content
        return digest

    def add_json(self, value: Any) -> str:
        """Carry a document in JSON; returns its SHA-256."""
        return self.add_document(json.dumps(value, sort_keys=True, ensure_ascii=False).encode())


def collect(http: Transport, name: str, revision: str | None, options: BundleOptions) -> Collection:
    """Read all parts of a bundle but the contents of files.

    Raises:
        NotFound: there is no such model, revision or target, or the revision cannot be loaded.
        BadInput: without weights, and no build for the targets.
    """
    model = _with_all_files(http, name, http.get(address(name)), "revision")
    rev = revision or model.get("default_branch") or "main"
    commit = http.get(f"{address(name)}/revisions/{quoted(rev)}")
    commit = _with_all_files(http, name, commit, "oid")
    oid = str(commit["oid"])
    network = _plain(http, name, oid)
    builds = _builds(http, name, oid, options)
    if not (builds or options.weights):
        raise BadInput(
            f"{name} has no build for these targets, and you leave out its network.",
            "Nothing could be run. Name other targets, or carry the weights.",
        )
    tests = http.get(f"{address(name)}/tests", {"revision": oid})
    stated = read_evidence(http, name, oid, builds)
    collection = Collection({})
    collection.add_files(_files(commit["files"], builds, tests, network, options))
    manifest = {
        "schema": SCHEMA,
        **{part: value for part, value in stated.items() if part not in {"schema", "records"}},
        "model": model,
        "commit": {key: commit.get(key) for key in _COMMIT},
        "network": network,
        "records": {
            record: {
                "sha256": collection.add_json(entry["document"]),
                "attestation": entry["attestation"],
            }
            for record, entry in stated["records"].items()
        },
        "tests": dict(tests),
        "metadata": list(_metadata(http, collection, name, oid)),
    }
    sizes = {digest: len(content) for digest, content in collection.documents.items()}
    sizes |= {digest: file.size_bytes for digest, file in collection.files.items()}
    manifest["blobs"] = [{"sha256": digest, "size_bytes": size} for digest, size in sizes.items()]
    collection.manifest = _with_own_addresses(manifest)
    return collection


def _with_all_files(http: Transport, name: str, answer: Any, oid: str) -> dict[str, Any]:
    """An answer with all its files; ``oid``: its member with the commit id."""
    return {**with_files(http, name, answer, answer.get(oid)), "files_next": None}


def _files(
    published: Iterable[dict[str, Any]],
    builds: Iterable[dict[str, Any]],
    tests: Any,
    network: Any,
    options: BundleOptions,
) -> Iterator[dict[str, Any]]:
    """The files to carry: small ones first."""
    for one in tests["sets"]:
        yield from one["tensors"]
    for build in builds:
        yield from build["files"]
    heavy = {file["path"] for file in network["files"]}
    for file in published:
        is_heavy = file["path"] in heavy or any(each.matches(file["path"]) for each in FORMATS)
        if options.weights or not is_heavy:
            yield file


def _plain(http: Transport, name: str, oid: str) -> dict[str, Any]:
    """The published network, as a machine without a runtime is offered it."""
    answer = _offer(http, name, oid, machine.describe(), {}, "exact", SINGLE_STREAM)
    return {key: answer[key] for key in ("entry_point", "files", "signature", "model_file")}


def _builds(http: Transport, name: str, oid: str, options: BundleOptions) -> list[dict[str, Any]]:
    """The best build for each target, class and scenario, and the baseline beside it."""
    machines: list[machine.Machine | machine.TargetDefinition] = [
        target_definition(http, slug) for slug in options.targets
    ]
    runtimes = dict.fromkeys(registry.entries(), "0")
    builds: dict[str, dict[str, Any]] = {}
    for here in machines or [machine.describe()]:
        for tolerance in options.tolerances:
            for scenario in options.scenarios:
                answer = _offer(http, name, oid, here, runtimes, tolerance, scenario)
                chosen = answer["build"]
                if chosen is None:
                    continue
                builds[chosen["uuid"]] = {**chosen, "attestation": answer.get("attestation")}
                for other in answer["alternatives"] if options.weights else ():
                    if other["is_baseline"] and other["target"] == chosen["target"]:
                        builds.setdefault(other["uuid"], other)
    return [builds[uuid] for uuid in sorted(builds)]


def _offer(
    http: Transport,
    name: str,
    oid: str,
    here: machine.Machine | machine.TargetDefinition,
    runtimes: dict[str, str],
    tolerance: str,
    scenario: str,
) -> Any:
    body = {
        "revision": oid,
        "tolerance": tolerance,
        **({} if scenario == SINGLE_STREAM else {"scenario": scenario}),
        "machine": {"architecture": here.architecture, "features": list(here.features)},
        "runtimes": runtimes,
    }
    return http.post(f"{address(name)}/resolve", body, idempotent=True)


def _metadata(
    http: Transport, collection: Collection, name: str, oid: str
) -> Iterator[dict[str, Any]]:
    for kind in METADATA:
        path = f"/{quoted(name)}/metadata/{kind}"
        try:
            with http.open("GET", path, params={"revision": oid}) as response:
                content = response.read()
                media_type = response.headers.get("Content-Type", "application/octet-stream")
        except NotFound:
            continue
        digest = collection.add_document(content)
        yield {"format": kind, "media_type": media_type, "sha256": digest}


def _with_own_addresses(value: Any) -> Any:
    """A copy in which the address of every file is that in the bundle."""
    if isinstance(value, dict):
        own = {key: _with_own_addresses(each) for key, each in value.items()}
        if "sha256" in own and "path" in own:
            own["url"] = url_of(own["sha256"])
        return own
    return [_with_own_addresses(each) for each in value] if isinstance(value, list) else value
