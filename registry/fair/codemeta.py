"""CodeMeta 3.0 of a model, for catalogues of software. Data sets have none.

CodeMeta describes source code and applications. A model is not source code; it is described as an
application of the category "machine learning model", as in ``CITATION.cff``.

Source: https://w3id.org/codemeta/3.0. Its readers compare the address of the context, so that it is
not inline as in the canonical JSON-LD.
"""

import json
from typing import Any

from registry.fair.description import Description
from registry.fair.iris import iri
from registry.fair.linked.nodes import moment
from registry.fair.names import name_parts
from registry.fair.parts import Agent, Funding, License, Organization
from registry.fair.serialise import drop_empty

MEDIA_TYPE = "application/vnd.codemeta.ld+json"
_CONTEXT = "https://w3id.org/codemeta/3.0"


def render(description: Description) -> bytes:
    """codemeta.json."""
    return json.dumps(document(description), ensure_ascii=False, indent=1).encode() + b"\n"


def document(description: Description) -> dict[str, Any]:
    """The content of codemeta.json."""
    network, license = description.network, description.license
    is_kept = description.status != "withdrawn"
    weight_bytes = network.weight_bytes if network else None
    return {"@context": _CONTEXT, "type": "SoftwareApplication"} | drop_empty(
        id=description.pid,
        name=description.title,
        applicationCategory="Machine learning model",
        applicationSubCategory=description.task,
        description=description.description,
        version=description.version,
        identifier=[description.pid, description.swhid, description.swhid_revision],
        sameAs=iri(description.doi),
        url=iri(description.landing),
        author=[_agent(one) for one in description.creators],
        contributor=[_agent(one) for one in description.contributors],
        maintainer=_agent(description.contact) if description.contact else None,
        publisher=_organization(description.hub.publisher),
        funding=[text for one in description.funding if (text := _award(one))],
        funder=[_organization(one.funder) for one in description.funding],
        license=_licenses(license) if license else None,
        dateCreated=moment(description.created),
        datePublished=moment(description.published),
        dateModified=moment(description.modified),
        keywords=list(description.keywords),
        codeRepository=iri(description.code.url) if description.code else None,
        readme=next((iri(one.url) for one in description.files if one.role == "card"), None)
        if is_kept
        else None,
        downloadUrl=iri(description.crate_url) if description.has_crate else None,
        fileFormat=network.format if network else None,
        fileSize=f"{description.size_bytes} B" if description.files else None,
        memoryRequirements=None if weight_bytes is None else f"{weight_bytes} B",
        isAccessibleForFree=True if description.access == "open access" else None,
        referencePublication=[
            drop_empty(type="ScholarlyArticle", id=iri(one.url), name=one.title)
            for one in description.papers
        ],
    )


def _agent(one: Agent) -> dict[str, Any]:
    name = name_parts(one.name) if one.kind == "person" else None
    return drop_empty(
        type="Person" if one.kind == "person" else "Organization",
        id=iri(one.orcid) or iri(one.ror) or iri(one.url),
        name=one.name,
        givenName=name.given_names if name else None,
        familyName=f"{name.particle} {name.family}".strip() if name and name.given_names else None,
        email=one.email,
        affiliation=[_organization(group) for group in one.affiliations],
    )


def _organization(one: Organization) -> dict[str, Any]:
    return drop_empty(
        type="Organization", id=iri(one.ror) or iri(one.url), name=one.name, url=iri(one.url)
    )


def _award(one: Funding) -> str:
    return "; ".join(part for part in (one.award, one.title) if part)


def _licenses(license: License) -> list[str]:
    """Addresses of the licences; CodeMeta has no word for a licence without one."""
    return [address for one in license.uris if (address := iri(one))]
