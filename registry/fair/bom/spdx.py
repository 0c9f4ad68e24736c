"""A description as an SPDX 3 document with the AI profile, or the Dataset profile. Source: SPDX
3.0.1, profiles Core, Software, SimpleLicensing, AI, Dataset and Build."""

from typing import Any

from registry.fair.activities import Scan
from registry.fair.ark import TEST_NOTE, is_test
from registry.fair.bom.common import files_of, license_addresses, media_type, render_json, utc
from registry.fair.bom.spdx_builds import add_activities, add_builds
from registry.fair.bom.spdx_graph import SpdxGraph, entry, external_id, sha256
from registry.fair.bom.spdx_package import add_package
from registry.fair.description import Description
from registry.fair.iris import iri
from registry.fair.parts import Agent, DatasetRole, FileDescription, FileRole

_PURPOSES: dict[FileRole, str] = {
    "model": "model",
    "weights": "model",
    "card": "documentation",
    "config": "configuration",
    "samples": "data",
    "tests": "test",
    "licence": "documentation",
    "environment": "manifest",
    "other": "file",
}
#: Relationship of each role and its comment, where SPDX has no precise relationship.
_USES: dict[DatasetRole, tuple[str, str | None]] = {
    "trained": ("trainedOn", None),
    "validated": ("other", "validated on"),
    "tested": ("testedOn", None),
    "mentioned": ("other", "mentioned by the model card"),
}


def render(description: Description) -> bytes:
    """The document as JSON-LD."""
    return render_json(document(description))


def document(description: Description) -> dict[str, Any]:
    """The document as plain values."""
    graph = SpdxGraph(description.pid)
    publisher = description.hub.publisher
    maker = graph.agent(
        Agent(name=publisher.name, kind="organization", ror=publisher.ror, url=publisher.url)
    )
    package = add_package(graph, description)
    _add_license(graph, description, package)
    _add_files(graph, description, package)
    _add_annotations(graph, description, package)
    elements = _add_data(graph, description, package) | _add_sources(graph, description, package)
    elements |= add_builds(graph, description, package=package, maker=maker)
    elements |= {description.pid: package, description.landing: package}
    add_activities(graph, description.activities, elements)
    _add_envelope(graph, description, package)
    return graph.document(description.modified, maker)


def _add_license(graph: SpdxGraph, description: Description, package: str) -> None:
    license = description.license
    if license is None:
        return
    own = {
        name: address
        for name, url in license_addresses(description).items()
        if "LicenseRef-" in name and (address := iri(url))
    }
    expression = graph.add(
        "simplelicensing_LicenseExpression",
        "license",
        name=license.name,
        simplelicensing_licenseExpression=license.expression,
        simplelicensing_customIdToUri=[entry(name, one) for name, one in own.items()],
    )
    graph.relate(package, "hasDeclaredLicense", [expression])


def _add_files(graph: SpdxGraph, description: Description, package: str) -> None:
    added = {file.path: _add_file(graph, file) for file in files_of(description)}
    graph.relate(package, "contains", [added[file.path] for file in description.files])
    graph.relate(package, "hasTest", [added[file.path] for file in description.tests])


def _add_file(graph: SpdxGraph, file: FileDescription) -> str:
    # The address is fixed to the version and so identifies these bytes permanently.
    return graph.add_as(
        file.url,
        "software_File",
        name=file.path,
        verifiedUsing=sha256(file.sha256),
        contentType=media_type(file),
        software_fileKind="file",
        software_primaryPurpose=_PURPOSES[file.role],
    )


def _add_annotations(graph: SpdxGraph, description: Description, package: str) -> None:
    annotations = {
        "Ethical considerations": description.ethics,
        "Use restrictions": description.use_restrictions,
        "Safety scan": _scan_text(description.scan) if description.scan else None,
        "Tuned on": ", ".join(one.slug for one in description.tuned_on),
        "Files": description.omission,
    }
    for title, text in annotations.items():
        graph.annotate(package, f"{title}: {text}" if text else None)


def _scan_text(scan: Scan) -> str:
    verdict = "accepted" if scan.is_accepted else "refused"
    return " ".join((f"{verdict} on {utc(scan.at)}.", *scan.findings))


def _add_data(graph: SpdxGraph, description: Description, package: str) -> dict[str, str]:
    """Add the data sets that the card names; returns address to element."""
    elements: dict[str, str] = {}
    for use in description.datasets:
        # Not a DatasetPackage, which requires an originator and times that cards do not have.
        data = graph.add(
            "software_Package",
            "data",
            name=use.name,
            comment=f"Split: {use.split}" if use.split else None,
            externalIdentifier=[external_id("other", use.pid)] if use.pid else (),
            software_homePage=iri(use.url),
            software_primaryPurpose="data",
        )
        kind, comment = _USES[use.role]
        graph.relate(package, kind, [data], comment)
        elements |= {one: data for one in (use.url, use.pid) if one}
    return elements


def _add_sources(graph: SpdxGraph, description: Description, package: str) -> dict[str, str]:
    """Add the sources and requirements of the version; returns address to element."""
    elements: dict[str, str] = {}
    for one in description.derived_from:
        source = graph.add(
            "software_Package",
            "source",
            name=one.source,
            externalIdentifier=[external_id("other", one.pid)] if one.pid else (),
            software_packageVersion=one.oid,
            software_homePage=iri(one.url),
            software_primaryPurpose="model",
        )
        graph.relate(package, "descendantOf", [source], one.relation)
        elements |= {address: source for address in (one.url, one.pid) if address}
    return elements


def _add_envelope(graph: SpdxGraph, description: Description, package: str) -> None:
    profiles = {
        "core": True,
        "software": True,
        "ai": description.kind == "model",
        "dataset": description.kind == "dataset",
        # The document's own license at least.
        "simpleLicensing": True,
        "build": bool(description.builds or description.activities),
    }
    conforming = [name for name, holds in profiles.items() if holds]
    bill = f"{graph.base}#bom"
    metadata_license = graph.add(
        "simplelicensing_LicenseExpression",
        "metadata-license",
        name="License of this document",
        simplelicensing_licenseExpression="CC0-1.0",
    )
    elements = graph.ids
    graph.add_as(
        bill,
        "software_Sbom",
        profileConformance=conforming,
        rootElement=[package],
        element=elements,
    )
    graph.add_as(
        f"{graph.base}#document",
        "SpdxDocument",
        name=description.title,
        comment=TEST_NOTE if is_test(description.pid) else None,
        dataLicense=metadata_license,
        profileConformance=conforming,
        rootElement=[bill],
        element=[bill, *elements],
    )
