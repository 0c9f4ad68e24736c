"""DataCite Metadata Schema 4.7 (2026-03-31), as JSON of DataCite's REST API and XML of kernel 4."""

import json
import re
from datetime import datetime
from typing import Any

from registry.fair.ark import TEST_NOTE, is_test
from registry.fair.datacite.people import contributors_of, creators_of, ror_of
from registry.fair.datacite.relations import related
from registry.fair.datacite.xml import tree
from registry.fair.description import Description
from registry.fair.iris import identifier_of, iri
from registry.fair.linked.context import ACCESS_RIGHTS, COAR
from registry.fair.parts import License
from registry.fair.serialise import drop_empty
from registry.fair.xmltree import render

SPDX_LICENSES = "https://spdx.org/licenses/"
_TYPES = {"model": "Model", "dataset": "Dataset"}
#: Language tags (RFC 5646) that XML Schema's xs:language accepts.
_LANGUAGE = re.compile(r"[A-Za-z]{1,8}(-[A-Za-z0-9]{1,8})*")


def render_json(description: Description) -> bytes:
    """``application/vnd.datacite.datacite+json``."""
    return json.dumps(document(description), ensure_ascii=False, indent=2).encode() + b"\n"


def render_xml(description: Description) -> bytes:
    """``application/vnd.datacite.datacite+xml``."""
    return render(tree(document(description)))


def document(description: Description) -> dict[str, Any]:
    """The ``attributes`` of DataCite's REST API.

    ``doi`` is absent unless one is registered; the ARK is an alternate identifier.
    """
    return drop_empty(
        doi=identifier_of(description.doi).value if description.doi else None,
        url=description.landing,
        types={
            "resourceTypeGeneral": _TYPES[description.kind],
            "resourceType": "Machine learning model" if description.kind == "model" else "Data set",
        },
        creators=creators_of(description),
        titles=_titles(description),
        publisher=_publisher(description),
        publicationYear=f"{description.published.year:04d}",
        subjects=_subjects(description),
        contributors=contributors_of(description),
        dates=_dates(description),
        language=next((one for one in description.languages if _LANGUAGE.fullmatch(one)), None),
        alternateIdentifiers=_alternates(description),
        relatedIdentifiers=related(description),
        sizes=_sizes(description),
        formats=_formats(description),
        version=description.version,
        rightsList=_rights(description),
        descriptions=_descriptions(description),
        fundingReferences=_funding(description),
        schemaVersion="http://datacite.org/schema/kernel-4",
    )


def _titles(description: Description) -> list[dict[str, str]]:
    titles = [{"title": description.title}]
    if description.repository != description.title:
        titles.append({"title": description.repository, "titleType": "AlternativeTitle"})
    return titles


def _publisher(description: Description) -> dict[str, str]:
    publisher = description.hub.publisher
    return {"name": publisher.name} | ror_of(publisher.ror, "publisherIdentifier")


def _subjects(description: Description) -> list[dict[str, str]]:
    subjects = [{"subject": one} for one in dict.fromkeys(description.keywords) if one]
    if description.task:
        subjects.append({"subject": description.task, "subjectScheme": "task"})
    return subjects


def _dates(description: Description) -> list[dict[str, str]]:
    withdrawn = description.withdrawal
    dates = [
        _date("Created", description.created),
        _date("Issued", description.published),
        _date("Updated", description.modified),
    ]
    if withdrawn:
        dates.append(
            _date("Withdrawn", withdrawn.at) | drop_empty(dateInformation=withdrawn.reason)
        )
    return dates


def _date(kind: str, at: datetime) -> dict[str, str]:
    return {"date": at.date().isoformat(), "dateType": kind}


def _alternates(description: Description) -> list[dict[str, str]]:
    addresses = dict.fromkeys((description.pid, description.landing, *description.alternates))
    return [
        {"alternateIdentifier": one, "alternateIdentifierType": identifier_of(one).scheme}
        for one in addresses
        if one != description.doi
    ]


def _sizes(description: Description) -> list[str]:
    sizes = [f"{description.size_bytes} bytes", f"{description.file_count} files"]
    if description.network:
        sizes.append(f"{description.network.parameters} parameters")
    return sizes


def _formats(description: Description) -> list[str]:
    formats = [file.media_type for file in description.files]
    network = description.network
    if network:
        formats.append(network.format)
        formats += [f"{domain} opset {number}" for domain, number in network.opsets.items()]
    return list(dict.fromkeys(formats))


def _rights(description: Description) -> list[dict[str, str]]:
    rights = _licenses(description.license) if description.license else []
    rights.append(
        {
            "rights": description.access,
            "rightsUri": ACCESS_RIGHTS[description.access],
            "rightsIdentifier": ACCESS_RIGHTS[description.access].removeprefix(COAR),
            "rightsIdentifierScheme": "COAR access rights",
            "schemeUri": COAR,
        }
    )
    if description.use_restrictions:
        rights.append({"rights": description.use_restrictions})
    return rights


def _licenses(licence: License) -> list[dict[str, str]]:
    """The simple licences, after the expression if that has several."""
    rights = [_license(uri, licence) for uri in dict.fromkeys(licence.uris)]
    if len(rights) == 1:
        return rights
    return [{"rights": licence.expression}, *rights]


def _license(uri: str, licence: License) -> dict[str, str]:
    if not uri.startswith(SPDX_LICENSES):
        return drop_empty(rights=licence.name or licence.expression, rightsUri=iri(uri))
    name = uri.removeprefix(SPDX_LICENSES)
    return {
        "rights": name,
        "rightsUri": uri,
        "rightsIdentifier": name,
        "rightsIdentifierScheme": "SPDX",
        "schemeUri": SPDX_LICENSES,
    }


def _descriptions(description: Description) -> list[dict[str, str]]:
    """The abstract, then texts without a DataCite type, each with its name."""
    others = drop_empty(
        **{
            "Intended use": description.intended_use,
            "Out of scope": description.out_of_scope,
            "Limitations": description.limitations,
            "Ethics": description.ethics,
            "Identifier": TEST_NOTE if is_test(description.pid) else None,
        }
    )
    typed = drop_empty(Abstract=description.description, TechnicalInfo=description.usage)
    return [
        *({"description": text, "descriptionType": kind} for kind, text in typed.items()),
        *(
            {"description": f"{label}: {text}", "descriptionType": "Other"}
            for label, text in others.items()
        ),
    ]


def _funding(description: Description) -> list[dict[str, str]]:
    return [
        drop_empty(
            funderName=one.funder.name,
            funderIdentifier=one.funder.ror,
            funderIdentifierType="ROR" if one.funder.ror else None,
            awardNumber=one.award,
            awardUri=iri(one.url),
            awardTitle=one.title,
        )
        for one in dict.fromkeys(description.funding)
    ]
