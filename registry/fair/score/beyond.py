"""The hub's own metrics of how a record is served: what assessors believe and users need to be so.

Links are followed, sizes and checksums are counted again, and the record is run through the shape
that it names. What that requires of people is asked for by itself, so that it can be said how to
mend it.
"""

from urllib.parse import unquote

from registry.fair.required import MIN_DESCRIPTION
from registry.fair.score.claims import counted_files, open_files, untrue_bytes, untrue_heads
from registry.fair.score.harvest import Harvest
from registry.fair.score.metric import GONE, Metric, Missing, Outcome, all_of, answered
from registry.fair.score.reading import DCT, FAIR4ML, POLICY, SCHEMA

_ORCID = "https://orcid.org/"
_ROR = "https://ror.org/"
# FAIR Signposting, level 1; where there is no licence or author, the card lacks it, not the header.
_LINKS = ("cite-as", "type", "describedby", "linkset")
_MAX_HEADER_BYTES = 4096
_MIN_TEXT = 150


def _signposts(harvest: Harvest) -> Outcome:
    page = {harvest.landing.url, harvest.landing.final}
    # A header escapes what would take it apart; a link set has addresses as they are.
    stated = {(link.rel, unquote(link.target)) for link in harvest.linkset if link.anchor in page}
    unstated = {
        link.rel for link in harvest.links if (link.rel, unquote(link.target)) not in stated
    }
    faults = [f"The Link header has no {rel}." for rel in _LINKS if not harvest.targets(rel)]
    faults += [f"The link set lacks the header's {rel}." for rel in sorted(unstated)]
    if harvest.header_bytes >= _MAX_HEADER_BYTES:
        faults.append("The Link header is longer than 4 KiB.")
    whole = "" if faults else f"{len(harvest.linkset)} links"
    return all_of(answered(1, whole, *map(Missing, faults)))


def _page(harvest: Harvest) -> Outcome:
    summaries = harvest.reading.texts(SCHEMA.description, DCT.description)
    longest = _longest(summaries)
    written = harvest.text_characters
    return all_of(
        answered(
            0.5,
            f"{written} characters" if written > _MIN_TEXT else "",
            Missing("The page says next to nothing without scripts."),
        ),
        answered(
            0.5,
            f"a summary of {longest} characters" if longest >= MIN_DESCRIPTION else "",
            Missing(
                f"There is no summary of {MIN_DESCRIPTION} characters or more.",
                "Say what it does and on what in README.md's first paragraph.",
                "README.md",
            ),
        ),
    )


def _longest(texts: list[str]) -> int:
    return max(map(len, texts), default=0)


def _told_apart(harvest: Harvest) -> Outcome:
    read = harvest.reading
    creators = read.nodes(SCHEMA.creator, SCHEMA.author, DCT.creator)
    homes = [home for one in creators for home in read.nodes(SCHEMA.affiliation, of=one)]
    own = sorted(map(str, creators))
    all_names = sorted({*own, *map(str, homes)})
    return all_of(
        answered(
            0.5,
            [one for one in own if one.startswith((_ORCID, _ROR))],
            Missing("No creator has an ORCID iD.", "Add 'orcid' to a person.", "authors"),
        ),
        answered(
            0.5,
            [one for one in all_names if one.startswith(_ROR)],
            Missing(
                "No creator has an institution with a ROR id.",
                "Add 'affiliation' with 'name' and 'ror' to a person.",
                "authors",
            ),
        ),
    )


def _followed(harvest: Harvest) -> Outcome:
    asked = [*harvest.metadata, *harvest.pids]
    dead = [one.url for one in asked if not one.is_found and one.status != 410]
    answers = harvest.negotiated
    wrong = [f"{want} ({got or 'nothing'})" for want, got in answers.items() if want != got]
    links = {link.target: link.type for link in harvest.links if link.rel == "describedby"}
    wrong += [
        f"{one.url} ({one.media_type or 'nothing'})"
        for one in harvest.metadata
        if one.media_type != (_plain(links.get(one.url)) or one.media_type)
    ]
    return all_of(
        answered(
            0.5,
            f"{len(asked)} links" if asked and not dead else "",
            Missing("Links of the page lead nowhere: " + ", ".join(dead[:3])),
        ),
        answered(
            0.5,
            [] if wrong else sorted(answers),
            Missing("Not of the type that was asked for or promised: " + ", ".join(wrong[:3])),
        ),
    )


def _plain(media_type: str | None) -> str:
    return (media_type or "").partition(";")[0].strip().lower()


def _kept(harvest: Harvest) -> Outcome:
    named = harvest.reading.urls(POLICY)
    policy = harvest.policy
    held = policy.url if policy and policy.is_found and policy.url in named else ""
    return all_of(answered(1, held, Missing("No policy says how long the record is kept.")))


def _as_claimed(harvest: Harvest) -> Outcome:
    if harvest.is_tombstone:
        return Outcome(0, missing=(GONE,))
    seen, counted = open_files(harvest), counted_files(harvest)
    heads, amounts = untrue_heads(harvest), untrue_bytes(harvest)
    return all_of(
        answered(
            1,
            f"{len(seen)} files answer as the metadata say" if seen and not heads else "",
            Missing(_untrue("No file answers", heads)),
        ),
        answered(
            1,
            f"{len(counted)} files counted again" if counted and not amounts else "",
            Missing(_untrue("No file's bytes came", amounts)),
        ),
    )


def _untrue(none: str, faults: list[str]) -> str:
    if not faults:
        return f"{none}."
    return f"{len(faults)} files are not what the metadata say: {', '.join(faults[:3])}"


def _inline(harvest: Harvest) -> Outcome:
    fault = harvest.reading.fault
    whole = "" if fault else "the context stands in the page"
    return all_of(answered(1, whole, Missing(fault)))


def _conforms(harvest: Harvest) -> Outcome:
    """Whether a shape is named and served, and the record was found to be as it demands."""
    shape = harvest.shape
    named = harvest.reading.urls(DCT.conformsTo)
    held = shape.url if shape and shape.is_found and shape.url in named else ""
    gaps = _unsaid(harvest)
    gaps += [Missing(f"The shape finds {one}") for one in harvest.violations]
    silent = Missing("The record names no shape that it conforms to.")
    return all_of(answered(1, "" if gaps else held, *(gaps or [silent])))


def _unsaid(harvest: Harvest) -> list[Missing]:
    """What the served shape asks people for, and the record does not say."""
    read = harvest.reading
    asked = (
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
        Missing(f"A complete record has {what}.", f"Write it in README.md, '{field}'.", field)
        if field != "README.md"
        else Missing(f"A complete record has {what}.", "Begin README.md with it.", field)
        for is_said, what, field in asked
        if not is_said
    ]


SERVED: tuple[Metric, ...] = (
    Metric("HUB-F-01", "hub", "F", "Signposts of level 2", 1, _signposts),
    Metric("HUB-F-02", "hub", "F", "A page that speaks without scripts", 1, _page),
    Metric("HUB-F-03", "hub", "F", "Creators that can be told apart", 1, _told_apart),
    Metric("HUB-A-01", "hub", "A", "Links and negotiation lead to what they promise", 1, _followed),
    Metric("HUB-A-02", "hub", "A", "A policy of keeping", 1, _kept),
    Metric("HUB-A-03", "hub", "A", "Files are what the metadata say", 2, _as_claimed),
    Metric("HUB-I-01", "hub", "I", "Readable without fetching a context", 1, _inline),
    Metric("HUB-I-02", "hub", "I", "Names a shape that is served, and passes it", 1, _conforms),
)
