"""Croissant 1.1: a model's measurements and tuning log, or the files of a data set
and the columns that were read from them.

The log of a model grows while the hub tunes it, so it is a live data set whose tables have no
checksum. Published builds are embedded in the document.

Source: Croissant Format Specification 1.1, http://mlcommons.org/croissant/1.1.
"""

import json
import re
from typing import Any
from urllib.parse import urlencode

from registry.fair.activities import BuildDescription
from registry.fair.ark import test_property
from registry.fair.citation import render_bibtex
from registry.fair.crate.graph import NO_LICENSE, compact, local
from registry.fair.crate.measurements import BUILD_COLUMNS, TABLES, Column, MeasurementTable
from registry.fair.crate.recordsets import encoding_formats, record_sets
from registry.fair.description import Description
from registry.fair.iris import iri
from registry.fair.parts import METADATA_LICENSE, Agent, FileDescription
from registry.fair.serialise import drop_empty

PROFILE = "http://mlcommons.org/croissant/1.1"
_PLAIN = re.compile(r"[A-Za-z0-9._/-]+")

_TERMS = """
    annotation arrayShape citeAs column containedIn equivalentProperty excludes extract field
    fileObject fileProperty fileSet format includes isArray isLiveDataset jsonPath key md5
    parentField path readLines recordSet references regex repeated replace samplingRate
    sdVersion separator source subField transform unArchive
"""
# The specification uses schema.org with http, but its official library accepts only https.
_CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/",
    "prov": "http://www.w3.org/ns/prov#",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "description": {"@container": "@language"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "name": {"@container": "@language"},
} | {term: f"cr:{term}" for term in _TERMS.split()}


def render(description: Description) -> bytes:
    """The document as JSON-LD."""
    text = json.dumps(document(description), indent=2, ensure_ascii=False)
    return text.encode() + b"\n"


def document(description: Description) -> dict[str, Any]:
    """The document as plain JSON values."""
    if description.kind == "dataset":
        parts: dict[str, Any] = _data(description)
        subject = {"@id": description.pid, "name": description.title}
        text = description.description or f"The files of {description.repository}."
        text = " ".join(filter(None, (text, description.omission)))
    else:
        parts = _log(description)
        subject = {"@id": f"{description.pid}#log", "name": _log_name(description)}
        text = _log_text(description)
    return {"@context": _CONTEXT, "@type": "sc:Dataset"} | drop_empty(
        **subject, description=text, **_record(description), **parts
    )


def _data(description: Description) -> dict[str, Any]:
    """Properties of data sets only."""
    sources = (iri(one.pid) or iri(one.url) for one in description.derived_from)
    return {
        "sameAs": iri(description.doi),
        "citation": compact(filter(None, (iri(paper.url) for paper in description.papers))),
        "prov:wasDerivedFrom": compact({"@id": one} for one in sources if one),
        "distribution": [_file(file) for file in description.files if file.is_available],
        "recordSet": record_sets(description.files, _file_id),
    }


def table_url(description: Description, table: MeasurementTable) -> str:
    """Address of a table of the model's tuning log."""
    query = urlencode({"revision": description.oid})
    return f"{description.concept_landing}/measurements/{table.file_name}?{query}"


def _record(description: Description) -> dict[str, Any]:
    license = description.license
    publisher = description.hub.publisher
    marked = test_property(description.pid)
    return {
        "conformsTo": PROFILE,
        "sdLicense": METADATA_LICENSE,
        "citeAs": render_bibtex(description).decode(),
        "url": description.landing,
        "identifier": {"@type": "sc:PropertyValue"} | marked if marked else None,
        "license": compact(filter(None, map(iri, license.uris if license else ())))
        or (license.expression if license else NO_LICENSE),
        "creator": compact(_agent(one) for one in description.creators),
        "publisher": drop_empty(
            **{"@type": "sc:Organization", "@id": publisher.ror},
            name=publisher.name,
            url=iri(publisher.url),
        ),
        "keywords": compact(description.keywords),
        "inLanguage": compact(description.languages),
        "version": description.version,
        "dateCreated": description.created.isoformat(),
        "datePublished": description.published.isoformat(),
        "dateModified": description.modified.isoformat(),
    }


def _agent(one: Agent) -> dict[str, Any]:
    kind = "sc:Person" if one.kind == "person" else "sc:Organization"
    return drop_empty(
        **{"@type": kind, "@id": one.orcid or one.ror},
        name=one.name,
        url=iri(one.url),
        email=one.email,
        affiliation=compact(
            drop_empty(**{"@type": "sc:Organization", "@id": group.ror}, name=group.name)
            for group in one.affiliations
        ),
    )


def _file(file: FileDescription) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject",
        "@id": _file_id(file),
        "name": file.path,
        "contentUrl": file.url,
        "contentSize": f"{file.size_bytes} B",
        "encodingFormat": compact(encoding_formats(file)),
        "sha256": file.sha256,
    }


def _file_id(file: FileDescription) -> str:
    # The official library rejects white space in identifiers, even encoded.
    return file.path if _PLAIN.fullmatch(file.path) else local("file", file.path)


def _log_name(description: Description) -> str:
    return f"Measurements and tuning log of {description.repository}"


def _log_text(description: Description) -> str:
    return (
        f"All candidates that {description.hub.name} built, checked and measured for version "
        f"{description.version} of {description.repository}, with raw latencies, and the "
        "published builds."
    )


def _log(description: Description) -> dict[str, Any]:
    # The tables are deleted with the version; its builds are in the document.
    tables = () if description.is_withdrawn else TABLES
    return {
        "isLiveDataset": not description.is_withdrawn,
        "isBasedOn": {"@id": description.pid},
        "distribution": [_table_file(description, table) for table in tables],
        "recordSet": [*map(_table_records, tables), *_builds(description.builds)],
    }


def _table_file(description: Description, table: MeasurementTable) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject",
        "@id": table.file_name,
        "name": table.file_name,
        "description": table.description,
        "contentUrl": table_url(description, table),
        "encodingFormat": "text/csv",
    }


def _table_records(table: MeasurementTable) -> dict[str, Any]:
    fields = []
    for column in table.columns:
        source = {"fileObject": {"@id": table.file_name}, "extract": {"column": column.name}}
        target = table.references.get(column.name)
        fields.append(
            _field(table.name, column)
            | drop_empty(
                source=source, references=target and {"field": {"@id": f"{target}/{column.name}"}}
            )
        )
    return {
        "@type": "cr:RecordSet",
        "@id": table.name,
        "name": table.name,
        "description": table.description,
        "key": compact({"@id": f"{table.name}/{name}"} for name in table.key),
        "field": fields,
    }


def _builds(builds: tuple[BuildDescription, ...]) -> list[dict[str, Any]]:
    if not builds:
        return []
    return [
        {
            "@type": "cr:RecordSet",
            "@id": "builds",
            "name": "builds",
            "description": "Published builds with their measurements.",
            "key": {"@id": "builds/build"},
            "field": [_field("builds", column) for column in BUILD_COLUMNS],
            "data": [_build(one) for one in builds],
        }
    ]


def _field(table: str, column: Column) -> dict[str, Any]:
    return {
        "@type": "cr:Field",
        "@id": f"{table}/{column.name}",
        "name": column.name,
        "description": column.description,
        "dataType": column.data_type,
    }


def _build(one: BuildDescription) -> dict[str, Any]:
    figures = one.benchmark
    return {
        "builds/build": one.url,
        "builds/target": one.target,
        "builds/backend": one.backend,
        "builds/tolerance": one.tolerance,
        "builds/p50_ns": figures.p50_ns,
        "builds/p90_ns": figures.p90_ns,
        "builds/p95_ns": figures.p95_ns,
        "builds/p99_ns": figures.p99_ns,
        "builds/mean_ns": figures.mean_ns,
        "builds/scenario": figures.scenario,
        "builds/samples_per_run": figures.samples_per_run,
        "builds/throughput_per_s": figures.throughput_per_s,
        "builds/peak_memory_bytes": figures.peak_memory_bytes,
        "builds/energy_j": figures.energy.joules if figures.energy else None,
        "builds/processor": one.processor,
        "builds/ratio": figures.ratio,
        "builds/ratio_low": figures.ratio_low,
        "builds/ratio_high": figures.ratio_high,
        "builds/record": figures.document_url or None,
    }
