"""Keyset pages: nothing is missed or seen twice, and only our own cursors are taken."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from registry.errors import Invalid
from registry.pagination import keyset_page
from registry.tables import AuditEntry, Target

ORDERS = [("-id",), ("id",), ("slug",), ("-created_at", "-id"), ("rank", "-slug")]


def make_targets(ranks: list[int]) -> None:
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    for number, rank in enumerate(ranks):
        row = Target.objects.create(slug=f"t{number:02d}", architecture="x", rank=rank)
        # Two microseconds apart, or equal: a cursor must keep both apart.
        when = moment + timedelta(microseconds=2 * rank)
        Target.objects.filter(pk=row.pk).update(created_at=when)


def read(order: tuple[str, ...], limit: int) -> list[str]:
    cursor, found = None, []
    while True:
        page = keyset_page(
            Target.objects.all(), name="test", cursor=cursor, limit=limit, order=order
        )
        found += [row.slug for row in page.items]
        cursor = page.next
        if cursor is None:
            return found


@pytest.mark.django_db
@pytest.mark.parametrize("order", ORDERS, ids=str)
@settings(deadline=None, max_examples=15)
@given(ranks=st.lists(st.integers(0, 2), max_size=9), limit=st.integers(1, 10))
def test_pages_make_up_the_whole_list(order: tuple[str, ...], ranks: list[int], limit: int) -> None:
    Target.objects.all().delete()
    make_targets(ranks)
    whole = list(Target.objects.order_by(*order).values_list("slug", flat=True))
    assert read(order, limit) == whole


@pytest.mark.django_db
def test_a_list_that_changes_meanwhile_repeats_and_skips_nothing() -> None:
    make_targets([0] * 6)
    first = keyset_page(Target.objects.all(), name="test", cursor=None, limit=2)
    Target.objects.create(slug="newer", architecture="x")
    Target.objects.filter(slug=first.items[0].slug).delete()
    second = keyset_page(Target.objects.all(), name="test", cursor=first.next, limit=3)
    assert [row.slug for row in first.items] == ["t05", "t04"]
    assert [row.slug for row in second.items] == ["t03", "t02", "t01"]


@pytest.mark.django_db
def test_a_full_last_page_has_no_next() -> None:
    make_targets([0] * 4)
    assert keyset_page(Target.objects.all(), name="test", cursor=None, limit=4).next is None


@pytest.mark.django_db
@pytest.mark.parametrize(
    "cursor", ["", "x", "eyJ4IjoxfQ", "WzFd:1uCd3x:forged", "a" * 900, "é", "\x00"]
)
def test_a_cursor_nobody_gave_out_is_refused(cursor: str) -> None:
    with pytest.raises(Invalid) as refusal:
        keyset_page(Target.objects.all(), name="test", cursor=cursor)
    assert refusal.value.code == "invalid_cursor"


@pytest.mark.django_db
def test_a_cursor_of_another_list_is_refused() -> None:
    make_targets([0] * 2)
    given = keyset_page(Target.objects.all(), name="targets", cursor=None, limit=1).next
    for rows, name, order in (
        (AuditEntry.objects.all(), "audit", ("-id",)),
        (Target.objects.all(), "targets", ("-created_at", "-id")),
    ):
        with pytest.raises(Invalid):
            keyset_page(rows, name=name, cursor=given, order=order)  # type: ignore[type-var]
