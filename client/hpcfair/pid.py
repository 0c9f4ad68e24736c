"""Persistent identifiers in place of a model's name: ``ark:/NAAN/name`` and ``doi:10.../...``.

An identifier leads to a model of the hub this client is set to, and nowhere else. DANGER: builds
are programs. Where a DOI leads to another hub, that one is named and not asked: whom to trust is
for the person to say, by ``HPCFAIR_URL``.
"""

import re
import warnings
from datetime import UTC, datetime
from typing import NamedTuple
from urllib.parse import quote, unquote, urljoin, urlsplit

from hpcfair.cache import Cache
from hpcfair.digest import sha256_of_json
from hpcfair.errors import (
    BadInput,
    HubError,
    HubUnreachable,
    NotFound,
    Offline,
    Unavailable,
    Withdrawn,
)
from hpcfair.paths import checked_name
from hpcfair.resolution import StaleAnswerWarning
from hpcfair.transport import Transport

#: In an address, too: what stands before it says who resolves it. Hyphens say nothing.
_ARK = re.compile(r"ark:/?([0-9a-z]{2,})/([0-9a-z-]+)", re.IGNORECASE)
_DOI = re.compile(r"(?:doi:|https?://(?:dx\.|www\.)?doi\.org/)(10\.[0-9.]+/\S+)", re.IGNORECASE)
_IN_DOIS = "/:;()"
_MOST_STEPS = 10


class Located(NamedTuple):
    """What an identifier names: a model, and the commit id of one version if it names one."""

    name: str
    revision: str | None


def locate(http: Transport, cache: Cache, name: str, revision: str | None = None) -> Located:
    """The model and the version that ``name`` and ``revision`` mean.

    A name is itself. Of an identifier, the hub (and before it, for a DOI, the resolver) is asked;
    if that cannot be, what it said last time counts, said aloud by a :class:`StaleAnswerWarning`.

    Args:
        name: ``namespace/name``, ``ark:...``, ``doi:...``, or an address of either.

    Raises:
        BadInput: it is no identifier of a model; or it names a version, and ``revision`` another.
        NotFound: nobody here knows it, or you may not read what it names.
        Withdrawn: its record is all there is left.
        HubUnreachable: who is to be asked does not answer, and never did.
    """
    if not is_identifier(name):
        return Located(name, revision)
    found = _remembered(http, cache, name)
    if revision is None or found.revision is None:
        return Located(found.name, revision or found.revision)
    if not found.revision.startswith(revision.lower()):
        raise BadInput(
            f"{name} names the version {found.revision[:12]}, and not {revision!r}.",
            f"Leave the revision out, or write {found.name}.",
        )
    return found


def is_identifier(name: str) -> bool:
    """Whether ``name`` is an identifier or an address, and so no ``namespace/name``."""
    return name.lower().startswith(("ark:", "doi:", "http://", "https://"))


def _remembered(http: Transport, cache: Cache, text: str) -> Located:
    key = sha256_of_json({"hub": http.config.url, "identifier": text})
    try:
        found = _asked(http, text)
    except (HubUnreachable, Unavailable) as error:
        kept = cache.answer(key)
        if kept is None:
            raise
        warnings.warn(
            f"{error.detail} Using the answer of {kept['at']}.", StaleAnswerWarning, stacklevel=4
        )
        return Located(kept["answer"]["name"], kept["answer"]["revision"])
    now = datetime.now(UTC).isoformat(timespec="seconds")
    cache.keep_answer(key, {"at": now, "answer": found._asdict()})
    return found


def _asked(http: Transport, text: str) -> Located:
    way = text
    doi = _DOI.fullmatch(text.strip())
    if doi:
        way = _end_of(http, text, f"{http.config.doi}/{quote(unquote(doi[1]), safe=_IN_DOIS)}")
    ark = _ARK.search(unquote(way))
    if ark is None:
        leads = f"{text} leads to {way}, which is no model of a hub."
        raise BadInput(
            leads if doi else f"{text!r} is no identifier of a model.",
            "Write namespace/name, ark:/NAAN/name or doi:10.../...",
        )
    return _known(http, text, f"ark:/{ark[1]}/{ark[2]}", way)


def _end_of(http: Transport, text: str, url: str) -> str:
    """The first address on a DOI's way that holds an ARK; else where the way ends."""
    for step in range(_MOST_STEPS):
        try:
            with http.open("GET", url, follow=False) as answer:
                target = answer.headers.get("Location")
        except Unavailable:
            raise
        except HubError as error:
            if step:
                return url
            raise NotFound(
                f"{http.config.doi} knows no {text}: it answered {error.status}.",
                "Check its spelling.",
                code="identifier_not_found",
                status=error.status,
            ) from error
        except Offline:
            raise
        except HubUnreachable as error:
            raise HubUnreachable(
                f"{urlsplit(url).netloc} does not answer, so nobody says where {text} leads.",
                "HPCFAIR_DOI_RESOLVER names another resolver.",
            ) from error
        url = urljoin(url, target or "")
        if not target or not url.startswith(("http://", "https://")) or _ARK.search(unquote(url)):
            break
    return url


def _known(http: Transport, text: str, ark: str, way: str) -> Located:
    """What the hub says of an ARK.

    Args:
        text: What was asked for, and ``way``, the address that led here, for messages.
    """
    try:
        found = http.get(f"/api/v1/identifiers/{ark}")
    except NotFound as error:
        if "://" not in way or way.startswith(f"{http.config.url}/"):
            raise
        raise NotFound(
            f"{text} leads to {way}, of which the hub at {http.config.url} knows nothing.",
            "If that is another hub, set HPCFAIR_URL to it.",
            code=error.code,
            status=error.status,
        ) from error
    name, since = str(found["name"]), found.get("withdrawn_at")
    if since:
        why = found.get("reason") or "No reason was given."
        raise Withdrawn(
            f"{text}, which was {name}, was withdrawn on {str(since)[:10]}. {why}",
            f"Its record stays at {found['url']}.",
            code="identifier_withdrawn",
        )
    if found["repository_kind"] != "model":
        raise BadInput(
            f"{text} is the data set {name}, and no model.",
            f"`HF_ENDPOINT={http.config.url} hf download --repo-type dataset {name}` fetches it.",
        )
    return Located(checked_name(name), found.get("revision"))
