"""What cards say and configuration files tell of versions, read from their bytes."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from registry.errors import Invalid, NotFound
from registry.fair.addresses import Place
from registry.fair.card.card import CardFacts, read
from registry.fair.card.library import disproof, proven_library
from registry.fair.card.place import clean
from registry.selectors.blob import blob_open
from registry.selectors.contents import CONFIG_PATHS, config_of
from registry.states import RepositoryKind
from registry.tables import Blob, Revision
from registry.validation.card import MAX_CARD_BYTES, Card, parse
from registry.validation.labels import library_of, loader_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What is told of a version, by its author or by its configuration files.

    Attributes:
        task: As the card says, else as the configuration tells: no file disproves a task.
        library: As the card says unless the files prove otherwise, else as they tell.
        architectures: Classes that the configuration names.
    """

    card: CardFacts
    task: str | None
    library: str | None
    architectures: tuple[str, ...]


def told_of(revision: Revision, blobs: Mapping[str, Blob], place: Place) -> Told:
    """What a version says of itself.

    Args:
        revision: With its MLModel and namespace.
        blobs: Path to blob of all its files.
    """
    urls = {path: place.file(revision.oid, path) for path in blobs}
    card = read(
        card_of(revision, blobs.get("README.md")),
        repository=revision.mlmodel.full_name,
        files=urls,
    )
    if revision.mlmodel.kind == RepositoryKind.DATASET:
        return Told(card=card, task=card.task, library=card.library, architectures=())
    config = config_of({path: blobs[path] for path in CONFIG_PATHS if path in blobs})
    return Told(
        card=card,
        task=card.task or loader_of(config)[1] or None,
        library=_library(card.library, blobs, config),
        architectures=tuple(clean(name) for name in config.get("architectures", ())),
    )


def _library(typed: str | None, paths: Collection[str], config: Mapping[str, Any]) -> str | None:
    if typed and not disproof(typed, paths):
        return typed
    return library_of({}, paths, config) or proven_library(paths)


def card_of(revision: Revision, readme: Blob | None) -> Card:
    """The card of a version with its text; what was stored of it where the file cannot be read."""
    if readme is not None and readme.size_bytes <= MAX_CARD_BYTES:
        try:
            return _parsed(readme.sha256)
        except (Invalid, NotFound):
            pass
    return Card(values=revision.card)


# A card may be a megabyte, and what becomes of it several.
@lru_cache(maxsize=32)
def _parsed(sha256: str) -> Card:
    with blob_open(Blob(sha256=sha256)) as stream:
        return parse(stream.read())
