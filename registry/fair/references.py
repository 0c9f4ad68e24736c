"""Citations of a version for reference managers: CSL-JSON 1.0.2 and RIS.

Both formats may lack authors: a version without a named creator has none.

Sources: schema csl-data.json of citationstyles.org; RIS Format Specifications, Research Information
Systems, 2001 and 2011.
"""

import json
import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from registry.fair.ark import TEST_NOTE, is_test
from registry.fair.description import Description
from registry.fair.iris import identifier_of
from registry.fair.names import name_parts
from registry.fair.parts import Agent
from registry.fair.serialise import drop_empty

#: Neither format has a type for models; software is the closest, and the genre is more precise.
_GENRE = "Machine learning model"
_BREAKS = re.compile(r"\s+")


def render_csl(description: Description) -> bytes:
    """CSL-JSON: an array of one item."""
    items = [csl_item(description)]
    return json.dumps(items, ensure_ascii=False, indent=1).encode() + b"\n"


def csl_item(description: Description) -> dict[str, Any]:
    """The version as a CSL item."""
    return drop_empty(
        id=description.pid,
        type="dataset" if description.kind == "dataset" else "software",
        genre=None if description.kind == "dataset" else _GENRE,
        title=description.title,
        author=[_csl_name(one) for one in description.creators],
        contributor=[_csl_name(one) for one in description.contributors],
        abstract=description.description,
        version=description.version,
        issued=_csl_date(description.published),
        publisher=description.hub.publisher.name,
        source=description.hub.name,
        DOI=_doi(description),
        URL=description.pid,
        keyword=", ".join(description.keywords),
        language=next(iter(description.languages), None),
        note=". ".join(_notes(description)),
    )


def render_ris(description: Description) -> bytes:
    """RIS with one reference; lines end as the specification demands."""
    lines = [
        f"{tag}  - {_BREAKS.sub(' ', value).strip()}" for tag, value in ris_fields(description)
    ]
    return "\r\n".join([*lines, "ER  - ", ""]).encode()


def ris_fields(description: Description) -> Iterator[tuple[str, str]]:
    """Tags with their values, in order; tags of lists are repeated."""
    yield "TY", "DATA" if description.kind == "dataset" else "COMP"
    values: list[tuple[str, str | None]] = [
        ("ID", description.pid),
        ("TI", description.title),
        *(("AU", _ris_name(one)) for one in description.creators),
        ("PY", f"{description.published.year:04d}"),
        ("DA", description.published.strftime("%Y/%m/%d")),
        ("ET", description.version),
        ("M3", None if description.kind == "dataset" else _GENRE),
        ("PB", description.hub.publisher.name),
        ("DP", description.hub.name),
        ("AB", description.description),
        *(("KW", one) for one in description.keywords),
        ("LA", next(iter(description.languages), None)),
        ("DO", _doi(description)),
        ("UR", description.pid),
        *(("N1", one) for one in _notes(description)),
    ]
    yield from ((tag, value) for tag, value in values if value)


def _csl_name(agent: Agent) -> dict[str, str]:
    if agent.kind == "organization":
        return {"literal": agent.name}
    name = name_parts(agent.name)
    if not name.given_names:
        return {"literal": agent.name}
    return drop_empty(
        **{
            "family": name.family,
            "given": name.given_names,
            "non-dropping-particle": name.particle,
            "suffix": name.suffix,
        }
    )


def _ris_name(agent: Agent) -> str:
    """``Family, Given, Suffix``, or the whole name if it has no parts."""
    name = name_parts(agent.name)
    if agent.kind == "organization" or not name.given_names:
        return agent.name
    family = " ".join(filter(None, (name.particle, name.family)))
    return ", ".join(filter(None, (family, name.given_names, name.suffix)))


def _csl_date(at: datetime) -> dict[str, list[list[int]]]:
    return {"date-parts": [[at.year, at.month, at.day]]}


def _doi(description: Description) -> str | None:
    return identifier_of(description.doi).value if description.doi else None


def _notes(description: Description) -> list[str]:
    withdrawal = description.withdrawal
    notes = [f"Withdrawn on {withdrawal.at.date().isoformat()}"] if withdrawal else []
    return [*notes, TEST_NOTE] if is_test(description.pid) else notes
