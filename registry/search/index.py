"""The index: one writer, many readers.

It follows the outbox (``outbox.py``). Its cursor is a document of the index itself, so that
documents and cursor become durable in one commit: after a crash the next process continues from the
last commit.

A generation (``generations.py``) that is missing, damaged, of another version or of another
database is replaced. Each search first indexes new entries, so that it finds everything that was
committed before, by any process.
"""

import logging
import shutil
import time
from collections.abc import Callable
from functools import partial
from typing import TypeVar

import tantivy

from registry.errors import Unavailable
from registry.search import generations, outbox
from registry.search.documents import BATCH, Document, all_documents, documents_of
from registry.search.generations import Broken, engine
from registry.search.schema import CURSOR_UUID, SCHEMA

_log = logging.getLogger(__name__)
_Answer = TypeVar("_Answer")

#: Seconds that a search waits for another writer before it uses the index as it is.
WAIT_S = 0.5
#: Seconds that it waits if there is no index yet.
FIRST_WAIT_S = 30.0
#: Seconds that one search spends on indexing; the next one continues.
BUDGET_S = 5.0

_HEAP_BYTES = 64 * 2**20
#: With less free space a failed write is attributed to a full disk, and the index is not rebuilt.
_ROOM_BYTES = 512 * 2**20


def ask(question: Callable[[tantivy.Searcher], _Answer]) -> _Answer:
    """The result of a search in an index that has caught up with the tables.

    If the index proves broken, ``question`` is called again with a new index. Raises
    ``Unavailable``: ``index_busy`` while another process builds the first index.
    """
    for _ in range(2):
        catch_up(wait_s=WAIT_S, budget_s=BUDGET_S)
        name = generations.current()
        if not name:
            break
        try:
            with engine():
                return question(generations.opened(name).searcher())
        except Broken as error:
            # Another process has replaced this generation meanwhile, or it is damaged.
            _log.warning("search index %s cannot be read: %s", name, error)
            with generations.writing(WAIT_S) as held:
                if held:
                    generations.discard(name)
    raise Unavailable("index_busy", "The search index is being built.", "Try again in a minute.")


def catch_up(*, wait_s: float, budget_s: float) -> None:
    """Index new entries of the outbox, unless another process does.

    Failures to write are logged and leave the index unchanged.

    Args:
        wait_s: Seconds to wait for the other process, if there is an index.
        budget_s: Seconds after which indexing stops; a rebuild is always completed.
    """
    cursor = _cursor()
    if cursor is not None and outbox.belongs(cursor) and not outbox.has_news(cursor):
        return
    with generations.writing(wait_s if cursor else FIRST_WAIT_S) as held:
        if not held:
            return
        # The previous holder of the lock may have indexed the same entries.
        cursor = _cursor()
        try:
            if cursor is None or not outbox.belongs(cursor):
                generations.replace(_fill)
            else:
                _follow(cursor, time.monotonic() + budget_s)
        except Broken:
            _log.exception("the search index could not be written")


def rebuild(*, progress: Callable[[int], None] = lambda _: None) -> int:
    """Rebuild the index while searches use the old one; returns the number of documents.

    ``progress`` is called with the number written so far. Raises ``Unavailable``: ``index_busy``
    while another process writes, or if writing failed.
    """
    with generations.writing(FIRST_WAIT_S) as held:
        if not held:
            raise Unavailable(
                "index_busy", "Another process is indexing.", "Try again when it has finished."
            )
        try:
            return generations.replace(partial(_fill, progress=progress))
        except Broken as error:
            raise Unavailable(
                "index_busy", f"The index could not be written: {error}.", "Is the disk full?"
            ) from error


def _cursor() -> outbox.Cursor | None:
    """Cursor of the current generation, reloaded from disk; ``None`` without a readable one."""
    try:
        with engine():
            index = generations.opened(generations.current())
            index.reload()
            searcher = index.searcher()
            query = tantivy.Query.term_query(SCHEMA, "uuid", CURSOR_UUID)
            hits = searcher.search(query, 1).hits
            return outbox.Cursor.loads(bytes(searcher.doc(hits[0][1])["cursor"][0]))
    except (Broken, LookupError, TypeError):
        return None


def _follow(cursor: outbox.Cursor, deadline: float) -> None:
    """Index outbox entries after ``cursor`` until the deadline; each batch is one commit."""
    try:
        index = generations.opened(generations.current())
        with _Writer(index) as writer:
            while time.monotonic() < deadline:
                changed, cursor = outbox.read(cursor, BATCH)
                if not changed:
                    break
                documents = list(documents_of(changed))
                for mlmodel_uuid in changed:
                    writer.delete(str(mlmodel_uuid))
                for document in documents:
                    writer.add(document)
                writer.commit(cursor)
        with engine():
            index.reload()
    except Broken:
        if shutil.disk_usage(generations.folder()).free < _ROOM_BYTES:
            raise
        _log.exception("the search index cannot be continued and is rebuilt")
        generations.replace(_fill)


def _fill(index: tantivy.Index, *, progress: Callable[[int], None] = lambda _: None) -> int:
    cursor = outbox.tip()
    count = 0
    with _Writer(index) as writer:
        for document in all_documents():
            writer.add(document)
            count += 1
            if count % BATCH == 0:
                progress(count)
        writer.commit(cursor)
    return count


class _Writer:
    """Tantivy's writer; commits include the cursor. Needs the lock. Methods raise ``Broken``."""

    def __init__(self, index: tantivy.Index) -> None:
        with engine():
            self._writer = index.writer(_HEAP_BYTES, 1)

    def __enter__(self) -> "_Writer":
        return self

    def __exit__(self, *failure: object) -> None:
        # Tantivy's own lock must be released before ours. Merges are completed: aborted merges
        # would leave more and more segments to search.
        with engine():
            self._writer.wait_merging_threads()

    def add(self, document: Document) -> None:
        with engine():
            self._writer.add_document(tantivy.Document.from_dict(document, SCHEMA))

    def delete(self, document_uuid: str) -> None:
        with engine():
            self._writer.delete_documents_by_term("uuid", document_uuid)

    def commit(self, cursor: outbox.Cursor) -> None:
        self.delete(CURSOR_UUID)
        self.add({"uuid": CURSOR_UUID, "cursor": cursor.dumps()})
        with engine():
            self._writer.commit()
