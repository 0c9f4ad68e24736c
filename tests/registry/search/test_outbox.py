"""Following the outbox: nothing is missed, whatever the order of ids and commits."""

import threading
import uuid
from collections.abc import Sequence

import pytest
from django.db import connection, transaction
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from registry.search import outbox
from registry.search.outbox import Cursor
from registry.tables import OutboxEntry
from tests.programs import needs

BEGIN = Cursor()


def entry(number: int) -> uuid.UUID:
    """Let the transaction that took this id commit now."""
    mlmodel = uuid.UUID(int=number)
    OutboxEntry.objects.create(id=number, mlmodel_uuid=mlmodel)
    return mlmodel


def read_all(cursor: Cursor, limit: int = 100) -> tuple[list[int], Cursor]:
    """Numbers of all unread entries, and the cursor past them."""
    seen: list[int] = []
    while True:
        found, cursor = outbox.read(cursor, limit)
        if not found:
            return seen, cursor
        seen += sorted(one.int for one in found)


@pytest.mark.django_db
def test_entries_are_read_once_and_in_batches() -> None:
    for number in range(1, 6):
        entry(number)
    assert read_all(BEGIN, limit=2)[0] == [1, 2, 3, 4, 5]
    _, cursor = read_all(BEGIN)
    assert not outbox.has_news(cursor)
    entry(6)
    assert outbox.has_news(cursor)
    assert read_all(cursor)[0] == [6]


@pytest.mark.django_db
def test_a_lower_id_that_commits_later_is_not_missed() -> None:
    entry(1)
    entry(4)
    _, cursor = read_all(BEGIN)
    assert cursor.last_id == 4
    assert not outbox.has_news(cursor)
    entry(2)
    assert outbox.has_news(cursor)
    seen, cursor = read_all(cursor)
    assert seen == [2]
    entry(3)
    entry(5)
    seen, cursor = read_all(cursor)
    assert (seen, cursor.gaps) == ([3, 5], ())


@pytest.mark.django_db
def test_a_new_index_looks_for_the_gaps_it_finds() -> None:
    entry(1)
    entry(3)
    cursor = outbox.tip()
    assert not outbox.has_news(cursor)
    entry(2)
    assert read_all(cursor)[0] == [2]


@pytest.mark.django_db
def test_what_was_rolled_back_is_given_up_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    entry(1)
    entry(9)
    _, cursor = read_all(BEGIN)
    assert [(first, last) for first, last, _ in cursor.gaps] == [(2, 8)]
    monkeypatch.setattr(outbox, "GAP_LIFETIME_S", -1)
    entry(10)
    assert read_all(cursor)[1].gaps == ()


@pytest.mark.django_db
def test_a_gap_is_not_given_up_before_it_was_looked_into(monkeypatch: pytest.MonkeyPatch) -> None:
    entry(1)
    entry(5)
    _, cursor = read_all(BEGIN)
    monkeypatch.setattr(outbox, "GAP_LIFETIME_S", -1)
    for number in (2, 3, 4):
        entry(number)
    assert read_all(cursor, limit=2)[0] == [2, 3, 4]


@pytest.mark.django_db(transaction=True)
@needs("postgresql")
def test_a_slow_transaction_is_overtaken_and_still_found() -> None:
    slow, fast = uuid.uuid4(), uuid.uuid4()
    taken, overtaken = threading.Event(), threading.Event()

    def write_slowly() -> None:
        with transaction.atomic():
            OutboxEntry.objects.create(mlmodel_uuid=slow)
            taken.set()
            assert overtaken.wait(120)
        connection.close()

    writer = threading.Thread(target=write_slowly)
    writer.start()
    assert taken.wait(120)
    OutboxEntry.objects.create(mlmodel_uuid=fast)
    found, cursor = outbox.read(BEGIN, 10)
    new_index = outbox.tip()
    assert found == {fast}
    overtaken.set()
    writer.join()
    assert outbox.read(cursor, 10)[0] == {slow}
    assert outbox.read(new_index, 10)[0] == {slow}


@pytest.mark.django_db
def test_a_cursor_of_another_history_is_told_apart() -> None:
    assert outbox.belongs(outbox.tip())
    entry(1)
    entry(2)
    ahead = outbox.tip()
    assert outbox.belongs(ahead)
    OutboxEntry.objects.get(id=2).delete()
    assert not outbox.belongs(ahead)
    # The restored database went on and took the same id for another change.
    OutboxEntry.objects.create(id=2, mlmodel_uuid=uuid.uuid4())
    assert not outbox.belongs(ahead)


@pytest.mark.django_db
def test_a_cursor_survives_being_written() -> None:
    entry(1)
    entry(3)
    cursor = outbox.tip()
    assert Cursor.loads(cursor.dumps()) == cursor


class AnyOrder(TestCase):
    """Transactions take ids in order and commit in any."""

    @settings(deadline=None, max_examples=60)
    @given(
        order=st.permutations(range(1, 13)),
        reads=st.lists(st.integers(0, 12), max_size=6),
        limit=st.integers(1, 5),
        begin_at=st.integers(0, 12),
    )
    def test_every_entry_is_read_exactly_once(
        self, order: Sequence[int], reads: Sequence[int], limit: int, begin_at: int
    ) -> None:
        OutboxEntry.objects.all().delete()
        cursor, seen, before = BEGIN, [], set[int]()
        for step, number in enumerate(order):
            if step == begin_at:
                cursor, before = outbox.tip(), set(order[:step])
                seen = []
            if step in reads:
                found, cursor = outbox.read(cursor, limit)
                seen += [one.int for one in found]
            entry(number)
        rest, cursor = read_all(cursor, limit)
        assert sorted([*seen, *rest]) == sorted(set(range(1, 13)) - before)
        assert not cursor.gaps
