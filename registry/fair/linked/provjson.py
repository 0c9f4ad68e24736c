"""Provenance of a version as PROV-JSON (W3C member submission of 2013-04-24).

It has the statements of PROV-O in the JSON-LD record: the version, its sources, its activities with
their agents, and its builds.
"""

import json
from typing import Any

from registry.fair.activities import Activity
from registry.fair.ark import TEST_NOTE, is_test
from registry.fair.description import Description
from registry.fair.iris import iri
from registry.fair.linked.context import NAMESPACES
from registry.fair.linked.nodes import moment, scalar
from registry.fair.linked.term import ACTIVITIES, DERIVATIONS
from registry.fair.parts import Agent, DerivationDescription, Software
from registry.fair.serialise import drop_empty

PROFILE = "http://www.w3.org/Submission/2013/SUBM-prov-json-20130424/"
_VOCABULARIES = ("dct", "fair4ml", "hub", "prov", "schema", "xsd")


def render(description: Description) -> bytes:
    """The document as JSON."""
    return json.dumps(document(description), ensure_ascii=False, indent=1).encode() + b"\n"


def document(description: Description) -> dict[str, Any]:
    """The document as plain JSON values."""
    provenance = _Provenance(description.pid)
    _version(provenance, description)
    for one in description.derived_from:
        _derivation(provenance, description, one)
    for build in description.builds:
        provenance.state(
            "entity",
            provenance.name(build.url),
            **{
                "prov:type": _qualified("hub:Build"),
                "hub:targetHardware": build.target,
                "hub:backend": build.backend,
            },
        )
        provenance.relate(
            "wasDerivedFrom",
            generatedEntity=provenance.name(build.url),
            usedEntity=provenance.name(description.pid),
        )
    for activity in description.activities:
        _activity(provenance, activity)
    return provenance.document()


class _Provenance:
    """Statements by kind, with a prefix for each namespace of their identifiers."""

    def __init__(self, subject: str) -> None:
        self._prefix_of = {NAMESPACES[name]: name for name in _VOCABULARIES}
        self._statements: dict[str, dict[str, Any]] = {}
        self._subject = subject

    def name(self, url: str) -> str:
        """The qualified name of an address; all but its last part is the namespace."""
        address = iri(url) or url
        end = max(address.rstrip("/#").rfind(mark) for mark in "/#")
        namespace = address[: (end if end >= 0 else address.find(":")) + 1]
        prefix = self._prefix_of.setdefault(namespace, f"n{len(self._prefix_of)}")
        return f"{prefix}:{address.removeprefix(namespace)}"

    def local(self, kind: str, number: int) -> str:
        """The qualified name of something without an address."""
        return self.name(f"{self._subject}#{kind}-{number}")

    def state(self, kind: str, name: str, **attributes: Any) -> str:
        """Add an element, or attributes to it; empty ones are left out."""
        element = self._statements.setdefault(kind, {}).setdefault(name, {})
        for key, value in drop_empty(**attributes).items():
            element.setdefault(key, value)
        return name

    def relate(self, kind: str, attributes: dict[str, Any] | None = None, **roles: Any) -> None:
        """Add a relation; ``roles`` are attributes of PROV, and absent ones are left out."""
        relations = self._statements.setdefault(kind, {})
        relation = drop_empty(**{f"prov:{role}": value for role, value in roles.items()})
        relation |= attributes or {}
        if relation not in relations.values():
            relations[f"_:{kind}{len(relations) + 1}"] = relation

    def agent(self, one: Agent) -> str:
        """Add a person or an organisation; equal ones are one."""
        kind = "prov:Person" if one.kind == "person" else "prov:Organization"
        address = iri(one.orcid) or iri(one.ror) or iri(one.url)
        attributes = {"prov:type": _qualified(kind), "prov:label": one.name}
        return self._agent(address, attributes, **{"schema:email": one.email})

    def software(self, one: Software) -> str:
        """Add a program; equal ones are one."""
        attributes = {"prov:type": _qualified("prov:SoftwareAgent"), "prov:label": one.name}
        return self._agent(iri(one.purl), attributes, **{"schema:softwareVersion": one.version})

    def _agent(self, address: str | None, attributes: dict[str, Any], **more: Any) -> str:
        attributes |= drop_empty(**more)
        agents = self._statements.setdefault("agent", {})
        if address is None:
            for name, agent in agents.items():
                if agent == attributes:
                    return name
        name = self.name(address) if address else self.local("agent", len(agents) + 1)
        return self.state("agent", name, **attributes)

    def document(self) -> dict[str, Any]:
        """All statements."""
        prefixes = {prefix: namespace for namespace, prefix in self._prefix_of.items()}
        return {"prefix": prefixes} | drop_empty(**self._statements)


def _version(provenance: _Provenance, description: Description) -> None:
    pid, concept = (provenance.name(one) for one in (description.pid, description.concept_pid))
    withdrawal = description.withdrawal
    kind = "fair4ml:MLModel" if description.kind == "model" else "schema:Dataset"
    provenance.state(
        "entity",
        pid,
        **{
            "prov:type": _qualified(kind),
            "prov:label": description.title,
            "schema:version": description.version,
            "dct:created": _time(moment(description.created)),
            "dct:issued": _time(moment(description.published)),
            "dct:modified": _time(moment(description.modified)),
            "schema:url": description.landing,
            "dct:description": TEST_NOTE if is_test(description.pid) else None,
        },
    )
    provenance.state("entity", concept)
    provenance.relate("specializationOf", specificEntity=pid, generalEntity=concept)
    for one in description.creators:
        provenance.relate("wasAttributedTo", entity=pid, agent=provenance.agent(one))
    if withdrawal:
        reason = drop_empty(**{"hub:withdrawalReason": withdrawal.reason})
        provenance.relate("wasInvalidatedBy", reason, entity=pid, time=moment(withdrawal.at))


def _derivation(
    provenance: _Provenance, description: Description, one: DerivationDescription
) -> None:
    number = description.derived_from.index(one) + 1
    address = iri(one.pid) or iri(one.url)
    source = provenance.state(
        "entity",
        provenance.name(address) if address else provenance.local("source", number),
        **{"prov:label": one.source, "schema:version": one.oid, "schema:url": iri(one.url)},
    )
    relation = DERIVATIONS[one.relation]
    provenance.relate(
        "wasDerivedFrom",
        {} if one.relation == "derived" else {"prov:type": _qualified(relation)},
        generatedEntity=provenance.name(description.pid),
        usedEntity=source,
    )


def _activity(provenance: _Provenance, one: Activity) -> None:
    name = provenance.state(
        "activity",
        provenance.name(one.url),
        **{
            "prov:type": _qualified(ACTIVITIES[one.kind]),
            "prov:label": one.title,
            "prov:startTime": moment(one.started),
            "prov:endTime": moment(one.ended),
            "dct:isPartOf": _qualified(provenance.name(one.within)) if one.within else None,
            "hub:targetHardware": one.hardware,
            "hub:seed": one.seed,
            "hub:option": [
                f"{key}={scalar(one.parameters[key])}" for key in sorted(one.parameters)
            ],
        },
    )
    for url in one.used:
        entity = provenance.state("entity", provenance.name(url))
        provenance.relate("used", activity=name, entity=entity)
    for url in one.generated:
        entity = provenance.state("entity", provenance.name(url))
        provenance.relate("wasGeneratedBy", entity=entity, activity=name)
    for url in one.informed_by:
        informant = provenance.name(url)
        provenance.relate("wasInformedBy", informed=name, informant=informant)
    if one.agent:
        provenance.relate("wasAssociatedWith", activity=name, agent=provenance.agent(one.agent))
    for tool in one.tools:
        provenance.relate("wasAssociatedWith", activity=name, agent=provenance.software(tool))


def _qualified(name: str) -> dict[str, str]:
    return {"$": name, "type": "prov:QUALIFIED_NAME"}


def _time(value: str | None) -> dict[str, str] | None:
    return {"$": value, "type": "xsd:dateTime"} if value else None
