"""What cards say and configuration files tell of versions, read from their bytes."""

from collections import OrderedDict
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from threading import Lock
from typing import Any

from registry.errors import Invalid, NotFound
from registry.fair.addresses import RepositoryAddress
from registry.fair.card.card import CardFacts, read
from registry.fair.card.library import disproof, proven_library
from registry.fair.card.place import clean
from registry.selectors.repository.contents import CONFIG_PATHS, config_of
from registry.selectors.storage.blob import blob_open
from registry.states import RepositoryKind
from registry.tables import Blob, Revision
from registry.validation.card import MAX_CARD_BYTES, Card, parse
from registry.validation.labels import library_of, loader_of

# Some pages of lists, of as long cards as people write. Parsed, a card may take many times as much.
_MOST_HELD_BYTES = 8 << 20
_LEAST_BYTES = 2048


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


def told_of(revision: Revision, blobs: Mapping[str, Blob], place: RepositoryAddress) -> Told:
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
        with suppress(NotFound):
            return _cards.get(readme) or Card(values=revision.card)
    return Card(values=revision.card)


class _Cards:
    """Parsed cards by the digest of their bytes, as many as fit: the latest used ones."""

    def __init__(self) -> None:
        self._at_hand: OrderedDict[str, tuple[Card | None, int]] = OrderedDict()
        self._held_bytes = 0
        self._lock = Lock()

    def get(self, readme: Blob) -> Card | None:
        """The card; ``None`` if it is none.

        Raises:
            NotFound: ``blob_not_found``.
        """
        with self._lock:
            if known := self._at_hand.get(readme.sha256):
                self._at_hand.move_to_end(readme.sha256)
                return known[0]
        card, size_bytes = _parsed(readme)
        with self._lock:
            if readme.sha256 not in self._at_hand:
                self._at_hand[readme.sha256] = card, size_bytes
                self._held_bytes += size_bytes
            while self._held_bytes > _MOST_HELD_BYTES:
                self._held_bytes -= self._at_hand.popitem(last=False)[1][1]
        return card


_cards = _Cards()


def _parsed(readme: Blob) -> tuple[Card | None, int]:
    with blob_open(readme) as stream:
        data = stream.read()
    # What is kept of a card takes memory, however short it is.
    size_bytes = max(len(data), _LEAST_BYTES)
    try:
        return parse(data), size_bytes
    except Invalid:
        return None, size_bytes
