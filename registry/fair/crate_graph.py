"""A graph of flat entities, and the entities that stand for agents, licences and software.

Types follow what RO-Crate recommends of them: a ``Person`` can be looked up at ORCID, an
``Organization`` at ROR, a ``SoftwareApplication`` has version and address. Who or what cannot be
looked up keeps its kind in PROV's words, beside schema.org's ``Thing``.

Sources: RO-Crate 1.3, sections "Contextual Entities" and "Provenance"; PROV-O, "Agent".
"""

import hashlib
from collections.abc import Iterable
from typing import Any

from registry.fair.absent import known
from registry.fair.description import Agent, Description, Organization, Software

#: SPDX's term for "nothing is said", which needs to be said where a licence is obligatory.
NO_LICENSE = "http://spdx.org/rdf/terms#noassertion"
_NO_LICENSE_TEXT = "The record names no licence. Ask its authors before you use it."

Entity = dict[str, Any]


class Graph:
    """Entities by ``@id``, in the order of their first mention.

    What is added again is described once: values it lacked and references are joined.
    """

    def __init__(self) -> None:
        self._entities: dict[str, Entity] = {}

    def add(self, identity: str, kind: str | list[str], **values: Any) -> Entity:
        """Add an entity and return the reference to it; absent ``values`` are left out."""
        entity = self._entities.setdefault(identity, {"@id": identity, "@type": kind})
        for key, value in known(**values).items():
            entity[key] = _joined(entity[key], value) if key in entity else value
        return {"@id": identity}

    def entities(self) -> list[Entity]:
        """All of them."""
        return list(self._entities.values())


def compact(values: Iterable[Any]) -> Any:
    """One value as itself, several as a list without repetition, none as ``None``."""
    unique: list[Any] = []
    for value in values:
        if value not in unique:
            unique.append(value)
    return (unique[0] if len(unique) == 1 else unique) or None


def _joined(first: Any, second: Any) -> Any:
    """Both, where they are references; of two texts or numbers the first."""
    both = [*_listed(first), *_listed(second)]
    return compact(both) if all(isinstance(one, dict) for one in both) else first


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def local(prefix: str, *parts: object) -> str:
    """An identity inside this document, the same for the same ``parts``."""
    digest = hashlib.sha256("\0".join(map(str, parts)).encode(errors="surrogatepass"))
    return f"#{prefix}-{digest.hexdigest()[:12]}"


def agent(graph: Graph, one: Agent) -> Entity:
    """A person or an organisation."""
    if one.kind == "organization":
        return organization(graph, Organization(name=one.name, ror=one.ror, url=one.url))
    groups = [(organization(graph, group), group.ror) for group in one.affiliations]
    return graph.add(
        one.orcid or local("person", one.name, one.email, one.url),
        "Person" if one.orcid else ["Thing", "prov:Person"],
        name=one.name,
        url=one.url,
        email=one.email,
        affiliation=compact(entity for entity, ror in groups if ror),
        memberOf=compact(entity for entity, ror in groups if not ror),
        contactPoint=one.email and _contact(graph, one.name, f"mailto:{one.email}", one.email),
    )


def organization(graph: Graph, one: Organization, *, known_as: str | None = None) -> Entity:
    """An organisation.

    Args:
        known_as: Address where it can be reached. With it, it is an ``Organization`` even if it
            is not registered: that of a publisher is obligatory.
    """
    if not one.ror and not known_as:
        identity = one.url or local("organisation", one.name)
        return graph.add(identity, ["Thing", "prov:Organization"], name=one.name, url=one.url)
    identity = one.ror or one.url or local("organisation", one.name)
    address = known_as or one.url or identity
    return graph.add(
        identity,
        "Organization",
        name=one.name,
        url=one.url or address,
        contactPoint=_contact(graph, one.name, local("contact", identity), None, address),
    )


def license_entities(graph: Graph, description: Description) -> Any:
    """References to the licences, or to the entity that says that none is named."""
    license = description.license
    if license is None:
        return graph.add(
            NO_LICENSE, "CreativeWork", name="No licence named", description=_NO_LICENSE_TEXT
        )
    text = f"The files are under {license.expression} (an SPDX licence expression)."
    addresses = license.uris or (f"{description.landing}#licence",)
    return compact(
        graph.add(
            address,
            "CreativeWork",
            name=license.name or (_last_part(address) if license.uris else license.expression),
            description=text,
            url=address,
        )
        for address in addresses
    )


def software(graph: Graph, one: Software) -> Entity:
    """A program. Without version and address it is not one that can be found again."""
    address = _address(one)
    identity = one.purl or local("software", one.name, one.version)
    complete = bool(one.version and address)
    return graph.add(
        identity,
        "SoftwareApplication" if complete else ["Thing", "prov:SoftwareAgent"],
        name=one.name,
        version=one.version,
        softwareVersion=one.version,
        url=address,
    )


def quantity(graph: Graph, scope: str, name: str, value: Any, unit: str | None = None) -> Entity:
    """A named value. ``scope`` tells it from others of the same name."""
    return graph.add(
        local("value", scope, name), "PropertyValue", name=name, value=value, unitText=unit
    )


def _contact(
    graph: Graph, name: str, identity: str, email: str | None, url: str | None = None
) -> Entity:
    return graph.add(identity, "ContactPoint", name=name, email=email, url=url)


def _last_part(address: str) -> str:
    return address.rstrip("/").rpartition("/")[2]


def _address(one: Software) -> str | None:
    # The package URL specification names this index as the one that "pypi" stands for.
    if one.purl and one.purl.startswith("pkg:pypi/"):
        name, _, version = one.purl.removeprefix("pkg:pypi/").partition("@")
        return f"https://pypi.org/project/{name}/{version}".rstrip("/") + "/"
    return one.purl
