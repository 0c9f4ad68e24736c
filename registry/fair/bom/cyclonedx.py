"""A description as a CycloneDX machine learning bill of materials.

Source: CycloneDX 1.7 (ECMA-424), JSON schema ``bom-1.7.schema.json``. Facts without a field in it
are ``properties`` with names that begin with ``hpcfair:``.
"""

import uuid
from typing import Any

from registry.fair.bom.common import (
    affiliations,
    files_of,
    identifier_comment,
    license_addresses,
    render_json,
    text_of,
    utc,
)
from registry.fair.bom.cyclonedx_card import model_card
from registry.fair.bom.cyclonedx_parts import (
    BomReferences,
    build_component,
    entries_of,
    file_component,
    properties_of,
    reference,
    software_component,
    workflow,
)
from registry.fair.description import Description
from registry.fair.iris import iri
from registry.fair.parts import (
    METADATA_LICENSE,
    Agent,
    DerivationDescription,
    NetworkDescription,
    Organization,
)
from registry.fair.serialise import drop_empty

_SCHEMA = "http://cyclonedx.org/schema/bom-1.7.schema.json"


def render(description: Description) -> bytes:
    """The bill as JSON."""
    return render_json(document(description))


def document(description: Description) -> dict[str, Any]:
    """The bill as plain values.

    The serial number is derived from the version's identifier; the bill's version is the time of
    the last change in seconds since 1970, so that of equal serial numbers the later one counts.
    """
    references = BomReferences(description)
    workflows = [
        workflow(activity, number, references)
        for number, activity in enumerate(description.activities, 1)
    ]
    return drop_empty(
        **{"$schema": _SCHEMA},
        bomFormat="CycloneDX",
        specVersion="1.7",
        serialNumber=f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, description.pid)}",
        version=max(1, int(description.modified.timestamp())),
        metadata=drop_empty(
            timestamp=utc(description.modified),
            manufacturer=_organization(description.hub.publisher),
            component=_model(description, references),
            licenses=[{"license": {"id": "CC0-1.0", "url": METADATA_LICENSE}}],
        ),
        components=_components(description, references),
        dependencies=_dependencies(description, references),
        formulation=[{"workflows": workflows}] if workflows else (),
    )


def _components(description: Description, references: BomReferences) -> list[dict[str, Any]]:
    return [software_component(software, ref) for software, ref in references.software.items()] + [
        build_component(description, build, references.of(build.url))
        for build in description.builds
    ]


def _dependencies(description: Description, references: BomReferences) -> list[dict[str, Any]]:
    return [
        {"ref": references.model},
        *(
            {
                "ref": references.of(build.url),
                "dependsOn": [
                    references.model,
                    *(references.software[one] for one in dict.fromkeys(build.tools)),
                ],
            }
            for build in description.builds
        ),
    ]


def _model(description: Description, references: BomReferences) -> dict[str, Any]:
    return drop_empty(
        **{"bom-ref": references.model},
        type="machine-learning-model",
        supplier=_supplier(description),
        manufacturer=_manufacturer(description.creators),
        authors=[_contact(one) for one in description.creators],
        publisher=description.hub.publisher.name,
        group=description.repository.partition("/")[0],
        name=description.name,
        version=description.version,
        description=description.description,
        licenses=_licenses(description),
        swhid=[description.swhid, description.swhid_revision],
        pedigree=_pedigree(description, references),
        externalReferences=_external(description),
        components=[file_component(file) for file in files_of(description)],
        modelCard=model_card(description),
        properties=_properties(description),
        tags=list(description.keywords),
    )


def _organization(organization: Organization) -> dict[str, Any]:
    addresses = (iri(organization.ror), iri(organization.url))
    return drop_empty(name=organization.name, url=[one for one in addresses if one])


def _contact(agent: Agent) -> dict[str, Any]:
    # The format requires an address in "email"; ORCID iDs are in the model's properties.
    return drop_empty(name=agent.name, email=agent.email if "@" in (agent.email or "") else None)


def _supplier(description: Description) -> dict[str, Any]:
    owner = description.owner
    return _organization(Organization(name=owner.name, ror=owner.ror, url=owner.url)) | drop_empty(
        contact=[_contact(description.contact)] if description.contact else ()
    )


def _manufacturer(creators: tuple[Agent, ...]) -> dict[str, Any]:
    """The one organisation of all creators; empty if there is none or several."""
    groups = [
        {Organization(name=one.name, ror=one.ror, url=one.url)}
        if one.kind == "organization"
        else set(one.affiliations)
        for one in creators
    ]
    shared = set.intersection(*groups) if groups else set()
    return _organization(shared.pop()) if len(shared) == 1 else {}


def _licenses(description: Description) -> list[dict[str, Any]]:
    # Always an expression: ids are limited to the list that the schema was published with.
    license = description.license
    if license is None:
        return []
    details = [
        drop_empty(licenseIdentifier=one, url=iri(address))
        for one, address in license_addresses(description).items()
    ]
    return [
        drop_empty(
            expression=license.expression,
            expressionDetails=details,
            acknowledgement="declared",
            properties=properties_of(licenseName=license.name),
        )
    ]


def _pedigree(description: Description, references: BomReferences) -> dict[str, Any]:
    ancestors = [
        _ancestor(source, f"{references.model}#source-{number}")
        for number, source in enumerate(description.derived_from, 1)
    ]
    return drop_empty(ancestors=ancestors, commits=[{"uid": description.oid}])


def _ancestor(source: DerivationDescription, ref: str) -> dict[str, Any]:
    return drop_empty(
        **{"bom-ref": ref},
        type="machine-learning-model",
        name=source.source,
        version=source.oid,
        externalReferences=reference("website", source.url)
        + reference("other", source.pid, identifier_comment(source.pid)),
        properties=properties_of(relation=source.relation),
    )


def _external(description: Description) -> list[dict[str, str]]:
    license = description.license
    crate = description.crate_url if description.has_crate else None
    pid, concept_pid = description.pid, description.concept_pid
    single = [
        ("website", description.landing, None),
        ("other", pid, identifier_comment(pid, "of this version")),
        ("other", concept_pid, identifier_comment(concept_pid, "of all versions")),
        ("other", description.doi, "DOI of this version"),
        ("distribution", crate, "all files with their metadata, RO-Crate"),
        ("vcs", description.code.url if description.code else None, None),
        ("quality-metrics", description.fair.url if description.fair else None, "FAIR score"),
    ]
    papers = [("documentation", paper.url, paper.title) for paper in description.papers]
    cards = [
        ("model-card", one.content_url, None) for one in description.files if one.role == "card"
    ]
    texts = [("license", address, None) for address in (license.uris if license else ())]
    links = (*single, *papers, *cards, *texts)
    return [one for link in links for one in reference(*link)]


def _properties(description: Description) -> list[dict[str, str]]:
    withdrawal = description.withdrawal
    fair = description.fair
    people = [one for one in description.creators if one.orcid]
    return (
        properties_of(
            title=description.title,
            status=description.status,
            access=description.access,
            created=utc(description.created),
            published=utc(description.published),
            withdrawn=utc(withdrawal.at) if withdrawal else None,
            withdrawnBecause=withdrawal.reason if withdrawal else None,
            useRestrictions=description.use_restrictions,
            library=description.library,
            language=", ".join(description.languages),
            category=", ".join(description.categories),
            files=description.omission,
            fairScore=f"{text_of(fair.points)} of {text_of(fair.of)}" if fair else None,
        )
        + entries_of("orcid", {one.name: one.orcid or "" for one in people})
        + entries_of("affiliation", affiliations(description))
        + [
            one
            for grant in description.funding
            for one in properties_of(funder=grant.funder.name, award=grant.award)
        ]
        + (_network(description.network) if description.network else [])
    )


def _network(network: NetworkDescription) -> list[dict[str, str]]:
    macs, weight_bytes = network.macs, network.weight_bytes
    return (
        properties_of(
            format=network.format,
            graphSha256=network.graph_hash,
            parameters=str(network.parameters),
            macs=None if macs is None else str(macs),
            weightBytes=None if weight_bytes is None else str(weight_bytes),
            precision=network.precision,
        )
        + entries_of("opset", network.opsets)
        + entries_of("operator", network.operators)
    )
