"""Nodes that several linked-data documents share: agents, files, software, named values."""

import hashlib
import json
import math
from datetime import UTC, datetime
from typing import Any

from registry.fair.iris import iri
from registry.fair.parts import Agent, FileDescription, Organization, Software
from registry.fair.serialise import drop_empty


def ref(url: str | None) -> dict[str, str] | None:
    """A reference to a node by its address; ``None`` if ``url`` is not an address."""
    address = iri(url)
    return {"@id": address} if address else None


def refs(urls: tuple[str, ...]) -> list[dict[str, str]]:
    """References to those of ``urls`` that are addresses."""
    return [node for url in urls if (node := ref(url))]


def moment(value: datetime | None) -> str | None:
    """``value`` as ``xsd:dateTime`` in UTC."""
    return value.astimezone(UTC).isoformat() if value else None


def blank(kind: str, value: object) -> str:
    """A blank node label for ``value``, valid within one document; equal values share it."""
    return f"_:{kind}{hashlib.sha256(repr(value).encode()).hexdigest()[:16]}"


def scalar(value: object) -> Any:
    """``value`` as a JSON-LD scalar; lists and objects become their JSON text."""
    if isinstance(value, float) and not math.isfinite(value):
        text = "NaN" if math.isnan(value) else "INF" if value > 0 else "-INF"
        return {"@type": "xsd:double", "@value": text}
    if isinstance(value, dict | list | tuple):
        return json.dumps(value, ensure_ascii=False, sort_keys=True)
    return value


def property_value(name: str | None, value: object, **more: Any) -> dict[str, Any]:
    """``schema:PropertyValue`` with further properties ``more``."""
    return drop_empty(**{"@type": "PropertyValue"}, name=name, value=scalar(value), **more)


def property_values(values: dict[str, Any]) -> list[dict[str, Any]]:
    """One ``schema:PropertyValue`` for each of ``values``, sorted by name."""
    return [property_value(name, values[name]) for name in sorted(values)]


def organization(value: Organization) -> dict[str, Any]:
    """``schema:Organization``, identified by its ROR if it has one."""
    return drop_empty(
        **{"@id": iri(value.ror) or iri(value.url), "@type": "Organization"},
        name=value.name,
        url=iri(value.url),
    )


def agent(value: Agent) -> dict[str, Any]:
    """``schema:Person`` or ``schema:Organization``, identified by ORCID or ROR if known."""
    name = iri(value.orcid) or iri(value.ror) or iri(value.url) or blank("agent", value)
    return drop_empty(
        **{"@id": name, "@type": "Person" if value.kind == "person" else "Organization"},
        name=value.name,
        url=iri(value.url),
        email=value.email,
        affiliation=[organization(one) for one in value.affiliations],
    )


def download(value: FileDescription) -> dict[str, Any]:
    """``schema:DataDownload``; ``contentSize`` is a number of bytes without a unit."""
    return drop_empty(
        **{"@id": iri(value.url), "@type": "DataDownload"},
        name=value.path,
        contentUrl=iri(value.content_url),
        encodingFormat=value.media_type,
        contentSize=str(value.size_bytes),
        sha256=value.sha256,
        **{"hub:fileRole": value.role},
    )


def software(value: Software) -> dict[str, Any]:
    """``schema:SoftwareApplication`` with its package URL as identifier."""
    return drop_empty(
        **{"@id": blank("software", value), "@type": "SoftwareApplication"},
        name=value.name,
        softwareVersion=value.version,
        identifier=value.purl,
    )


def defined_term(name: str, **more: Any) -> dict[str, Any]:
    """``schema:DefinedTerm``."""
    return drop_empty(**{"@type": "DefinedTerm"}, name=name, **more)
