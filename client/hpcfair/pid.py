"""Persistent identifiers in place of a model's name: ``ark:/NAAN/name`` and ``doi:10.../...``.

An identifier is resolved to a model of the configured hub only. DANGER: builds are native programs.
If a DOI leads to another hub, the error names that hub; the user decides whom to trust by setting
``HPCFAIR_URL``.
"""

import re
from typing import NamedTuple
from urllib.parse import quote, unquote, urljoin, urlsplit

from hpcfair.cache import Cache
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
from hpcfair.resolution import renewed_answer
from hpcfair.transport import Transport

#: Also inside a URL, whose beginning names the resolver. Hyphens are ignored.
_ARK = re.compile(r"ark:/?([0-9a-z]{2,})/([0-9a-z-]+)", re.IGNORECASE)
_DOI = re.compile(r"(?:doi:|https?://(?:dx\.|www\.)?doi\.org/)(10\.[0-9.]+/\S+)", re.IGNORECASE)
_IN_DOIS = "/:;()"
_MOST_STEPS = 10


class Located(NamedTuple):
    """The model that an identifier names, and the commit id if it names one version."""

    name: str
    revision: str | None


def locate(http: Transport, cache: Cache, name: str, revision: str | None = None) -> Located:
    """Resolve ``name`` and ``revision`` to a model and a version.

    Identifiers are resolved by the hub, and DOIs by their resolver first. If these are unreachable,
    the last answer is used with a :class:`StaleAnswerWarning`.

    Args:
        name: ``namespace/name``, ``ark:...``, ``doi:...``, or a URL of either.

    Raises:
        BadInput: it is not an identifier of a model, or names another version than ``revision``.
        NotFound: the identifier is unknown, or the model is not visible to the account.
        Withdrawn: only the metadata record remains.
        HubUnreachable: the hub or the resolver does not answer, and there is no earlier answer.
    """
    if not is_identifier(name):
        return Located(name, revision)
    located = _renewed(http, cache, name)
    if revision is None or located.revision is None:
        return Located(located.name, revision or located.revision)
    if not located.revision.startswith(revision.lower()):
        raise BadInput(
            f"{name} names the version {located.revision[:12]}, and not {revision!r}.",
            f"Leave the revision out, or write {located.name}.",
        )
    return located


def is_identifier(name: str) -> bool:
    """Whether ``name`` is an identifier or a URL rather than ``namespace/name``."""
    return name.lower().startswith(("ark:", "doi:", "http://", "https://"))


def _renewed(http: Transport, cache: Cache, text: str) -> Located:
    answer, _ = renewed_answer(
        cache,
        {"hub": http.config.url, "identifier": text},
        lambda: _resolve(http, text)._asdict(),
        stacklevel=4,
    )
    return Located(answer["name"], answer["revision"])


def _resolve(http: Transport, text: str) -> Located:
    way = text
    doi = _DOI.fullmatch(text.strip())
    if doi:
        try:
            way = _end_of(http, text, f"{http.config.doi}/{quote(unquote(doi[1]), safe=_IN_DOIS)}")
        except HubUnreachable as error:
            # Without the network of the resolver, the hub may have a mirror.
            return _of_mirror(http, text, unquote(doi[1]), error)
    ark = _ARK.search(unquote(way))
    if ark is None:
        leads = f"{text} leads to {way}, which is no model of a hub."
        raise BadInput(
            leads if doi else f"{text!r} is no identifier of a model.",
            "Write namespace/name, ark:/NAAN/name or doi:10.../...",
        )
    return _lookup(http, text, f"ark:/{ark[1]}/{ark[2]}", way)


def _of_mirror(http: Transport, text: str, doi: str, error: HubUnreachable) -> Located:
    """The mirror of a DOI's target on the hub. Raises ``error`` if there is none."""
    try:
        return _lookup(http, text, f"doi:{quote(doi, safe=_IN_DOIS)}", text)
    except (NotFound, HubUnreachable):
        raise error from None


def _end_of(http: Transport, text: str, url: str) -> str:
    """The first URL with an ARK among the redirects of a DOI, else the last URL."""
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


def _lookup(http: Transport, text: str, ark: str, way: str) -> Located:
    """Resolve an ARK, or a DOI, at the hub; ``text`` and ``way``, the URL that led here, are for
    messages."""
    try:
        document = http.get(f"/api/v1/identifiers/{ark}")
    except NotFound as error:
        if "://" not in way or way.startswith(f"{http.config.url}/"):
            raise
        raise NotFound(
            f"{text} leads to {way}, of which the hub at {http.config.url} knows nothing.",
            "If that is another hub, set HPCFAIR_URL to it.",
            code=error.code,
            status=error.status,
        ) from error
    name, since = str(document["name"]), document.get("withdrawn_at")
    if since:
        why = document.get("reason") or "No reason was given."
        raise Withdrawn(
            f"{text}, which was {name}, was withdrawn on {str(since)[:10]}. {why}",
            f"Its record stays at {document['url']}.",
            code="identifier_withdrawn",
        )
    if document["repository_kind"] != "model":
        raise BadInput(
            f"{text} is the data set {name}, and no model.",
            f"`HF_ENDPOINT={http.config.url} hf download --repo-type dataset {name}` fetches it.",
        )
    return Located(checked_name(name), document.get("revision"))
