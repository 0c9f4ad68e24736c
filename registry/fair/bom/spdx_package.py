"""The version as a package of SPDX's AI or Dataset profile.

Source: SPDX 3.0.1, model, classes ``AIPackage`` and ``DatasetPackage``, which require a supplier, a
download location, a purpose and times.
"""

from typing import Any

from registry.fair.bom.common import identifier_comment, slice_of, text_of, utc
from registry.fair.bom.spdx_graph import NOWHERE, SpdxGraph, entry, external_id, external_refs
from registry.fair.description import MAX_CRATE_FILES, Description
from registry.fair.figures import figures_of
from registry.fair.parts import Emissions, NetworkDescription, QualityEvaluation


def add_package(graph: SpdxGraph, description: Description) -> str:
    """Add the element of the version."""
    withdrawal = description.withdrawal
    creators = [graph.agent(one) for one in description.creators]
    shared: dict[str, Any] = {
        "name": description.title,
        "summary": description.description,
        "comment": f"Withdrawn: {withdrawal.reason}" if withdrawal and withdrawal.reason else None,
        "externalIdentifier": _identifiers(description),
        "externalRef": _references(description),
        "originatedBy": creators,
        "suppliedBy": graph.agent(description.owner),
        "builtTime": utc(description.created),
        "releaseTime": utc(description.published),
        "validUntilTime": utc(withdrawal.at) if withdrawal else None,
        "software_packageVersion": description.version,
        "software_downloadLocation": _download(description),
        "software_homePage": description.landing,
        "software_contentIdentifier": [_content_id(description.swhid)],
    }
    if description.kind == "dataset":
        # SPDX requires one originator of a data set. Several creators are represented by the
        # first, and all are named in a relationship.
        single = creators[:1] or [graph.unknown_agent()]
        shared |= {"originatedBy": single} | _dataset_properties(description)
        package = graph.add_as(graph.base, "dataset_DatasetPackage", **shared)
        if len(creators) > 1:
            graph.relate(package, "other", creators, "created by")
        return package
    return graph.add_as(graph.base, "ai_AIPackage", **shared, **_ai_properties(description))


def _download(description: Description) -> str:
    """The archive of all files, or their list where they are too many for one."""
    if description.is_withdrawn:
        return NOWHERE
    is_large = description.file_count > MAX_CRATE_FILES
    return description.file_list_url if is_large else description.crate_url


def _ai_properties(description: Description) -> dict[str, Any]:
    network = description.network
    types = (
        *description.categories,
        *([network.architecture_class] if network else ()),
        *description.architectures,
    )
    return {
        "software_primaryPurpose": "model",
        "ai_domain": [description.task] if description.task else (),
        "ai_typeOfModel": list(dict.fromkeys(types)),
        "ai_limitation": description.limitations,
        "ai_informationAboutApplication": _application(description),
        "ai_informationAboutTraining": _training(description.emissions),
        "ai_hyperparameter": _hyperparameters(network) if network else (),
        "ai_metric": [*map(_metric, description.evaluations), *_repetitions(description)],
    }


def _metric(one: QualityEvaluation) -> dict[str, str]:
    who = ", by a third party" if one.by == "third party" else ""
    return entry(f"{one.metric} ({slice_of(one)}{who})", text_of(one.value))


def _repetitions(description: Description) -> list[dict[str, str]]:
    """Figures of measurements by third parties."""
    return [
        entry(
            f"{figure.label} ({one.target}, {one.backend}, by a third party, {one.id[:12]})",
            text_of(figure.value),
        )
        for one in description.repetitions
        for figure in figures_of(one)
    ]


def _dataset_properties(description: Description) -> dict[str, Any]:
    available = {"open access": "directDownload", "restricted access": "registration"}
    return {
        "software_primaryPurpose": "data",
        "dataset_datasetType": ["noAssertion"],
        "dataset_datasetSize": description.size_bytes,
        "dataset_datasetAvailability": available.get(description.access),
        "dataset_intendedUse": description.intended_use,
        "dataset_knownBias": [description.limitations] if description.limitations else (),
    }


def _application(description: Description) -> str:
    parts = {
        "Intended use": description.intended_use,
        "Out of scope": description.out_of_scope,
        "Usage": description.usage,
    }
    return "\n\n".join(f"{title}: {text}" for title, text in parts.items() if text)


def _training(emissions: Emissions | None) -> str:
    # SPDX has fields for energy in kilowatt hours only; cards have carbon dioxide.
    if emissions is None:
        return ""
    parts = {
        "CO2e in kilograms": text_of(emissions.co2e_kg),
        "Source": emissions.source,
        "Kind of training": emissions.training_type,
        "Location": emissions.location,
        "Hardware": emissions.hardware,
    }
    return "\n".join(f"{title}: {text}" for title, text in parts.items() if text)


def _hyperparameters(network: NetworkDescription) -> list[dict[str, str]]:
    values: dict[str, int | str | None] = {
        "parameters": network.parameters,
        "weight bytes": network.weight_bytes,
        "multiply-accumulates": network.macs,
        "precision": network.precision,
        "format": network.format,
    }
    values |= {f"opset {domain}": version for domain, version in network.opsets.items()}
    return [entry(key, str(value)) for key, value in values.items() if value is not None]


def _content_id(swhid: str) -> dict[str, str]:
    return {
        "type": "software_ContentIdentifier",
        "software_contentIdentifierType": "swhid",
        "software_contentIdentifierValue": swhid,
    }


def _identifiers(description: Description) -> list[dict[str, Any]]:
    doi, concept_pid = description.doi, description.concept_pid
    return [
        external_id("swhid", description.swhid),
        external_id("swhid", description.swhid_revision),
        external_id("other", concept_pid, identifier_comment(concept_pid, "of all versions")),
        *([external_id("other", doi, "DOI of this version")] if doi else ()),
    ]


def _references(description: Description) -> list[dict[str, Any]]:
    links = [
        ("vcs", description.code.url if description.code else None, None),
        ("qualityAssessmentReport", description.fair.url if description.fair else None, "FAIR"),
        *(("documentation", paper.url, paper.title) for paper in description.papers),
        *(("funding", funding.url, funding.title) for funding in description.funding),
    ]
    return [one for kind, url, title in links for one in external_refs(kind, url, title)]
