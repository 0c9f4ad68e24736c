"""A graph of flat entities, and the entities of agents, licences and software.

As RO-Crate recommends, a ``Person`` has an ORCID iD, an ``Organization`` a ROR id, and a
``SoftwareApplication`` a version and an address. Agents without these are a schema.org ``Thing``
with a class of PROV.

Sources: RO-Crate 1.3, sections "Contextual Entities" and "Provenance"; PROV-O, "Agent".
"""

import hashlib
import json
import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote, unquote

from registry.fair.description import Description
from registry.fair.iris import iri
from registry.fair.parts import Agent, Funding, Organization, Software
from registry.fair.serialise import drop_empty

#: SPDX's term for an unknown licence, since RO-Crate requires a licence.
NO_LICENSE = "http://spdx.org/rdf/terms#noassertion"
_NO_LICENSE_TEXT = "The record has no licence. Ask its authors for permission."

_ENCODED = re.compile(r"(?:%[89A-Fa-f][0-9A-Fa-f])+")

Entity = dict[str, Any]


class CrateGraph:
    """Entities by ``@id`` in order of addition; repetitions add values and join references."""

    def __init__(self) -> None:
        self._entities: dict[str, Entity] = {}
        # Values of joined properties by entity and property, so that joining one costs no search.
        self._joined: dict[tuple[str, str], dict[str, Any]] = {}

    def add(self, identity: str, kind: str | list[str], **values: Any) -> Entity:
        """Add an entity and return a reference to it; empty ``values`` are left out."""
        identity = _ENCODED.sub(_letters, identity)
        entity = self._entities.setdefault(identity, {"@id": identity, "@type": kind})
        for key, value in drop_empty(**values).items():
            if key in entity:
                self._join(entity, key, value)
            else:
                entity[key] = value
        return {"@id": identity}

    def entities(self) -> list[Entity]:
        """All entities."""
        return list(self._entities.values())

    def _join(self, entity: Entity, key: str, value: Any) -> None:
        """Add ``value`` to the property if both are references; else the first value stays."""
        place = entity["@id"], key
        joined = self._joined.get(place) or _unique(_listed(entity[key]))
        more = _unique(_listed(value))
        if all(isinstance(one, dict) for one in (*joined.values(), *more.values())):
            self._joined[place] = joined | more
            entity[key] = _shortened(self._joined[place])


def compact(values: Iterable[Any]) -> Any:
    """One value as itself, several as a list without repetition, none as ``None``."""
    return _shortened(_unique(values))


def _unique(values: Iterable[Any]) -> dict[str, Any]:
    """The values in their order without repetitions, by their canonical text.

    Values are texts, numbers and references. Comparing each with all others would take time that
    grows with the square of their number.
    """
    unique: dict[str, Any] = {}
    for value in values:
        unique.setdefault(json.dumps(value, sort_keys=True), value)
    return unique


def _shortened(unique: dict[str, Any]) -> Any:
    values = list(unique.values())
    return (values[0] if len(values) == 1 else values) or None


def _letters(encoded: re.Match[str]) -> str:
    """Decode printable non-ASCII characters, as RO-Crate requires of identifiers."""
    try:
        text = unquote(encoded[0], errors="strict")
    except UnicodeDecodeError:
        return encoded[0]
    return "".join(one if one.isprintable() else quote(one) for one in text)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def local(prefix: str, *parts: object) -> str:
    """An identifier within this document; equal ``parts`` have the same."""
    digest = hashlib.sha256("\0".join(map(str, parts)).encode(errors="surrogatepass"))
    return f"#{prefix}-{digest.hexdigest()[:12]}"


def agent(graph: CrateGraph, one: Agent) -> Entity:
    """A person or an organisation."""
    if one.kind == "organization":
        return organization(graph, Organization(name=one.name, ror=one.ror, url=one.url))
    groups = [(organization(graph, group), group.ror) for group in one.affiliations]
    return graph.add(
        one.orcid or local("person", one.name, one.email, one.url),
        "Person" if one.orcid else ["Thing", "prov:Person"],
        name=one.name,
        url=iri(one.url),
        email=one.email,
        affiliation=compact(entity for entity, ror in groups if ror),
        memberOf=compact(entity for entity, ror in groups if not ror),
        contactPoint=one.email and _contact(graph, one.name, f"mailto:{one.email}", one.email),
    )


def organization(graph: CrateGraph, one: Organization, *, contact_url: str | None = None) -> Entity:
    """An organisation. ``contact_url``, its contact address, makes it an ``Organization`` even
    without a ROR id, as RO-Crate requires of a publisher."""
    page = iri(one.url)
    identity = one.ror or page or local("organisation", one.name)
    if not one.ror and not contact_url:
        return graph.add(identity, ["Thing", "prov:Organization"], name=one.name, url=page)
    address = contact_url or page or identity
    return graph.add(
        identity,
        "Organization",
        name=one.name,
        url=page or address,
        contactPoint=_contact(graph, one.name, local("contact", identity), None, address),
    )


def people(graph: CrateGraph, description: Description) -> dict[str, Any]:
    """Publisher, creators, contributors and funders as properties of the root."""
    hub = description.hub
    contact = description.contact
    return {
        "publisher": organization(graph, hub.publisher, contact_url=hub.url),
        "creator": compact(agent(graph, one) for one in description.creators),
        "contributor": compact(agent(graph, one) for one in description.contributors),
        "maintainer": agent(graph, contact) if contact else None,
        "sourceOrganization": agent(graph, description.owner)
        if description.owner.kind == "organization"
        else None,
        "funding": compact(_grant(graph, one) for one in description.funding),
        "funder": compact(_funders(graph, description, registered=True)),
        "sponsor": compact(_funders(graph, description, registered=False)),
    }


def license_entities(graph: CrateGraph, description: Description) -> Any:
    """References to the licences, or to :data:`NO_LICENSE`."""
    license = description.license
    if license is None:
        return graph.add(
            NO_LICENSE, "CreativeWork", name="No licence", description=_NO_LICENSE_TEXT
        )
    text = f"The files are under {license.expression} (an SPDX licence expression)."
    license_urls = tuple(filter(None, map(iri, license.uris)))
    addresses = license_urls or (f"{description.landing}#licence",)
    return compact(
        graph.add(
            address,
            "CreativeWork",
            name=license.name or (_last_part(address) if license_urls else license.expression),
            description=text,
            url=address,
        )
        for address in addresses
    )


def software(graph: CrateGraph, one: Software) -> Entity:
    """A program; a ``SoftwareApplication`` only with version and address."""
    address = _address(one)
    identity = iri(one.purl) or local("software", one.name, one.version)
    complete = bool(one.version and address)
    return graph.add(
        identity,
        "SoftwareApplication" if complete else ["Thing", "prov:SoftwareAgent"],
        name=one.name,
        version=one.version,
        softwareVersion=one.version,
        url=address,
    )


def quantity(
    graph: CrateGraph, scope: str, name: str, value: Any, unit: str | None = None
) -> Entity:
    """A named value; ``scope`` separates values of the same name."""
    return graph.add(
        local("value", scope, name), "PropertyValue", name=name, value=value, unitText=unit
    )


def _funders(graph: CrateGraph, description: Description, *, registered: bool) -> list[Entity]:
    return [
        organization(graph, one.funder)
        for one in description.funding
        if bool(one.funder.ror) is registered
    ]


def _grant(graph: CrateGraph, one: Funding) -> Entity:
    # In RO-Crate, the funder of a Grant must be an Organization with a ROR id.
    registered = bool(one.funder.ror)
    funder = organization(graph, one.funder)
    return graph.add(
        iri(one.url) or local("grant", one.funder.name, one.award, one.title),
        "Grant" if registered else "Intangible",
        name=one.title or one.award or one.funder.name,
        identifier=one.award,
        url=iri(one.url),
        funder=funder if registered else None,
        sponsor=None if registered else funder,
    )


def _contact(
    graph: CrateGraph, name: str, identity: str, email: str | None, url: str | None = None
) -> Entity:
    return graph.add(identity, "ContactPoint", name=name, email=email, url=url)


def _last_part(address: str) -> str:
    return address.rstrip("/").rpartition("/")[2]


def _address(one: Software) -> str | None:
    # The package URL type "pypi" refers to this index.
    if one.purl and one.purl.startswith("pkg:pypi/"):
        name, _, version = one.purl.removeprefix("pkg:pypi/").partition("@")
        return iri(f"https://pypi.org/project/{name}/{version}".rstrip("/") + "/")
    return iri(one.purl)
