"""Benchmark records: immutable documents of schema ``hpcfair.bench/1``, named by their digest."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from hpcfair.cache import Cache
from hpcfair.digest import sha256_of_json
from hpcfair.errors import BadInput, Corrupt
from hpcfair.paths import is_sha256
from hpcfair.transport import Transport, pages


@dataclass(frozen=True, slots=True)
class Record:
    """A benchmark record with verified digest; the properties are shortcuts into ``document``."""

    id: str
    document: Mapping[str, Any]

    @property
    def mlmodel(self) -> str:
        return str(self.document["identity"]["mlmodel"])

    @property
    def revision(self) -> str:
        return str(self.document["identity"]["revision"])

    @property
    def target(self) -> str:
        return str(self.document["target"]["slug"])

    @property
    def scenario(self) -> str:
        """What a run is: see :mod:`hpcfair.scenarios`."""
        return str(self.document["protocol"]["scenario"])

    @property
    def throughput_per_s(self) -> float:
        """Samples per second of the build."""
        return float(self.document["statistics"]["candidate"]["throughput_per_s"])

    @property
    def generation(self) -> list[Mapping[str, Any]]:
        """How fast a decoder generates: for each ``context``, the tokens of the prompt,
        ``first_token_ns``, ``next_token_ns``, ``tokens_per_s`` and ``runs``; empty for others."""
        return list(self.document.get("generation", ()))

    @property
    def p50_ns(self) -> float:
        return float(self.document["statistics"]["candidate"]["p50_ns"])

    @property
    def comparison(self) -> Mapping[str, Any] | None:
        """``ratio``, ``ratio_low``, ``ratio_high``, ``verdict``...; ``None`` without a
        comparison."""
        return self.document.get("comparison")

    def __repr__(self) -> str:
        compared = self.comparison
        ratio = f", ratio {compared['ratio']:.3f}" if compared else ""
        return f"<Record {self.id[:12]} of {self.mlmodel} on {self.target}{ratio}>"


def record_id(document: Mapping[str, Any]) -> str:
    """The id of a document: the SHA-256 of its canonical JSON without ``record_id``."""
    return sha256_of_json({key: value for key, value in document.items() if key != "record_id"})


def record(http: Transport, cache: Cache, name: str) -> Record:
    """The record of that id, from the cache or the hub.

    Raises:
        BadInput: it is not the id of a record.
        NotFound: it does not exist, or its model is not visible to the account.
        Corrupt: the document does not match its id.
    """
    digest = name.lower()
    if not is_sha256(digest):
        raise BadInput(
            f"{name!r} is not a record's id.",
            "It has 64 hexadecimal digits; `hpcfair bench list` shows those of a model.",
        )
    cached = cache.document(digest)
    if cached is not None and record_id(cached) == digest:
        return Record(digest, cached)
    document = http.get(f"/api/v1/records/{digest}")
    if record_id(document) != digest:
        raise Corrupt(
            f"The hub's record {digest} does not match its name.",
            "It was changed after it was measured; report this to the hub's operators.",
        )
    cache.keep_document(digest, document)
    return Record(digest, document)


def records(
    http: Transport, *, name: str | None = None, target: str | None = None
) -> Iterator[Record]:
    """Records of the hub, newest first."""
    for document in pages(http, "/api/v1/records", {"model": name, "target": target}):
        yield Record(document["record_id"], document)


def publish_record(http: Transport, document: Mapping[str, Any]) -> str:
    """Upload the record of a repeated measurement. Idempotent; returns its id."""
    answer = http.post("/api/v1/records", dict(document), idempotent=True)
    return str(answer["record_id"])
