"""The index on disk: it survives what may happen to a folder, a file and a database."""

import fcntl
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import tantivy

from registry.errors import Unavailable
from registry.search import generations, index, schema
from registry.tables import MLModel, OutboxEntry
from tests.registry.search import rows

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]

# Kinds of files of a generation whose damage a search runs into, sooner or later.
PARTS = ["meta.json", ".idx", ".term", ".pos", ".fast", ".fieldnorm", ".store", "current"]


def indexed() -> list[str]:
    """Full names of all documents, as a search finds them."""
    return index.ask(look)


def look(searcher: tantivy.Searcher) -> list[str]:
    """Full names of all documents; uses every kind of file a generation has."""
    everything = tantivy.Query.term_query(schema.SCHEMA, "terms", "reader=hub")
    order = {"order_by_field": "by_name", "order": tantivy.Order.Asc}
    hits = searcher.search(everything, 10_000, **order).hits
    words = tantivy.Query.term_query(schema.SCHEMA, "name", "lab")
    phrase = tantivy.Query.phrase_query(schema.SCHEMA, "name", ["lab", "x"])
    assert searcher.search(words, 1).hits
    searcher.search(phrase, 1)
    searcher.fast_field_values("pk", [address for _, address in hits])
    return [str(name) for name, _ in hits]


@pytest.fixture
def folder(data_dir: Path) -> Path:
    """The folder of an index that holds lab/a and lab/b."""
    rows.mlmodel("lab/a")
    rows.mlmodel("lab/b")
    assert indexed() == ["lab/a", "lab/b"]
    return data_dir / "index"


@pytest.fixture
def busy(folder: Path) -> Iterator[None]:
    """Another process is indexing, and will build another index."""
    with (folder / "lock").open("w") as lock, (folder / "build.lock").open("w") as build:
        fcntl.flock(lock, fcntl.LOCK_EX)
        fcntl.flock(build, fcntl.LOCK_EX)
        yield


def forget_open_files() -> None:
    """As a process that starts now: it has opened nothing yet."""
    generations._opened.clear()


def test_changes_and_removals_are_followed(folder: Path) -> None:
    generation = generations.current()
    MLModel.objects.filter(name="a").update(name="c")
    rows.announce(MLModel.objects.get(name="c"))
    gone = MLModel.objects.get(name="b")
    rows.announce(gone)
    gone.refs.all().delete()
    gone.delete()
    assert indexed() == ["lab/c"]
    assert generations.current() == generation


def test_more_changes_than_one_batch_are_followed(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "BATCH", 2)
    for number in range(5):
        rows.mlmodel(f"lab/n{number}")
    assert len(indexed()) == 7


def test_a_search_stops_indexing_when_its_time_is_up(folder: Path) -> None:
    rows.mlmodel("lab/c")
    index.catch_up(wait_s=1, budget_s=0)
    cursor = index._cursor()
    assert cursor is not None
    assert OutboxEntry.objects.filter(id__gt=cursor.last_id).count() == 1
    assert indexed() == ["lab/a", "lab/b", "lab/c"]


def test_a_deleted_folder_is_made_again(folder: Path) -> None:
    shutil.rmtree(folder)
    assert indexed() == ["lab/a", "lab/b"]


@pytest.mark.parametrize("content", [b"", b"\xff" * 100], ids=["emptied", "overwritten"])
@pytest.mark.parametrize("part", PARTS)
def test_a_damaged_file_costs_a_new_index_and_nothing_else(
    folder: Path, part: str, content: bytes
) -> None:
    forget_open_files()
    damaged = [path for path in folder.rglob("*") if path.name.endswith(part)]
    assert damaged
    for path in damaged:
        path.unlink()
        path.write_bytes(content)
    assert indexed() == ["lab/a", "lab/b"]
    rows.mlmodel("lab/c")
    assert indexed() == ["lab/a", "lab/b", "lab/c"]


def test_a_missing_file_costs_a_new_index_and_nothing_else(folder: Path) -> None:
    forget_open_files()
    for path in folder.rglob("*.term"):
        path.unlink()
    assert indexed() == ["lab/a", "lab/b"]


def test_an_index_of_another_version_is_replaced(folder: Path) -> None:
    old = generations.current()
    other = folder / old.replace(f"v{schema.VERSION}-", "v0-")
    (folder / old).rename(other)
    (folder / "current").write_text(other.name)
    assert indexed() == ["lab/a", "lab/b"]
    assert not other.exists()


def test_a_cursor_ahead_of_a_restored_database_costs_a_new_index(folder: Path) -> None:
    old = generations.current()
    OutboxEntry.objects.order_by("-id").first().delete()  # type: ignore[union-attr]
    gone = MLModel.objects.get(name="b")
    gone.refs.all().delete()
    gone.delete()
    assert indexed() == ["lab/a"]
    assert generations.current() != old


def test_an_index_that_cannot_be_continued_is_replaced(folder: Path) -> None:
    old = generations.current()
    # A writer that somebody else keeps open: ours is refused.
    foreign = tantivy.Index.open(str(folder / old)).writer(15_000_000, 1)
    rows.mlmodel("lab/c")
    assert indexed() == ["lab/a", "lab/b", "lab/c"]
    assert generations.current() != old
    del foreign


def test_a_full_disk_keeps_the_index_as_it_is(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = generations.current()
    foreign = tantivy.Index.open(str(folder / old)).writer(15_000_000, 1)
    monkeypatch.setattr(index, "_ROOM_BYTES", 2**62)
    rows.mlmodel("lab/c")
    assert indexed() == ["lab/a", "lab/b"]
    assert generations.current() == old
    del foreign


def test_while_another_process_indexes_a_search_uses_what_is_there(busy: None) -> None:
    rows.mlmodel("lab/c")
    assert indexed() == ["lab/a", "lab/b"]


def test_what_was_missed_while_busy_is_found_afterwards(folder: Path) -> None:
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        rows.mlmodel("lab/c")
        indexed()
    assert indexed() == ["lab/a", "lab/b", "lab/c"]


def test_while_the_first_index_is_built_a_search_says_so(
    busy: None, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "FIRST_WAIT_S", 0.05)
    (folder / "current").unlink()
    with pytest.raises(Unavailable) as refusal:
        indexed()
    assert refusal.value.code == "index_busy"
    with pytest.raises(Unavailable):
        index.rebuild()


def test_a_rebuild_replaces_the_index_and_sweeps_what_killed_ones_left(folder: Path) -> None:
    half_made = folder / f"v{schema.VERSION}-{'0' * 32}"
    half_made.mkdir()
    old = generations.current()
    told: list[int] = []
    assert index.rebuild(progress=told.append) == 2
    left = [path.name for path in folder.iterdir() if path.is_dir()]
    assert left == [generations.current()] != [old]
    assert indexed() == ["lab/a", "lab/b"]


def test_a_rebuild_that_fails_leaves_the_index_as_it_was(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(count: int) -> None:
        raise RuntimeError(count)

    old = generations.current()
    monkeypatch.setattr(index, "BATCH", 1)
    with pytest.raises(RuntimeError):
        index.rebuild(progress=fail)
    assert generations.current() == old
    rows.mlmodel("lab/c")
    assert indexed() == ["lab/a", "lab/b", "lab/c"]


def test_an_interrupted_build_continues_where_it_was_durable(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(count: int) -> None:
        if count == 2:
            raise KeyboardInterrupt

    rows.mlmodel("lab/c")
    monkeypatch.setattr(index, "BATCH", 1)
    monkeypatch.setattr(index, "DURABLE", 1)
    with pytest.raises(KeyboardInterrupt):
        index.rebuild(progress=stop)
    begun = (folder / "building").read_text()
    # Changed after it was written: the outbox brings it up to date.
    MLModel.objects.filter(name="a").update(name="z")
    rows.announce(MLModel.objects.get(name="z"))
    counts: list[int] = []
    assert index.rebuild(progress=counts.append) == 3
    assert (counts, generations.current()) == ([3], begun)
    assert not (folder / "building").exists()
    assert indexed() == ["lab/b", "lab/c", "lab/z"]


def test_an_interrupted_build_of_another_database_is_not_continued(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(count: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(index, "BATCH", 1)
    monkeypatch.setattr(index, "DURABLE", 1)
    with pytest.raises(KeyboardInterrupt):
        index.rebuild(progress=stop)
    begun = (folder / "building").read_text()
    OutboxEntry.objects.order_by("-id").first().delete()  # type: ignore[union-attr]
    assert index.rebuild() == 2
    assert generations.current() != begun
    assert not (folder / begun).exists()


def test_changes_are_found_while_another_process_rebuilds(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "FIRST_WAIT_S", 0.05)
    with (folder / "build.lock").open("w") as build:
        fcntl.flock(build, fcntl.LOCK_EX)
        rows.mlmodel("lab/c")
        assert indexed() == ["lab/a", "lab/b", "lab/c"]
        with pytest.raises(Unavailable):
            index.rebuild()
