"""The index: one writer, many readers, nothing that cannot be made again.

It follows the outbox (``outbox.py``). Where it stands is a document of the index itself, so that
the documents and the cursor that claims them become durable in one commit: a process killed at
any moment leaves the last commit, and the next one goes on from its cursor.

A generation (``generations.py``) that is missing, damaged, of another version or of another
database is replaced. Searches index what is new before they look, so what a service committed is
found by the next search, wherever it runs.
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

#: How long a search waits for another process that is indexing before it uses what is there.
WAIT_S = 0.5
#: How long it waits where there is nothing to use yet.
FIRST_WAIT_S = 30.0
#: How long one search goes on indexing; the next one continues.
BUDGET_S = 5.0

_HEAP_BYTES = 64 * 2**20
#: With less free, a failed write is taken for a full disk and no new index is tried.
_ROOM_BYTES = 512 * 2**20


def ask(question: Callable[[tantivy.Searcher], _Answer]) -> _Answer:
    """The answer of an index that has caught up with the tables.

    ``question`` is asked again, of a new index, if the one at hand proves broken.

    Raises:
        Unavailable: ``index_busy`` while another process builds the first index.
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
            # Either another process replaced this generation under our hands, or it is damaged.
            _log.warning("search index %s cannot be read: %s", name, error)
            with generations.writing(WAIT_S) as held:
                if held:
                    generations.discard(name)
    raise Unavailable("index_busy", "The search index is being built.", "Try again in a minute.")


def catch_up(*, wait_s: float, budget_s: float) -> None:
    """Read the outbox into the index, unless another process is at it.

    Failing to write is logged, and leaves the index as it was.

    Args:
        wait_s: How long to wait for the other process, if there is an index to use meanwhile.
        budget_s: How long to go on reading; building a new index is not cut short.
    """
    cursor = _cursor()
    if cursor is not None and outbox.belongs(cursor) and not outbox.has_news(cursor):
        return
    with generations.writing(wait_s if cursor else FIRST_WAIT_S) as held:
        if not held:
            return
        # Whoever held the lock before us may have done our work.
        cursor = _cursor()
        try:
            if cursor is None or not outbox.belongs(cursor):
                generations.replace(_fill)
            else:
                _follow(cursor, time.monotonic() + budget_s)
        except Broken:
            _log.exception("the search index could not be written")


def rebuild(*, progress: Callable[[int], None] = lambda _: None) -> int:
    """Build the index anew while searches go on in the old one; the number of documents.

    Args:
        progress: Told the number of documents written so far, now and then.

    Raises:
        Unavailable: ``index_busy`` while another process writes, or if writing failed.
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
    """Where the current generation stands; ``None`` if there is none that can be read.

    Looking also shows this process what others committed.
    """
    try:
        with engine():
            index = generations.opened(generations.current())
            index.reload()
            searcher = index.searcher()
            wanted = tantivy.Query.term_query(SCHEMA, "uuid", CURSOR_UUID)
            hits = searcher.search(wanted, 1).hits
            return outbox.Cursor.loads(bytes(searcher.doc(hits[0][1])["cursor"][0]))
    except (Broken, LookupError, TypeError):
        return None


def _follow(cursor: outbox.Cursor, deadline: float) -> None:
    """Read the outbox from ``cursor`` on, until the deadline; each batch is one commit."""
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
        _log.exception("the search index cannot be continued and is built anew")
        generations.replace(_fill)


def _fill(index: tantivy.Index, *, progress: Callable[[int], None] = lambda _: None) -> int:
    """Write all MLModels into an empty generation."""
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
    """Tantivy's writer, whose commits carry the cursor. The lock is held.

    Raises:
        Broken: From every method.
    """

    def __init__(self, index: tantivy.Index) -> None:
        with engine():
            self._writer = index.writer(_HEAP_BYTES, 1)

    def __enter__(self) -> "_Writer":
        return self

    def __exit__(self, *failure: object) -> None:
        # Tantivy has a lock of its own, which must be free when ours is. Merges are let finish:
        # aborted ones would leave ever more segments to search.
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
