"""The hub's own metrics of how a record is served.

Links are followed, sizes and checksums are recomputed, and the record is validated against the
shape that it names. Fields of the shape that the author must fill are checked one by one, so that
the advice can name them.
"""

from urllib.parse import unquote

from registry.fair.description import MIN_DESCRIPTION
from registry.fair.score.claims import (
    content_mismatches,
    header_mismatches,
    open_files,
    received_files,
)
from registry.fair.score.harvest import Harvest
from registry.fair.score.metric import WITHDRAWN, Metric, Missing, Outcome, all_of, criterion
from registry.fair.score.reading import DCT, FAIR4ML, POLICY, SCHEMA

_ORCID = "https://orcid.org/"
_ROR = "https://ror.org/"
# FAIR Signposting, level 1, without licence and author: the header lacks these if the card does.
_LINKS = ("cite-as", "type", "describedby", "linkset")
_MAX_HEADER_BYTES = 4096
_MIN_PAGE_TEXT = 150
# Relation of a page to its parts, and of these to the page.
_WAYS_BACK = {"item": "collection", "describedby": "describes"}


def _signposts(harvest: Harvest) -> Outcome:
    page = {harvest.landing.url, harvest.landing.final}
    # Headers escape delimiters; link sets have the addresses unescaped.
    linkset = {(link.rel, unquote(link.target)) for link in harvest.linkset if link.anchor in page}
    backs = {
        back: {
            unquote(one.anchor) for one in harvest.linkset if one.rel == back and one.target in page
        }
        for back in _WAYS_BACK.values()
    }
    absent = {link.rel for link in harvest.links if (link.rel, unquote(link.target)) not in linkset}
    faults = [f"The Link header has no {rel}." for rel in _LINKS if not harvest.targets(rel)]
    faults += [f"The link set lacks the header's {rel}." for rel in sorted(absent)]
    faults += [
        f"The link set has no {back} link from {target[:200]}."
        for rel, back in _WAYS_BACK.items()
        for target in sorted({target for one, target in linkset if one == rel} - backs[back])
    ][:3]
    if harvest.header_bytes >= _MAX_HEADER_BYTES:
        faults.append("The Link header is longer than 4 KiB.")
    evidence = "" if faults else f"{len(harvest.linkset)} links"
    return all_of(criterion(1, evidence, *map(Missing, faults)))


def _page(harvest: Harvest) -> Outcome:
    summaries = harvest.reading.texts(SCHEMA.description, DCT.description)
    longest = _longest(summaries)
    length = harvest.text_characters
    return all_of(
        criterion(
            0.5,
            f"{length} characters" if length > _MIN_PAGE_TEXT else "",
            Missing("Without scripts, the page has almost no text."),
        ),
        criterion(
            0.5,
            f"a summary of {longest} characters" if longest >= MIN_DESCRIPTION else "",
            Missing(
                f"There is no summary of at least {MIN_DESCRIPTION} characters.",
                "Describe what it does, and on which data, in the first paragraph of README.md.",
                "README.md",
            ),
        ),
    )


def _longest(texts: list[str]) -> int:
    return max(map(len, texts), default=0)


def _identified_creators(harvest: Harvest) -> Outcome:
    read = harvest.reading
    creators = read.nodes(SCHEMA.creator, SCHEMA.author, DCT.creator)
    affiliations = [node for one in creators for node in read.nodes(SCHEMA.affiliation, of=one)]
    ids = sorted(map(str, creators))
    all_ids = sorted({*ids, *map(str, affiliations)})
    return all_of(
        criterion(
            0.5,
            [one for one in ids if one.startswith((_ORCID, _ROR))],
            Missing("No creator has an ORCID iD.", "Add 'orcid' to a person.", "authors"),
        ),
        criterion(
            0.5,
            [one for one in all_ids if one.startswith(_ROR)],
            Missing(
                "No creator has an institution with a ROR id.",
                "Add 'affiliation' with 'name' and 'ror' to a person.",
                "authors",
            ),
        ),
    )


def _links(harvest: Harvest) -> Outcome:
    linked = [*harvest.metadata, *harvest.pids]
    dead = [one.url for one in linked if not one.is_ok and one.status != 410]
    answers = harvest.negotiated
    wrong = [f"{a} ({b or 'nothing'})" for a, b in answers.items() if a != b]
    types = harvest.documents
    wrong += [
        f"{one.url} ({one.media_type or 'nothing'})"
        for one in harvest.metadata
        if one.media_type != (_plain(types.get(one.url)) or one.media_type)
    ]
    return all_of(
        criterion(
            0.5,
            f"{len(linked)} links" if linked and not dead else "",
            Missing("Dead links in the page: " + ", ".join(dead[:3])),
        ),
        criterion(
            0.5,
            [] if wrong else sorted(answers),
            Missing("Not of the requested or declared type: " + ", ".join(wrong[:3])),
        ),
    )


def _plain(media_type: str | None) -> str:
    return (media_type or "").partition(";")[0].strip().lower()


def _policy(harvest: Harvest) -> Outcome:
    named = harvest.reading.urls(POLICY)
    policy = harvest.policy
    url = policy.url if policy and policy.is_ok and policy.url in named else ""
    return all_of(criterion(1, url, Missing("No policy states how long the record is kept.")))


def _files(harvest: Harvest) -> Outcome:
    if harvest.is_tombstone:
        return Outcome(0, missing=(WITHDRAWN,))
    files, received = open_files(harvest), received_files(harvest)
    headers, contents = header_mismatches(harvest), content_mismatches(harvest)
    return all_of(
        criterion(
            1,
            f"{len(files)} files answer as described" if files and not headers else "",
            Missing(_fault("No file can be downloaded", headers)),
        ),
        criterion(
            1,
            f"{len(received)} files verified" if received and not contents else "",
            Missing(_fault("No file was downloaded", contents)),
        ),
    )


def _fault(none: str, mismatches: list[str]) -> str:
    if not mismatches:
        return f"{none}."
    return f"{len(mismatches)} files differ from the metadata: {', '.join(mismatches[:3])}"


def _inline(harvest: Harvest) -> Outcome:
    fault = harvest.reading.fault
    evidence = "" if fault else "the context is part of the page"
    return all_of(criterion(1, evidence, Missing(fault)))


def _conforms(harvest: Harvest) -> Outcome:
    """Whether the record names a shape that is served, and conforms to it."""
    shape = harvest.shape
    named = harvest.reading.urls(DCT.conformsTo)
    url = shape.url if shape and shape.is_ok and shape.url in named else ""
    faults = _absent_fields(harvest)
    faults += [Missing(f"The shape reports {one}") for one in harvest.violations]
    no_shape = Missing("The record names no shape that it conforms to.")
    return all_of(criterion(1, "" if faults else url, *(faults or [no_shape])))


def _absent_fields(harvest: Harvest) -> list[Missing]:
    """Fields that the served shape requires from the author, and the record lacks."""
    read = harvest.reading
    required = (
        (_longest(read.texts(SCHEMA.description)) >= MIN_DESCRIPTION, "a description", "README.md"),
        (bool(read.nodes(SCHEMA.creator)), "creators", "authors"),
        (bool(read.urls(SCHEMA.license)), "a licence with an address", "license"),
        (
            harvest.kind != "model" or bool(read.nodes(FAIR4ML.mlTask)),
            "the task of the model",
            "pipeline_tag",
        ),
    )
    return [
        Missing(f"A complete record has {what}.", f"Add it to README.md under '{field}'.", field)
        if field != "README.md"
        else Missing(f"A complete record has {what}.", "Begin README.md with it.", field)
        for is_present, what, field in required
        if not is_present
    ]


SERVED: tuple[Metric, ...] = (
    Metric("HUB-F-01", "hub", "F", "FAIR Signposting of level 2", 1, _signposts),
    Metric("HUB-F-02", "hub", "F", "Page readable without scripts", 1, _page),
    Metric("HUB-F-03", "hub", "F", "Creators with persistent identifiers", 1, _identified_creators),
    Metric("HUB-A-01", "hub", "A", "Working links and content negotiation", 1, _links),
    Metric("HUB-A-02", "hub", "A", "Persistence policy", 1, _policy),
    Metric("HUB-A-03", "hub", "A", "Files agree with the metadata", 2, _files),
    Metric("HUB-I-01", "hub", "I", "Readable without remote contexts", 1, _inline),
    Metric("HUB-I-02", "hub", "I", "Conforms to a served shape", 1, _conforms),
)
