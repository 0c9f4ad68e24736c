"""Expected harvests of versions that have not been assessed yet."""

from dataclasses import replace
from urllib.parse import parse_qs

from django.conf import settings
from django.contrib.auth.models import AnonymousUser

from registry.errors import NotFound
from registry.fair.description import Description
from registry.fair.score.harvest import Answer, Harvest, expected
from registry.selectors.fair.identifier import identifier_get, withdrawn_get
from registry.selectors.repository.mlmodel import (
    repository_get,
    repository_moved,
    repository_replaced,
)
from registry.selectors.repository.revision import revision_get
from registry.states import RepositoryKind

_ANYBODY = AnonymousUser()


def expected_of(description: Description) -> Harvest:
    """The harvest to expect once the hub serves this description publicly.

    Sources of this hub answer as an anonymous client gets them today.
    """
    harvest = expected(description)
    return replace(harvest, sources=tuple(map(_answer, harvest.own_sources)))


def _answer(url: str) -> Answer:
    return Answer(url=url, statuses=(_status(url),), final=url, media_type="text/html")


def _status(url: str) -> int:
    """Final status of ``url`` for an anonymous client: 200, 404, or 410 of a withdrawn record.

    An address below a landing page has the status of its record.
    """
    own, _, query = url.removeprefix(f"{settings.HUB_URL}/").partition("?")
    if own.startswith("ark:"):
        return _status_of_identifier(own)
    kind = RepositoryKind.MODEL
    if own.startswith("datasets/"):
        kind, own = RepositoryKind.DATASET, own.removeprefix("datasets/")
    full_name = "/".join(own.split("/")[:2])
    return _status_of_record(kind, full_name, next(iter(parse_qs(query).get("revision", [])), None))


def _status_of_identifier(ark: str) -> int:
    try:
        target = identifier_get(_ANYBODY, ark)
    except NotFound:
        return 404
    return 200 if target.description is None else 410


def _status_of_record(kind: RepositoryKind, full_name: str, rev: str | None) -> int:
    mlmodel = None
    try:
        mlmodel = repository_get(_ANYBODY, kind, full_name)
        revision_get(mlmodel, rev)
    except NotFound:
        if mlmodel is None:
            moved = repository_moved(_ANYBODY, kind, full_name)
        else:
            moved = repository_replaced(_ANYBODY, kind, full_name, rev or "")
        if moved is not None:
            return _status_of_record(kind, moved.full_name, rev)
        return 410 if withdrawn_get(kind, full_name, rev, mlmodel=mlmodel) else 404
    return 200
