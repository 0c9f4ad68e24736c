"""The index: one writer, many readers.

It follows the outbox (``outbox.py``). Its cursor is a document of the index itself, so that
documents and cursor become durable in one commit: after a crash the next process continues from the
last commit.

A generation (``generations.py``) that is missing, damaged, of another version or of another
database is replaced. Each search first indexes new entries, so that it finds what was committed
before, by any process. A search of a small hub builds a missing index itself; on a large hub it is
built by a process in the background, and searches are refused until it is complete.
"""

import logging
import shutil
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

import tantivy

from registry.errors import Unavailable
from registry.search import background, generations, outbox
from registry.search.documents import BATCH, all_documents, documents_of
from registry.search.generations import Broken, Busy, engine
from registry.search.scale import is_small
from registry.search.schema import BUILDING_UUID, CURSOR_UUID, SCHEMA
from registry.search.writer import Writer

_log = logging.getLogger(__name__)
_Answer = TypeVar("_Answer")

#: Seconds that a search waits for another writer before it uses the index as it is.
WAIT_S = 0.5
#: Seconds to wait for another process that builds or replaces the index.
FIRST_WAIT_S = 30.0
#: Seconds that one search spends on indexing; a process in the background does the rest.
BUDGET_S = 0.5
#: Documents between two commits of a build: an interrupted build continues after the last commit.
DURABLE = 50_000

#: With less free space a failed write is attributed to a full disk, and the index is not rebuilt.
_ROOM_BYTES = 512 * 2**20


def ask(question: Callable[[tantivy.Searcher], _Answer]) -> _Answer:
    """The result of a search in an index that has caught up with the tables.

    If the index proves broken, ``question`` is called again with a new index. Raises
    ``Unavailable``: ``index_busy`` while there is no complete index.
    """
    for _ in range(2):
        check()
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
    raise _busy()


def check() -> None:
    """Prepare the index for a search, within a bounded time.

    New entries of the outbox are indexed for :data:`BUDGET_S`; more are left to a process in the
    background. Raises ``Unavailable``: ``index_busy`` if there is no index and the hub is too large
    to build one now; it is then being built.
    """
    cursor = _cursor()
    if cursor is None or not outbox.belongs(cursor):
        if not is_small():
            background.start()
            raise _busy()
        _build(wait_s=FIRST_WAIT_S)
    elif outbox.has_news(cursor):
        is_behind = _follow(wait_s=WAIT_S, budget_s=BUDGET_S)
        if not generations.current():
            # It could not be continued.
            check()
        elif is_behind and not is_small():
            background.start()


def catch_up(*, wait_s: float, budget_s: float) -> None:
    """Index new entries of the outbox, or build the index if there is none.

    Failures to write are logged and leave the index unchanged.

    Args:
        wait_s: Seconds to wait for another process that indexes.
        budget_s: Seconds after which indexing stops; a build is always completed.
    """
    cursor = _cursor()
    if cursor is None or not outbox.belongs(cursor):
        _build(wait_s=FIRST_WAIT_S)
    elif outbox.has_news(cursor):
        _follow(wait_s=wait_s, budget_s=budget_s)
        if not generations.current():
            _build(wait_s=FIRST_WAIT_S)


def rebuild(*, progress: Callable[[int], None] = lambda _: None) -> int:
    """Rebuild the index while searches use the old one; returns the number of documents.

    An interrupted build is continued. ``progress`` is called with the number written so far. Raises
    ``Unavailable``: ``index_busy`` while another process builds, or if writing failed.
    """
    try:
        with generations.building(FIRST_WAIT_S) as held:
            if held:
                fill = partial(_fill, progress=progress)
                return generations.replace(fill, _is_continuable, wait_s=FIRST_WAIT_S)
    except Busy:
        pass
    except Broken as error:
        raise Unavailable(
            "index_busy", f"The index could not be written: {error}.", "Is the disk full?"
        ) from error
    raise Unavailable(
        "index_busy", "Another process is indexing.", "Try again when it has finished."
    )


def is_own(index: tantivy.Index) -> bool:
    """Whether an index was made from this database, and can be continued."""
    try:
        return outbox.belongs(outbox.Cursor.loads(_stored(index.searcher(), CURSOR_UUID)))
    except (LookupError, TypeError):
        return False


def _busy() -> Unavailable:
    return Unavailable("index_busy", "The search index is being built.", "Try again in a minute.")


def _build(*, wait_s: float) -> None:
    """Build the index, unless another process did so while this one waited."""
    with generations.building(wait_s) as held:
        if not held:
            return
        cursor = _cursor()
        if cursor is not None and outbox.belongs(cursor):
            return
        try:
            generations.replace(_fill, _is_continuable, wait_s=wait_s)
        except Broken:
            _log.exception("the search index could not be built")


def _cursor() -> outbox.Cursor | None:
    """Cursor of the current generation, reloaded from disk; ``None`` without a readable one."""
    try:
        with engine():
            index = generations.opened(generations.current())
            index.reload()
            return outbox.Cursor.loads(_stored(index.searcher(), CURSOR_UUID))
    except (Broken, LookupError, TypeError):
        return None


def _stored(searcher: tantivy.Searcher, name: str) -> bytes:
    """Content of the document ``name`` about the index itself. Raises ``LookupError``."""
    hits = searcher.search(tantivy.Query.term_query(SCHEMA, "uuid", name), 1).hits
    return bytes(searcher.doc(hits[0][1])["cursor"][0])


def _follow(*, wait_s: float, budget_s: float) -> bool:
    """Index new entries of the outbox, unless another process holds the lock for ``wait_s``.

    An index that cannot be continued is discarded. Returns whether there was more to index.
    """
    deadline = time.monotonic() + budget_s
    with generations.writing(wait_s) as held:
        # The previous holder of the lock may have indexed the same entries.
        cursor = _cursor() if held else None
        if cursor is None:
            return False
        name = generations.current()
        try:
            index = generations.opened(name)
            return _advance(index, generations.folder() / name, cursor, deadline)
        except Broken:
            _log.exception("the search index cannot be continued")
            if shutil.disk_usage(generations.folder()).free >= _ROOM_BYTES:
                generations.discard(name)
            return False


def _advance(index: tantivy.Index, path: Path, cursor: outbox.Cursor, deadline: float) -> bool:
    """Index outbox entries after ``cursor``; each batch is one commit.

    Returns whether the deadline came before the end. Raises ``Broken``.
    """
    with Writer(index, path) as writer:
        while time.monotonic() < deadline:
            changed, cursor = outbox.read(cursor, BATCH)
            if not changed:
                return False
            documents = list(documents_of(changed))
            for mlmodel_uuid in changed:
                writer.delete(str(mlmodel_uuid))
            for document in documents:
                writer.add(document)
            writer.commit({CURSOR_UUID: cursor.dumps()})
    return True


def _is_continuable(index: tantivy.Index) -> bool:
    """Whether this is the interrupted build of an index of this database."""
    is_building = index.searcher().doc_freq("uuid", BUILDING_UUID) > 0
    return is_building and is_own(index)


def _fill(
    index: tantivy.Index, path: Path, *, progress: Callable[[int], None] = lambda _: None
) -> int:
    """Index all MLModels, after those that an interrupted build has indexed.

    Returns the number of documents. Raises ``Broken``.
    """
    cursor, last = outbox.tip(), 0
    if _is_continuable(index):
        searcher = index.searcher()
        cursor = outbox.Cursor.loads(_stored(searcher, CURSOR_UUID))
        last = int(_stored(searcher, BUILDING_UUID))
    count = max(0, index.searcher().num_docs - 2)
    with Writer(index, path) as writer:
        for document in all_documents(after=last):
            writer.add(document)
            last = document["pk"]
            count += 1
            if count % DURABLE == 0:
                state = {CURSOR_UUID: cursor.dumps(), BUILDING_UUID: str(last).encode()}
                writer.commit(state)
            if count % BATCH == 0:
                progress(count)
        writer.delete(BUILDING_UUID)
        writer.commit({CURSOR_UUID: cursor.dumps()})
    # What changed during the build.
    _advance(index, path, cursor, float("inf"))
    return count
