"""What a look from outside will find of a version, told before anybody has looked."""

from dataclasses import replace
from urllib.parse import parse_qs

from django.conf import settings
from django.contrib.auth.models import AnonymousUser

from registry.errors import NotFound
from registry.fair.description import Description
from registry.fair.score.harvest import Answer, Harvest, expected
from registry.selectors.fair.identifier import identifier_get, withdrawn_get
from registry.selectors.repository.mlmodel import repository_get, repository_moved
from registry.selectors.repository.revision import revision_get
from registry.states import RepositoryKind

_ANYBODY = AnonymousUser()


def expected_of(description: Description) -> Harvest:
    """What there will be to see once the hub serves this description to everybody.

    Training data and base models that it names of this hub are there as far as a stranger sees
    them today.
    """
    found = expected(description)
    return replace(found, sources=tuple(map(_answer, found.own_sources)))


def _answer(url: str) -> Answer:
    return Answer(url=url, statuses=(_status(url),), final=url, media_type="text/html")


def _status(url: str) -> int:
    """What strangers are answered at ``url`` in the end: 200; 410 of what was withdrawn; 404.

    Of an address below a record's own only the record is looked for.
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
        found = identifier_get(_ANYBODY, ark)
    except NotFound:
        return 404
    return 200 if found.description is None else 410


def _status_of_record(kind: RepositoryKind, full_name: str, rev: str | None) -> int:
    mlmodel = None
    try:
        mlmodel = repository_get(_ANYBODY, kind, full_name)
        revision_get(mlmodel, rev)
    except NotFound:
        if mlmodel is None and (moved := repository_moved(_ANYBODY, kind, full_name)):
            return _status_of_record(kind, moved.full_name, rev)
        left = withdrawn_get(kind, full_name, rev, mlmodel=mlmodel)
        return 410 if left else 404
    return 200
