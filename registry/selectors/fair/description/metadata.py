"""Metadata that a version declares itself: its card and its configuration files."""

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
from registry.fair.card.values import clean
from registry.selectors.repository.contents import CONFIG_PATHS, config_of
from registry.selectors.storage.blob import blob_open
from registry.states import RepositoryKind
from registry.tables import Blob, Revision
from registry.validation.architectures import loader_of
from registry.validation.card import MAX_CARD_BYTES, Card, parse
from registry.validation.labels import library_of

# Room for a few list pages of cards of usual length. In memory a parsed card takes several times
# its length, and at least _MIN_CARD_BYTES.
_CACHE_BYTES = 8 << 20
_MIN_CARD_BYTES = 2048


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredMetadata:
    """Metadata of a version from the author's card and the configuration files.

    Attributes:
        task: From the card, else from the configuration: files cannot disprove a task.
        library: From the card unless the files disprove it, else from the files.
        architectures: Class names in the configuration.
    """

    card: CardFacts
    task: str | None
    library: str | None
    architectures: tuple[str, ...]


def declared_metadata(
    revision: Revision, blobs: Mapping[str, Blob], address: RepositoryAddress
) -> DeclaredMetadata:
    """The declared metadata of a version, loaded with its MLModel and namespace.

    ``blobs`` maps the paths of its listed files to their blobs.
    """
    urls = {path: address.file(revision.oid, path) for path in blobs}
    card = read(
        card_of(revision, blobs.get("README.md")), repository=revision.mlmodel.full_name, files=urls
    )
    if revision.mlmodel.kind == RepositoryKind.DATASET:
        return DeclaredMetadata(card=card, task=card.task, library=card.library, architectures=())
    config = config_of({path: blobs[path] for path in CONFIG_PATHS if path in blobs})
    return DeclaredMetadata(
        card=card,
        task=card.task or loader_of(config)[1] or None,
        library=_library(card.library, blobs, config, is_whole=len(blobs) >= revision.file_count),
        architectures=tuple(clean(name) for name in config.get("architectures", ())),
    )


def _library(
    declared: str | None, paths: Collection[str], config: Mapping[str, Any], *, is_whole: bool
) -> str | None:
    # Missing files disprove nothing unless all files are known.
    if declared and not (is_whole and disproof(declared, paths)):
        return declared
    return library_of({}, paths, config) or proven_library(paths)


def card_of(revision: Revision, readme: Blob | None) -> Card:
    """The card of a version with its text, or its stored values where the file is unreadable."""
    if readme is not None and readme.size_bytes <= MAX_CARD_BYTES:
        with suppress(NotFound):
            return _cards.get(readme) or Card(values=revision.card)
    return Card(values=revision.card)


class _CardCache:
    """Parsed cards by the digest of their bytes; the least recently used are dropped first."""

    def __init__(self) -> None:
        self._cards: OrderedDict[str, tuple[Card | None, int]] = OrderedDict()
        self._size_bytes = 0
        self._lock = Lock()

    def get(self, readme: Blob) -> Card | None:
        """The card; ``None`` if the file is no card. Raises ``NotFound``: ``blob_not_found``."""
        with self._lock:
            if entry := self._cards.get(readme.sha256):
                self._cards.move_to_end(readme.sha256)
                return entry[0]
        card, size_bytes = _parse(readme)
        with self._lock:
            if readme.sha256 not in self._cards:
                self._cards[readme.sha256] = card, size_bytes
                self._size_bytes += size_bytes
            while self._size_bytes > _CACHE_BYTES:
                self._size_bytes -= self._cards.popitem(last=False)[1][1]
        return card


_cards = _CardCache()


def _parse(readme: Blob) -> tuple[Card | None, int]:
    with blob_open(readme) as stream:
        data = stream.read()
    size_bytes = max(len(data), _MIN_CARD_BYTES)
    try:
        return parse(data), size_bytes
    except Invalid:
        return None, size_bytes
