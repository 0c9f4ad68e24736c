"""What a harvester asks for: the arguments of OAI-PMH 2.0 (sections 2.5, 3.3, 3.6 and 4)."""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

#: Verb to the arguments it requires and those it may have. A resumption token stands alone.
_VERBS: dict[str, tuple[frozenset[str], frozenset[str]]] = {
    "Identify": (frozenset(), frozenset()),
    "ListMetadataFormats": (frozenset(), frozenset({"identifier"})),
    "ListSets": (frozenset(), frozenset({"resumptionToken"})),
    "GetRecord": (frozenset({"identifier", "metadataPrefix"}), frozenset()),
    "ListIdentifiers": (
        frozenset({"metadataPrefix"}),
        frozenset({"from", "until", "set", "resumptionToken"}),
    ),
    "ListRecords": (
        frozenset({"metadataPrefix"}),
        frozenset({"from", "until", "set", "resumptionToken"}),
    ),
}
#: The schema's types of what is repeated in an answer, which must be valid whatever was asked.
_FORMS = {
    "identifier": re.compile(r"[!#-;=?-\[\]_a-z~]+"),
    "metadataPrefix": re.compile(r"[A-Za-z0-9\-_.!~*'()]+"),
    "set": re.compile(r"[A-Za-z0-9\-_.!~*'()]+(:[A-Za-z0-9\-_.!~*'()]+)*"),
}
_DAY = "%Y-%m-%d"
SECONDS = "%Y-%m-%dT%H:%M:%SZ"


class OaiError(Exception):
    """A condition that OAI-PMH answers with, under status 200.

    Attributes:
        code: One of section 3.6, such as ``badArgument``.
        message: For people.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A request of good form. Whether what it names exists is the caller's to find out.

    Attributes:
        arguments: As they came, for the answer to repeat.
        since: Records changed at this time or later...
        until: ...and at this time or earlier, to the second.
        token: Opaque here; if there is one, nothing else is.
    """

    verb: str
    arguments: dict[str, str] = field(default_factory=dict)
    identifier: str | None = None
    prefix: str | None = None
    set_spec: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    token: str | None = None


def parse(given: Iterable[tuple[str, str]], prefixes: Iterable[str]) -> Request:
    """Read the arguments of a GET or POST, names and values in their order.

    Args:
        prefixes: What records can be written as.

    Raises:
        OaiError: ``badVerb``, ``badArgument``, ``cannotDisseminateFormat``.
    """
    pairs = list(given)
    verb = _verb(pairs)
    _check_names(verb, pairs)
    arguments = dict(pairs)
    for name, form in _FORMS.items():
        if not form.fullmatch(arguments.get(name, "-")):
            raise OaiError("badArgument", f"This is no {name}.")
    since, until = _period(arguments)
    prefix = arguments.get("metadataPrefix")
    if prefix is not None and prefix not in set(prefixes):
        raise OaiError("cannotDisseminateFormat", "The metadata prefix is not known here.")
    return Request(
        verb=verb,
        arguments=arguments,
        identifier=arguments.get("identifier"),
        prefix=prefix,
        set_spec=arguments.get("set"),
        since=since,
        until=until,
        token=arguments.get("resumptionToken"),
    )


def _verb(pairs: list[tuple[str, str]]) -> str:
    verbs = [value for name, value in pairs if name == "verb"]
    if len(verbs) != 1 or verbs[0] not in _VERBS:
        raise OaiError("badVerb", f"There must be one verb, of these: {', '.join(_VERBS)}.")
    return verbs[0]


def _check_names(verb: str, pairs: list[tuple[str, str]]) -> None:
    required, optional = _VERBS[verb]
    counts = Counter(name for name, _ in pairs if name != "verb")
    names = frozenset(counts)
    if any(count > 1 for count in counts.values()):
        raise OaiError("badArgument", "An argument is given twice.")
    if names - required - optional:
        raise OaiError("badArgument", f"{verb} has no such argument.")
    if "resumptionToken" in names:
        if len(names) > 1:
            raise OaiError("badArgument", "A resumption token stands alone.")
    elif missing := sorted(required - names):
        raise OaiError("badArgument", f"{verb} needs {', '.join(missing)}.")


def _period(arguments: dict[str, str]) -> tuple[datetime | None, datetime | None]:
    given = [arguments[name] for name in ("from", "until") if name in arguments]
    if len({len(text) for text in given}) > 1:
        raise OaiError("badArgument", "'from' and 'until' must be of the same granularity.")
    since, until = (
        _time(arguments[name]) if name in arguments else None for name in ("from", "until")
    )
    if until and len(arguments["until"]) == len("2026-03-01"):
        # All of that day.
        until += timedelta(days=1, seconds=-1)
    if since and until and since > until:
        raise OaiError("badArgument", "'from' is later than 'until'.")
    return since, until


def _time(text: str) -> datetime:
    for form, length in ((_DAY, len("2026-03-01")), (SECONDS, len("2026-03-01T12:00:00Z"))):
        # strptime takes numbers without their zeros, which the standard does not.
        if len(text) == length and text.isascii():
            try:
                return datetime.strptime(text, form).replace(tzinfo=UTC)
            except ValueError:
                break
    raise OaiError("badArgument", "Times are written 2026-03-01 or 2026-03-01T12:00:00Z, in UTC.")
