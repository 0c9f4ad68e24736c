"""Arguments of OAI-PMH 2.0 requests (sections 2.5, 3.3, 3.6 and 4)."""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

#: Verb to required and optional arguments. A resumption token excludes all others.
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
#: Types of the arguments that a valid answer repeats, as the schema defines them.
_PATTERNS = {
    "identifier": re.compile(r"[!#-;=?-\[\]_a-z~]+"),
    "metadataPrefix": re.compile(r"[A-Za-z0-9\-_.!~*'()]+"),
    "set": re.compile(r"[A-Za-z0-9\-_.!~*'()]+(:[A-Za-z0-9\-_.!~*'()]+)*"),
}
_DAY = "%Y-%m-%d"
SECONDS = "%Y-%m-%dT%H:%M:%SZ"


class OaiError(Exception):
    """An error condition of OAI-PMH (codes of section 3.6), answered with HTTP status 200."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A well-formed request; the existence of the records that it names is not checked.

    ``arguments`` are as received, for the answer to repeat; ``since`` and ``until`` are inclusive
    times of change, to the second; the opaque resumption ``token`` excludes all other arguments.
    """

    verb: str
    arguments: dict[str, str] = field(default_factory=dict)
    identifier: str | None = None
    prefix: str | None = None
    set_spec: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    token: str | None = None


def parse(query: Iterable[tuple[str, str]], prefixes: Iterable[str]) -> Request:
    """Parse the arguments of a GET or POST request, given the supported metadata prefixes.

    Raises:
        OaiError: ``badVerb``, ``badArgument``, ``cannotDisseminateFormat``.
    """
    pairs = list(query)
    verb = _verb(pairs)
    _check_names(verb, pairs)
    arguments = dict(pairs)
    for name, pattern in _PATTERNS.items():
        if not pattern.fullmatch(arguments.get(name, "-")):
            raise OaiError("badArgument", f"The {name} is malformed.")
    since, until = _period(arguments)
    prefix = arguments.get("metadataPrefix")
    if prefix is not None and prefix not in set(prefixes):
        raise OaiError("cannotDisseminateFormat", "The metadata prefix is not supported.")
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
        raise OaiError("badVerb", f"There must be one verb among {', '.join(_VERBS)}.")
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
            raise OaiError("badArgument", "A resumption token excludes other arguments.")
    elif missing := sorted(required - names):
        raise OaiError("badArgument", f"{verb} needs {', '.join(missing)}.")


def _period(arguments: dict[str, str]) -> tuple[datetime | None, datetime | None]:
    times = [arguments[name] for name in ("from", "until") if name in arguments]
    if len({len(text) for text in times}) > 1:
        raise OaiError("badArgument", "'from' and 'until' must be of the same granularity.")
    since, until = (
        _time(arguments[name]) if name in arguments else None for name in ("from", "until")
    )
    if until and len(arguments["until"]) == len("2026-03-01"):
        # The whole day is included.
        until += timedelta(days=1, seconds=-1)
    if since and until and since > until:
        raise OaiError("badArgument", "'from' is later than 'until'.")
    return since, until


def _time(text: str) -> datetime:
    for form, length in ((_DAY, len("2026-03-01")), (SECONDS, len("2026-03-01T12:00:00Z"))):
        # strptime accepts numbers without leading zeros, the standard does not.
        if len(text) == length and text.isascii():
            try:
                return datetime.strptime(text, form).replace(tzinfo=UTC)
            except ValueError:
                break
    raise OaiError("badArgument", "Times are written 2026-03-01 or 2026-03-01T12:00:00Z, in UTC.")
