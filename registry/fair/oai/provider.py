"""Answers of OAI-PMH 2.0 (protocol version of 2002-06-14, schema OAI-PMH.xsd).

Pure functions: the caller reads the records, the clock and the resumption tokens. Withdrawn records
stay as deleted records for ever (``deletedRecord`` is ``persistent``).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from xml.etree.ElementTree import Element

from registry.fair.description import Description
from registry.fair.oai.payloads import PAYLOADS
from registry.fair.oai.request import SECONDS, OaiError, Request
from registry.fair.parts import METADATA_LICENSE
from registry.fair.xmltree import element, located, render

_NAMESPACE = "http://www.openarchives.org/OAI/2.0/"
_RIGHTS = "http://www.openarchives.org/OAI/2.0/rights/"
_RIGHTS_SCHEMA = "http://www.openarchives.org/OAI/2.0/rights.xsd"
#: setSpec to setName.
SETS = {"models": "Models", "datasets": "Data sets"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """The OAI-PMH repository; ``emails`` are those of one or more administrators."""

    name: str
    base_url: str
    emails: tuple[str, ...]
    earliest: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class OaiRecord:
    """One model or data set, with the identifier of all its versions together.

    ``changed`` is the time of its last change or deletion; ``sets`` are keys of :data:`SETS`;
    ``description`` is of the newest version, ``None`` if it was deleted, or in lists of
    identifiers.
    """

    identifier: str
    changed: datetime
    sets: tuple[str, ...]
    description: Description | None = None
    is_deleted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ListPart:
    """Position of an answer in a list that is split over several answers.

    ``token`` is the resumption token of the next part, "" in the last one; ``cursor`` is the number
    of records in the previous parts, ``total`` that of the whole list, if known.
    """

    token: str
    cursor: int
    total: int | None = None


@dataclass(frozen=True, slots=True)
class Provider:
    """Writes the answer to one request at the time ``now``."""

    repository: Repository
    request: Request
    now: datetime

    def identify(self) -> bytes:
        """Properties of the repository."""
        repository = self.repository
        parts = [
            element("repositoryName", repository.name),
            element("baseURL", repository.base_url),
            element("protocolVersion", "2.0"),
            *(element("adminEmail", email) for email in repository.emails),
            element("earliestDatestamp", _utc(repository.earliest)),
            element("deletedRecord", "persistent"),
            element("granularity", "YYYY-MM-DDThh:mm:ssZ"),
        ]
        return self._answer(element("Identify", parts))

    def list_metadata_formats(self) -> bytes:
        """All metadata prefixes; every record is available in each."""
        formats = [
            element(
                "metadataFormat",
                [
                    element("metadataPrefix", prefix),
                    element("schema", payload.schema),
                    element("metadataNamespace", payload.namespace),
                ],
            )
            for prefix, payload in PAYLOADS.items()
        ]
        return self._answer(element("ListMetadataFormats", formats))

    def list_sets(self) -> bytes:
        """:data:`SETS` in one answer."""
        sets = [
            element("set", [element("setSpec", spec), element("setName", name)])
            for spec, name in SETS.items()
        ]
        return self._answer(element("ListSets", sets))

    def get_record(self, record: OaiRecord, prefix: str) -> bytes:
        """One record, or its deletion mark."""
        return self._answer(element("GetRecord", [_record(record, prefix)]))

    def list_records(
        self, records: Sequence[OaiRecord], prefix: str, page: ListPart | None = None
    ) -> bytes:
        """Records with metadata; raises :class:`OaiError` ``noRecordsMatch`` if none exist."""
        return self._list("ListRecords", [_record(one, prefix) for one in records], page)

    def list_identifiers(self, records: Sequence[OaiRecord], page: ListPart | None = None) -> bytes:
        """Records without their metadata; raises as :meth:`list_records`."""
        return self._list("ListIdentifiers", [_header(one) for one in records], page)

    def _list(self, verb: str, items: list[Element], page: ListPart | None) -> bytes:
        if not items:
            raise OaiError("noRecordsMatch", "No record matches these arguments.")
        return self._answer(element(verb, [*items, *_resumption(page)]))

    def _answer(self, content: Element) -> bytes:
        return _envelope(self.repository, self.now, self.request.arguments, content)


def refusal(
    error: OaiError, repository: Repository, now: datetime, arguments: dict[str, str] | None = None
) -> bytes:
    """The answer that reports an error. Received ``arguments`` are repeated only if they are valid,
    as section 3.6 demands."""
    is_valid = error.code not in {"badVerb", "badArgument"}
    content = element("error", error.message, {"code": error.code})
    return _envelope(repository, now, (arguments or {}) if is_valid else {}, content)


def _envelope(
    repository: Repository, now: datetime, arguments: dict[str, str], content: Element
) -> bytes:
    children = [
        element("responseDate", _utc(now)),
        element("request", repository.base_url, arguments),
        content,
    ]
    return render(element("OAI-PMH", children, located(_NAMESPACE, f"{_NAMESPACE}OAI-PMH.xsd")))


def _record(record: OaiRecord, prefix: str) -> Element:
    parts = [_header(record)]
    if record.description:
        parts.append(element("metadata", [PAYLOADS[prefix].write(record.description)]))
        parts.append(element("about", [_rights()]))
    return element("record", parts)


def _rights() -> Element:
    """Rights in the metadata itself, as section 3 of the OAI-PMH rights guidelines has them."""
    licence = element("rightsReference", attributes={"ref": METADATA_LICENSE})
    return element("rights", [licence], located(_RIGHTS, _RIGHTS_SCHEMA))


def _header(record: OaiRecord) -> Element:
    parts = [
        element("identifier", record.identifier),
        element("datestamp", _utc(record.changed)),
        *(element("setSpec", spec) for spec in record.sets),
    ]
    return element("header", parts, {"status": "deleted" if record.is_deleted else None})


def _resumption(page: ListPart | None) -> Iterable[Element]:
    if page:
        size = None if page.total is None else str(page.total)
        attributes = {"completeListSize": size, "cursor": str(page.cursor)}
        yield element("resumptionToken", page.token, attributes)


def _utc(at: datetime) -> str:
    return at.astimezone(UTC).strftime(SECONDS)
