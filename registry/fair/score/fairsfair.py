"""The 17 metrics and 26 points of FAIRsFAIR's data object assessment, version 0.8.

Source: the metrics and their practical tests as F-UJI 3.5 scores them, without tests of 0 points.
The points of a metric's tests are added, or the best one counts, as F-UJI defines.
"""

import re
from collections.abc import Callable
from mimetypes import guess_type
from urllib.parse import urlsplit

from registry.fair.score.harvest import Harvest
from registry.fair.score.metric import (
    WITHDRAWN,
    Metric,
    Missing,
    Outcome,
    Principle,
    all_of,
    any_of,
    criterion,
    listed,
)
from registry.fair.score.reading import (
    COMMUNITY,
    DCAT,
    DCT,
    PROVENANCE,
    REGISTERED,
    RELATIONS,
    SCHEMA,
    is_url,
)

# DOI and Handle, ARK (draft-kunze-ark-41: a NAAN has at least five characters), w3id, PURL.
_PERSISTENT = re.compile(
    r"https?://(?:(?:dx\.)?doi\.org/10\.\d+/|hdl\.handle\.net/|w3id\.org/|purl\.org/"
    r"|[^/]+/ark:/?[0-9bcdfghjkmnpqrstvwxz]{5,}/).+"
)
_OPEN_TYPE = re.compile(
    r"text/(?!html).+|.+[/+](?:xml|json|yaml)|image/(?:png|tiff)|application/(?:pdf|x-hdf5?"
    r"|x-netcdf|vnd\.apache\.(?:parquet|arrow\..+))"
)
_NO_FILES = Missing("The metadata name no downloadable file.", "Publish the files themselves.")


def _unique(harvest: Harvest) -> Outcome:
    subject = str(harvest.reading.subject or "")
    fault = harvest.reading.fault or "The record has no address."
    return all_of(criterion(1, subject if is_url(subject) else "", Missing(fault)))


def _persistent(harvest: Harvest) -> Outcome:
    pids = [one for one in harvest.reading.identifiers if _PERSISTENT.fullmatch(one)]
    resolved = [
        f"{answer.url} leads to {answer.final}"
        for answer in harvest.pids
        if answer.url in pids and any(300 <= status < 400 for status in answer.statuses[:1])
    ]
    return all_of(
        criterion(0.5, pids, Missing("The record names no ARK, DOI or Handle.")),
        criterion(0.5, resolved, Missing("None of its persistent identifiers resolves.")),
    )


def _core(harvest: Harvest) -> Outcome:
    read = harvest.reading
    cited = {
        "creator": read.names(read.nodes(SCHEMA.creator, SCHEMA.author, DCT.creator)),
        "title": read.texts(SCHEMA.name, DCT.title),
        "identifier": read.identifiers,
        "publication date": read.texts(SCHEMA.datePublished, DCT.issued),
        "publisher": read.names(read.nodes(SCHEMA.publisher, DCT.publisher)),
        "type": sorted(read.types),
    }
    described = {
        "summary": read.texts(SCHEMA.description, DCT.description),
        "keywords": read.texts(SCHEMA.keywords, DCAT.keyword),
    }
    is_cited, is_described = all(cited.values()), all(described.values())
    return all_of(
        criterion(1, listed(cited, limit=6) if is_cited else "", *_absences(cited)),
        criterion(1, listed(described) if is_cited and is_described else "", *_absences(described)),
    )


def _absences(values: dict[str, list[str]]) -> list[Missing]:
    advice = {
        "creator": ("authors", "Name the creators under 'authors', with their ORCID iDs."),
        "summary": ("README.md", "Describe its purpose in the first paragraph of README.md."),
        "keywords": ("tags", "Add keywords under 'tags'."),
        "title": ("model_name", "Give it a name under 'model_name'."),
    }
    absences = []
    for name in (name for name, texts in values.items() if not texts):
        what = f"The metadata have no {name}."
        field, how = advice.get(name, (None, ""))
        absences.append(Missing(what, how, field) if field else Missing(what))
    return absences


def _content(harvest: Harvest) -> Outcome:
    return all_of(criterion(1, (claim.url for claim in harvest.reading.claims), _NO_FILES))


def _searchable(harvest: Harvest) -> Outcome:
    read = harvest.reading
    classes = sorted(one for one in read.types if one.startswith(str(SCHEMA)))
    fault = read.fault or "The JSON-LD in the page has no class of schema.org."
    return all_of(criterion(2, classes, Missing(fault)))


def _access(harvest: Harvest) -> Outcome:
    rights = harvest.reading.texts(
        DCT.accessRights, SCHEMA.isAccessibleForFree, SCHEMA.conditionsOfAccess
    )
    return all_of(criterion(1, rights, Missing("The metadata do not state the access rights.")))


def _retrievable(harvest: Harvest) -> Outcome:
    is_read = harvest.landing.status in {200, 410} and harvest.reading.subject is not None
    files = [file.answer.url for file in harvest.files if file.answer.is_ok]
    missing = WITHDRAWN if harvest.is_tombstone else _NO_FILES
    return all_of(
        criterion(
            1, harvest.landing.final if is_read else "", Missing("The page has no metadata.")
        ),
        criterion(1, files, missing),
    )


def _protocol(harvest: Harvest) -> Outcome:
    # HTTP and HTTPS are standard protocols, and both carry credentials (RFC 9110, section 11).
    files = [claim.url for claim in harvest.reading.claims]
    return all_of(
        criterion(1, _scheme(harvest.landing.url), Missing("The page has no HTTP address.")),
        criterion(1, sorted({_scheme(url) for url in files}), _NO_FILES),
    )


def _scheme(url: str) -> str:
    return urlsplit(url).scheme if is_url(url) else ""


def _formal(harvest: Harvest) -> Outcome:
    read = harvest.reading
    triples = f"{len(read.graph)} statements in the page" if len(read.graph) else ""
    linked = {"application/ld+json", "text/turtle", "application/rdf+xml"}
    answers = sorted(a for a, b in harvest.negotiated.items() if a == b in linked)
    return any_of(
        criterion(2, triples, Missing(read.fault or "The JSON-LD in the page is empty.")),
        criterion(2, answers, Missing("The page does not serve RDF on request.")),
    )


def _semantic(harvest: Harvest) -> Outcome:
    used = sorted(harvest.reading.vocabularies & REGISTERED)
    return all_of(criterion(2, used, Missing("The metadata use no registered vocabulary.")))


def _related(harvest: Harvest) -> Outcome:
    read = harvest.reading
    urls = [url for url in read.urls(*RELATIONS) if url != str(read.subject)]
    missing = Missing(
        "The metadata link to no related resource.",
        "Name the data sets, the base model, the paper or the code.",
        "datasets",
    )
    return all_of(criterion(2, urls, missing))


def _manner(harvest: Harvest) -> Outcome:
    read = harvest.reading
    complete = [one.url for one in read.claims if one.media_type and one.size_bytes is not None]
    urls = complete if len(complete) == len(read.claims) else []
    return all_of(
        criterion(1, sorted(read.types), Missing("The metadata do not state the resource type.")),
        criterion(1, urls, Missing("Not every file has its type and size in the metadata.")),
    )


def _license(harvest: Harvest) -> Outcome:
    read = harvest.reading
    missing = Missing(
        "The metadata have no licence, so nobody is permitted to use it.",
        "Write an SPDX id such as apache-2.0 under 'license'.",
        "license",
    )
    return all_of(criterion(1, read.names(read.nodes(SCHEMA.license, DCT.license)), missing))


def _provenance(harvest: Harvest) -> Outcome:
    read = harvest.reading
    terms = (str(one) for one in PROVENANCE if read.nodes(one))
    return all_of(criterion(1, terms, Missing("The metadata have no provenance.")))


def _community(harvest: Harvest) -> Outcome:
    used = sorted(harvest.reading.vocabularies & COMMUNITY)
    return all_of(criterion(1, used, Missing("The metadata follow no community standard.")))


def _open_format(harvest: Harvest) -> Outcome:
    answers = [file.answer for file in harvest.files if file.answer.is_ok]
    types = {_file_type(answer.url, answer.media_type) for answer in answers}
    missing = (
        WITHDRAWN
        if harvest.is_tombstone
        else Missing(
            "No file is in an open, long-term file format.",
            "Add a README.md; keep tables as CSV or Parquet.",
            "README.md",
        )
    )
    return all_of(criterion(1, sorted(one for one in types if _OPEN_TYPE.fullmatch(one)), missing))


def _file_type(url: str, media_type: str) -> str:
    """The media type, guessed from the file name if the answer has a generic one."""
    if media_type in {"", "application/octet-stream"}:
        return guess_type(urlsplit(url).path)[0] or ""
    return media_type


_Check = Callable[[Harvest], Outcome]


def _metric(id_: str, principle: Principle, points: float, check: _Check, title: str) -> Metric:
    return Metric(id_, "fairsfair", principle, title, points, check)


FAIRSFAIR: tuple[Metric, ...] = (
    _metric("FsF-F1-01MD", "F", 1, _unique, "Unique identifier"),
    _metric("FsF-F1-02MD", "F", 1, _persistent, "Persistent identifier"),
    _metric("FsF-F2-01M", "F", 2, _core, "Descriptive core metadata"),
    _metric("FsF-F3-01M", "F", 1, _content, "Metadata link to the files"),
    _metric("FsF-F4-01M", "F", 2, _searchable, "Search engines can read the metadata"),
    _metric("FsF-A1-01M", "A", 1, _access, "Level and conditions of access"),
    _metric("FsF-A1-02MD", "A", 2, _retrievable, "Metadata and files can be retrieved"),
    _metric("FsF-A1.1-01MD", "A", 2, _protocol, "Standard protocol"),
    _metric("FsF-A1.2-01MD", "A", 2, _protocol, "Protocol with authentication"),
    _metric("FsF-I1-01M", "I", 2, _formal, "Formal language"),
    _metric("FsF-I2-01M", "I", 2, _semantic, "Registered vocabularies"),
    _metric("FsF-I3-01M", "I", 2, _related, "Qualified links to related resources"),
    _metric("FsF-R1-01M", "R", 2, _manner, "Kind, type and size of the content"),
    _metric("FsF-R1.1-01M", "R", 1, _license, "Licence"),
    _metric("FsF-R1.2-01M", "R", 1, _provenance, "Provenance"),
    _metric("FsF-R1.3-01M", "R", 1, _community, "Community standard"),
    _metric("FsF-R1.3-02D", "R", 1, _open_format, "Open file format"),
)
