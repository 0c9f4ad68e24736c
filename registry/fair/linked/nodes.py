"""Nodes that several documents of linked data share: people, organisations, named values."""

import hashlib
import json
import math
from datetime import UTC, datetime
from typing import Any

from registry.fair.absent import known
from registry.fair.iris import iri
from registry.fair.parts import Agent, FileDescription, Organization, Software


def ref(url: str | None) -> dict[str, str] | None:
    """A link to what has a name elsewhere; ``None`` where ``url`` is no address."""
    address = iri(url)
    return {"@id": address} if address else None


def refs(urls: tuple[str, ...]) -> list[dict[str, str]]:
    """Links to those of ``urls`` that are addresses."""
    return [found for url in urls if (found := ref(url))]


def moment(value: datetime | None) -> str | None:
    """``xsd:dateTime`` in UTC, to the second or finer."""
    return value.astimezone(UTC).isoformat() if value else None


def blank(kind: str, value: object) -> str:
    """A label, valid within one document, for ``value`` that has no address.

    Equal values get the same one, so that a document can speak of them twice.
    """
    return f"_:{kind}{hashlib.sha256(repr(value).encode()).hexdigest()[:16]}"


def scalar(value: object) -> Any:
    """``value`` as JSON-LD: what it cannot hold as such becomes its JSON text."""
    if isinstance(value, float) and not math.isfinite(value):
        text = "NaN" if math.isnan(value) else "INF" if value > 0 else "-INF"
        return {"@type": "xsd:double", "@value": text}
    if isinstance(value, dict | list | tuple):
        return json.dumps(value, ensure_ascii=False, sort_keys=True)
    return value


def property_value(name: str | None, value: object, **more: Any) -> dict[str, Any]:
    """``schema:PropertyValue``; ``more`` are further properties of it."""
    return known(**{"@type": "PropertyValue"}, name=name, value=scalar(value), **more)


def property_values(values: dict[str, Any]) -> list[dict[str, Any]]:
    """One ``schema:PropertyValue`` for each of ``values``, in the order of their names."""
    return [property_value(name, values[name]) for name in sorted(values)]


def organization(value: Organization) -> dict[str, Any]:
    """``schema:Organization``, named by its ROR where it has one."""
    return known(
        **{"@id": iri(value.ror) or iri(value.url), "@type": "Organization"},
        name=value.name,
        url=iri(value.url),
    )


def agent(value: Agent) -> dict[str, Any]:
    """``schema:Person`` or ``schema:Organization``, named by ORCID or ROR where there is one."""
    name = iri(value.orcid) or iri(value.ror) or iri(value.url) or blank("agent", value)
    return known(
        **{"@id": name, "@type": "Person" if value.kind == "person" else "Organization"},
        name=value.name,
        url=iri(value.url),
        email=value.email,
        affiliation=[organization(one) for one in value.affiliations],
    )


def download(value: FileDescription) -> dict[str, Any]:
    """``schema:DataDownload``; ``contentSize`` is in bytes, digits alone."""
    return known(
        **{"@id": iri(value.url), "@type": "DataDownload"},
        name=value.path,
        contentUrl=iri(value.url),
        encodingFormat=value.media_type,
        contentSize=str(value.size_bytes),
        sha256=value.sha256,
        **{"hub:fileRole": value.role},
    )


def software(value: Software) -> dict[str, Any]:
    """``schema:SoftwareApplication`` with its package URL as identifier."""
    return known(
        **{"@id": blank("software", value), "@type": "SoftwareApplication"},
        name=value.name,
        softwareVersion=value.version,
        identifier=value.purl,
    )


def defined_term(name: str, **more: Any) -> dict[str, Any]:
    """``schema:DefinedTerm``."""
    return known(**{"@type": "DefinedTerm"}, name=name, **more)
