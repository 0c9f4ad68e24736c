"""The fields of a record in every format, for comparisons of the formats with each other and with
what was published."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from tests.hub.fair import read_citations, read_linked, read_records

Fields = dict[str, Any]
#: Formats whose lists have no order: they are triples.
_UNORDERED = {"turtle", "rdfxml"}

#: Name of a format to its reader; :mod:`tests.hub.fair.test_shared_fields` names the fields.
READERS: dict[str, Callable[[bytes], Fields]] = {
    "jsonld": read_linked.jsonld,
    "turtle": read_linked.turtle,
    "rdfxml": read_linked.rdfxml,
    "csl": read_citations.csl,
    "ris": read_citations.ris,
    "codemeta": read_citations.codemeta,
    "prov-json": read_citations.prov,
    "datacite-json": read_records.datacite_json,
    "datacite-xml": read_records.datacite_xml,
    "rocrate": read_linked.rocrate,
    "croissant": read_linked.croissant,
    "cyclonedx": read_records.cyclonedx,
    "spdx": read_records.spdx,
    "cff": read_records.cff,
    "bibtex": read_records.bibtex,
    "model-index": read_records.model_index,
}


def agrees(form: str, value: Any, truth: Any) -> bool:
    """Whether a field of the format ``form`` has the value ``truth``. A moment is compared as
    exactly as it is written: a year, a day, a second."""
    if isinstance(truth, datetime):
        return _is_moment(str(value), truth)
    if form in _UNORDERED and isinstance(value, list):
        return sorted(value) == sorted(truth)
    return bool(value == truth)


def _is_moment(text: str, moment: datetime) -> bool:
    if len(text) <= len("2026-11-21"):
        return moment.astimezone(UTC).date().isoformat().startswith(text)
    return abs((datetime.fromisoformat(text) - moment).total_seconds()) < 1
