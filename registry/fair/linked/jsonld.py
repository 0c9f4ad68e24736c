"""The record as JSON-LD: schema.org 30, FAIR4ML 0.1.0, PROV-O, CodeMeta 3.1 and our own terms.

The root node is the version, identified by its persistent identifier; all other nodes are nested in
it, for consumers that read only the first node. Terms of the HPC Ontology are used where schema.org
and FAIR4ML have none.
"""

import json
from typing import Any

from registry.fair.ark import test_property
from registry.fair.description import Description, missing_fields
from registry.fair.iris import iri
from registry.fair.linked.context import ACCESS_RIGHTS, CONTEXT
from registry.fair.linked.model import model, use
from registry.fair.linked.nodes import (
    agent,
    download,
    moment,
    organization,
    property_values,
    ref,
    refs,
)
from registry.fair.linked.provenance import derivations, generated_by, history
from registry.fair.parts import METADATA_LICENSE, Funding, License
from registry.fair.serialise import drop_empty

_STATUS = {"draft": "Draft", "public": "Published", "withdrawn": "Withdrawn"}
# Characters that could end a script element, or a line of one.
_MARKUP = {ord(character): f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}


def render(description: Description) -> bytes:
    """The record as JSON-LD."""
    return _text(document(description)).encode()


def render_line(description: Description) -> bytes:
    """The record as JSON-LD on one line, with its line break, in ASCII: some readers also break
    lines at other separators of Unicode."""
    return (
        json.dumps(document(description), allow_nan=False, separators=(",", ":")).encode() + b"\n"
    )


def embedded(description: Description) -> str:
    """The record as JSON-LD for a ``<script type="application/ld+json">`` element."""
    return _text(document(description)).translate(_MARKUP)


def document(description: Description) -> dict[str, Any]:
    """The record as a JSON-LD structure."""
    return {"@context": CONTEXT} | drop_empty(
        **{
            "@id": description.pid,
            "@type": ["fair4ml:MLModel", "Dataset"]
            if description.kind == "model"
            else ["Dataset", "prov:Entity"],
        },
        **_identity(description),
        **_people(description),
        **_rights(description),
        **_content(description),
        **model(description),
        **use(description),
        **_provenance(description),
    )


def _text(value: dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, indent=1)


def _identity(description: Description) -> dict[str, Any]:
    concept = {
        "@id": description.concept_pid,
        "url": iri(description.concept_landing),
        "dct:hasVersion": refs(description.versions),
    }
    pid, swhids = description.pid, (description.swhid, description.swhid_revision)
    return {
        "identifier": [
            pid,
            description.landing,
            # Another repository may take the name of a deleted one.
            *([description.concept_landing] if description.is_current else []),
            *([description.doi] if description.doi else []),
            *description.alternates,
            *(
                {"@type": "PropertyValue", "propertyID": "SWHID", "value": swhid}
                for swhid in swhids
            ),
            *([{"@type": "PropertyValue"} | marked] if (marked := test_property(pid)) else []),
        ],
        "url": iri(description.landing),
        "sameAs": _same_as(description),
        "name": description.title,
        "dct:title": description.title,
        "alternateName": description.repository,
        "description": description.description,
        "version": description.version,
        "dateCreated": moment(description.created),
        "datePublished": moment(description.published),
        "dateModified": moment(description.modified),
        "creativeWorkStatus": _STATUS[description.status],
        "keywords": list(description.keywords),
        "inLanguage": list(description.languages),
        "dct:isVersionOf": drop_empty(**concept),
        "dct:conformsTo": refs(_shapes(description)),
        "includedInDataCatalog": {
            "@id": f"{description.hub.url}/catalog",
            "@type": "DataCatalog",
            "name": description.hub.name,
            "url": iri(description.hub.url),
        },
    }


def _same_as(description: Description) -> Any:
    addresses = [iri(one) for one in (description.doi, *description.alternates) if one]
    return addresses if len(addresses) > 1 else next(iter(addresses), None)


def _shapes(description: Description) -> tuple[str, ...]:
    hub = description.hub
    core = (hub.core_shape_url,)
    return core if missing_fields(description) else (hub.shape_url, *core)


def _people(description: Description) -> dict[str, Any]:
    # In schema.org, a Role between work and person states the contribution.
    roles = [
        {"@type": "Role", "roleName": list(one.roles), "contributor": agent(one)}
        for one in (*description.creators, *description.contributors)
        if one.roles
    ]
    return {
        "creator": [agent(one) for one in description.creators],
        "contributor": [*(agent(one) for one in description.contributors if not one.roles), *roles],
        "maintainer": agent(description.contact) if description.contact else None,
        "fair4ml:sharedBy": agent(description.owner),
        "publisher": organization(description.hub.publisher),
        "funding": [_grant(one) for one in description.funding],
    }


def _grant(one: Funding) -> dict[str, Any]:
    return drop_empty(
        **{"@id": iri(one.url), "@type": "Grant"},
        identifier=one.award,
        name=one.title,
        url=iri(one.url),
        funder=organization(one.funder),
    )


def _licenses(license: License | None) -> list[Any]:
    """Addresses of the licences, or a named node for a licence that SPDX does not list."""
    if license is None:
        return []
    uris = [address for one in license.uris if (address := iri(one))]
    if len(uris) > 1 or (uris and not license.name):
        return list(uris)
    name = license.name or license.expression
    return [drop_empty(**{"@id": uris[0] if uris else None, "@type": "CreativeWork"}, name=name)]


def _rights(description: Description) -> dict[str, Any]:
    license = description.license
    withdrawal = description.withdrawal
    publisher = description.hub.publisher
    return {
        "license": _licenses(license),
        "hub:licenseExpression": license.expression if license else None,
        "conditionsOfAccess": description.use_restrictions,
        "isAccessibleForFree": True if description.access == "open access" else None,
        "dct:accessRights": {"@id": ACCESS_RIGHTS[description.access]},
        "doc:persistencePolicy": ref(description.hub.policy_url),
        "sdLicense": ref(METADATA_LICENSE),
        "sdPublisher": ref(publisher.ror or publisher.url),
        "prov:invalidatedAtTime": moment(withdrawal.at) if withdrawal else None,
        "hub:withdrawalReason": withdrawal.reason if withdrawal else None,
    }


def _content(description: Description) -> dict[str, Any]:
    size = {"@type": "QuantitativeValue", "value": description.size_bytes, "unitText": "byte"}
    available = [file for file in description.files if file.is_available]
    cards = tuple(file.url for file in available if file.role == "card")
    environments = tuple(file.url for file in available if file.role == "environment")
    return {
        "distribution": [download(file) for file in description.files],
        "encoding": _wholes(description),
        "size": size if description.files else None,
        "codemeta:readme": refs(cards),
        "hub:environment": refs(environments),
        "hub:testTensors": [download(file) for file in description.tests],
        "hub:cardField": property_values(description.unknown),
    }


def _wholes(description: Description) -> Any:
    """The files as a whole: as one archive, and as a list where the record does not list all."""
    wholes = []
    if description.has_crate:
        wholes.append(_whole("RO-Crate", description.crate_url, "application/zip"))
    if description.omission and not description.is_withdrawn:
        files = _whole("List of all files", description.file_list_url, "application/json")
        wholes.append(files | {"description": description.omission})
    return wholes[0] if len(wholes) == 1 else wholes


def _whole(name: str, url: str, media_type: str) -> dict[str, Any]:
    return {
        "@type": "MediaObject",
        "name": name,
        "contentUrl": iri(url),
        "encodingFormat": media_type,
    }


def _provenance(description: Description) -> dict[str, Any]:
    score = description.fair
    measurement = score and drop_empty(
        **{
            "@id": iri(score.url),
            "@type": "dqv:QualityMeasurement",
            "dqv:value": score.points / score.of if score.of else None,
            "hub:points": score.points,
            "hub:pointsAvailable": score.of,
            "dateCreated": moment(score.at),
            "measurementTechnique": score.tool,
        }
    )
    return {
        **derivations(description),
        "prov:wasGeneratedBy": generated_by(description, description.pid),
        **history(description),
        "hub:fairScore": measurement,
    }
