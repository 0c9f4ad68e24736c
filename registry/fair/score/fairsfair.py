"""The 17 metrics and 26 points of FAIRsFAIR's data object assessment, version 0.8.

Source: the metrics and their practical tests as F-UJI 3.5 scores them; tests of 0 points are left
out. A metric's tests add up, or the best one counts, as stated there.
"""

import re
from collections.abc import Callable
from mimetypes import guess_type
from urllib.parse import urlsplit

from registry.fair.score.assessed import COMMUNITY, PROVENANCE, REGISTERED, RELATIONS
from registry.fair.score.harvest import Harvest
from registry.fair.score.metric import (
    GONE,
    Metric,
    Missing,
    Outcome,
    Principle,
    all_of,
    answered,
    any_of,
    listed,
)
from registry.fair.score.reading import DCAT, DCT, SCHEMA, is_url

# DOI and Handle, ARK (draft-kunze-ark-41: a NAAN has at least five characters), w3id, PURL.
_PERSISTENT = re.compile(
    r"https?://(?:(?:dx\.)?doi\.org/10\.\d+/|hdl\.handle\.net/|w3id\.org/|purl\.org/"
    r"|[^/]+/ark:/?[0-9bcdfghjkmnpqrstvwxz]{5,}/).+"
)
_OPEN_TYPE = re.compile(
    r"text/(?!html).+|.+[/+](?:xml|json|yaml)|image/(?:png|tiff)|application/(?:pdf|x-hdf5?"
    r"|x-netcdf|vnd\.apache\.(?:parquet|arrow\..+))"
)
_NO_FILES = Missing("The metadata name no file that can be had.", "Publish the files themselves.")


def _unique(harvest: Harvest) -> Outcome:
    subject = str(harvest.reading.subject or "")
    missing = Missing(harvest.reading.fault or "The record has no address.")
    return all_of(answered(1, subject if is_url(subject) else "", missing))


def _persistent(harvest: Harvest) -> Outcome:
    pids = [one for one in harvest.reading.identifiers if _PERSISTENT.fullmatch(one)]
    resolved = [
        f"{answer.url} leads to {answer.final}"
        for answer in harvest.pids
        if answer.url in pids and any(300 <= status < 400 for status in answer.statuses[:1])
    ]
    return all_of(
        answered(0.5, pids, Missing("The record names no ARK, DOI or Handle.")),
        answered(0.5, resolved, Missing("No persistent identifier of it leads anywhere.")),
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
        answered(1, listed(cited, most=6) if is_cited else "", *_gaps(cited)),
        answered(1, listed(described) if is_cited and is_described else "", *_gaps(described)),
    )


def _gaps(found: dict[str, list[str]]) -> list[Missing]:
    how = {
        "creator": ("authors", "Name who made it under 'authors', with their ORCID iDs."),
        "summary": ("README.md", "Say what it is for in README.md's first paragraph."),
        "keywords": ("tags", "Add a few words to find it by under 'tags'."),
        "title": ("model_name", "Give it a name under 'model_name'."),
    }
    made = []
    for name, values in found.items():
        if not values:
            what = f"The metadata have no {name}."
            field, help_ = how.get(name, (None, ""))
            made.append(Missing(what, help_, field) if field else Missing(what))
    return made


def _content(harvest: Harvest) -> Outcome:
    return all_of(answered(1, (claim.url for claim in harvest.reading.claims), _NO_FILES))


def _searchable(harvest: Harvest) -> Outcome:
    read = harvest.reading
    classes = sorted(one for one in read.types if one.startswith(str(SCHEMA)))
    missing = Missing(read.fault or "The JSON-LD in the page has no class of schema.org.")
    return all_of(answered(2, classes, missing))


def _access(harvest: Harvest) -> Outcome:
    rights = harvest.reading.texts(
        DCT.accessRights, SCHEMA.isAccessibleForFree, SCHEMA.conditionsOfAccess
    )
    return all_of(answered(1, rights, Missing("The metadata do not say who may have the files.")))


def _retrievable(harvest: Harvest) -> Outcome:
    is_read = harvest.landing.status in {200, 410} and harvest.reading.subject is not None
    files = [seen.answer.url for seen in harvest.files if seen.answer.is_found]
    lost = GONE if harvest.is_tombstone else _NO_FILES
    return all_of(
        answered(1, harvest.landing.final if is_read else "", Missing("The page has no metadata.")),
        answered(1, files, lost),
    )


def _protocol(harvest: Harvest) -> Outcome:
    # HTTP and HTTPS are standard protocols, and both carry credentials (RFC 9110, section 11).
    page = harvest.landing.url
    files = [claim.url for claim in harvest.reading.claims]
    return all_of(
        answered(1, _scheme(page), Missing("The page is not at an address of http or https.")),
        answered(1, sorted({_scheme(url) for url in files}), _NO_FILES),
    )


def _scheme(url: str) -> str:
    return urlsplit(url).scheme if is_url(url) else ""


def _formal(harvest: Harvest) -> Outcome:
    read = harvest.reading
    triples = f"{len(read.graph)} statements in the page" if len(read.graph) else ""
    linked = {"application/ld+json", "text/turtle", "application/rdf+xml"}
    answers = sorted(got for asked, got in harvest.negotiated.items() if asked == got in linked)
    return any_of(
        answered(2, triples, Missing(read.fault or "The JSON-LD in the page says nothing.")),
        answered(2, answers, Missing("The page does not answer with RDF when asked for it.")),
    )


def _semantic(harvest: Harvest) -> Outcome:
    used = sorted(harvest.reading.vocabularies & REGISTERED)
    return all_of(answered(2, used, Missing("The metadata use no registered vocabulary.")))


def _related(harvest: Harvest) -> Outcome:
    read = harvest.reading
    urls = [url for url in read.urls(*RELATIONS) if url != str(read.subject)]
    missing = Missing(
        "The metadata lead to nothing related.",
        "Name the data sets, the model it came from, the paper or the code.",
        "datasets",
    )
    return all_of(answered(2, urls, missing))


def _manner(harvest: Harvest) -> Outcome:
    read = harvest.reading
    whole = [one.url for one in read.claims if one.media_type and one.size_bytes is not None]
    all_told = whole if len(whole) == len(read.claims) else []
    return all_of(
        answered(1, sorted(read.types), Missing("The metadata do not say what kind it is.")),
        answered(1, all_told, Missing("Not every file has its type and size in the metadata.")),
    )


def _license(harvest: Harvest) -> Outcome:
    read = harvest.reading
    missing = Missing(
        "The metadata have no licence, so nobody may use it.",
        "Write an SPDX id such as apache-2.0 under 'license'.",
        "license",
    )
    return all_of(answered(1, read.names(read.nodes(SCHEMA.license, DCT.license)), missing))


def _provenance(harvest: Harvest) -> Outcome:
    read = harvest.reading
    told = [str(one) for one in PROVENANCE if read.nodes(one)]
    return all_of(answered(1, told, Missing("The metadata do not say whence it came.")))


def _community(harvest: Harvest) -> Outcome:
    used = sorted(harvest.reading.vocabularies & COMMUNITY)
    return all_of(answered(1, used, Missing("The metadata follow no standard of a community.")))


def _open_format(harvest: Harvest) -> Outcome:
    types = {
        _own_type(seen.answer.url, seen.answer.media_type)
        for seen in harvest.files
        if seen.answer.is_found
    }
    missing = (
        GONE
        if harvest.is_tombstone
        else Missing(
            "No file is of an open format that lasts.",
            "Add a README.md; keep tables as CSV or Parquet.",
            "README.md",
        )
    )
    return all_of(answered(1, sorted(one for one in types if _OPEN_TYPE.fullmatch(one)), missing))


def _own_type(url: str, media_type: str) -> str:
    """The media type; where it says nothing, that of the name."""
    if media_type in {"", "application/octet-stream"}:
        return guess_type(urlsplit(url).path)[0] or ""
    return media_type


def _theirs(
    id_: str, principle: Principle, points: float, check: Callable[[Harvest], Outcome], title: str
) -> Metric:
    return Metric(id_, "fairsfair", principle, title, points, check)


FAIRSFAIR: tuple[Metric, ...] = (
    _theirs("FsF-F1-01MD", "F", 1, _unique, "Unique identifier"),
    _theirs("FsF-F1-02MD", "F", 1, _persistent, "Persistent identifier"),
    _theirs("FsF-F2-01M", "F", 2, _core, "Descriptive core metadata"),
    _theirs("FsF-F3-01M", "F", 1, _content, "Metadata lead to the files"),
    _theirs("FsF-F4-01M", "F", 2, _searchable, "Search engines can read the metadata"),
    _theirs("FsF-A1-01M", "A", 1, _access, "Level and conditions of access"),
    _theirs("FsF-A1-02MD", "A", 2, _retrievable, "Metadata and files can be had"),
    _theirs("FsF-A1.1-01MD", "A", 2, _protocol, "Standard protocol"),
    _theirs("FsF-A1.2-01MD", "A", 2, _protocol, "Protocol that can authenticate"),
    _theirs("FsF-I1-01M", "I", 2, _formal, "Formal language"),
    _theirs("FsF-I2-01M", "I", 2, _semantic, "Registered vocabularies"),
    _theirs("FsF-I3-01M", "I", 2, _related, "Qualified links to what is related"),
    _theirs("FsF-R1-01M", "R", 2, _manner, "Kind, type and size of the content"),
    _theirs("FsF-R1.1-01M", "R", 1, _license, "Licence"),
    _theirs("FsF-R1.2-01M", "R", 1, _provenance, "Provenance"),
    _theirs("FsF-R1.3-01M", "R", 1, _community, "Standard of a community"),
    _theirs("FsF-R1.3-02D", "R", 1, _open_format, "Open file format"),
)
