"""What harvesters are told of, and for how long."""

from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from registry.errors import NotFound
from registry.selectors.fair.catalog import listed, listed_count, listed_pages
from registry.selectors.fair.harvest import (
    HarvestSelection,
    harvest_begin,
    harvest_count,
    harvest_get,
    harvest_part,
)
from registry.selectors.fair.identifier import pid_url
from registry.selectors.fair.sitemap import addresses_changed, addresses_of
from registry.selectors.repository.revision import revision_get
from registry.services.repository.mlmodel import mlmodel_delete, mlmodel_update
from registry.states import IdentifierKind, RepositoryKind, Visibility
from registry.tables import Identifier, MLModel, User
from tests.factories import commit_files, make_mlmodel

pytestmark = pytest.mark.django_db

AT = datetime(2026, 3, 1, 12, 0, 0, 500_000, tzinfo=UTC)


def pid_of(mlmodel: MLModel) -> str:
    return pid_url(mlmodel.identifiers.get(kind=IdentifierKind.CONCEPT).name)


def told(wanted: HarvestSelection | None = None) -> dict[str, bool]:
    """Identifier of each record to whether it is deleted."""
    part = harvest_part(wanted or HarvestSelection(), limit=100, is_whole=False)
    assert part.last is None
    assert len(part.records) == harvest_count(wanted or HarvestSelection())
    return {one.identifier: one.is_deleted for one in part.records}


def walk(limit: int) -> list[str]:
    """Identifiers of all records, ``limit`` at a time."""
    found, last = [], None
    while True:
        part = harvest_part(HarvestSelection(), after=last, limit=limit, is_whole=False)
        assert len(part.records) <= limit
        found += [one.identifier for one in part.records]
        last = part.last
        if last is None:
            return found


def test_there_is_one_record_for_all_versions_and_it_describes_the_newest(
    galaxy: MLModel, charlie: User
) -> None:
    (before,) = harvest_part(HarvestSelection(), limit=10, is_whole=True).records
    commit_files(galaxy, {"notes.txt": "new"}, actor=charlie)

    (record,) = harvest_part(HarvestSelection(), limit=10, is_whole=True).records

    assert record.identifier == before.identifier == pid_of(galaxy)
    assert record.sets == ("models",)
    assert record.changed > before.changed
    assert record.description is not None
    assert record.description.oid == revision_get(galaxy).oid
    assert harvest_get(record.identifier) == record


def test_what_was_never_public_leaves_no_trace(secret: MLModel, charlie: User) -> None:
    pid = pid_of(secret)
    mlmodel_update(actor=charlie, mlmodel=secret, visibility=Visibility.PRIVATE)
    assert told() == {}
    with pytest.raises(NotFound):
        harvest_get(pid)
    mlmodel_delete(actor=charlie, mlmodel=secret)
    assert told() == {}
    with pytest.raises(NotFound):
        harvest_get(pid)


def test_what_is_hidden_is_told_as_deleted_until_it_is_shown_again(
    galaxy: MLModel, charlie: User
) -> None:
    pid = pid_of(galaxy)
    mlmodel_update(actor=charlie, mlmodel=galaxy, visibility=Visibility.PRIVATE)
    hidden = harvest_get(pid)
    assert told() == {pid: True}
    assert (hidden.is_deleted, hidden.description, hidden.sets) == (True, None, ("models",))
    mlmodel_update(actor=charlie, mlmodel=galaxy, visibility=Visibility.PRIVATE)
    assert harvest_get(pid) == hidden
    mlmodel_update(actor=charlie, mlmodel=galaxy, visibility=Visibility.PUBLIC)
    assert told() == {pid: False}
    mlmodel_update(actor=charlie, mlmodel=galaxy, visibility=Visibility.PRIVATE)
    mlmodel_delete(actor=charlie, mlmodel=galaxy)
    assert told() == {pid: True}


def test_what_was_withdrawn_stays_as_deleted_when_its_name_is_taken_again(
    galaxy: MLModel, charlie: User
) -> None:
    pid = pid_of(galaxy)
    mlmodel_delete(actor=charlie, mlmodel=galaxy, reason="Wrong.")
    again = make_mlmodel("lab/galaxy-cnn", actor=charlie)
    assert told() == {pid: True, pid_of(again): False}
    assert harvest_get(pid).description is None


def test_only_the_identifier_of_all_versions_names_a_record(galaxy: MLModel) -> None:
    version = revision_get(galaxy).identifiers.get()
    name = pid_of(galaxy).rpartition("/")[2]
    for asked in (pid_url(version.name), name, f"ark:/99999/{name}", pid_url("h2none"), "", "\0"):
        with pytest.raises(NotFound):
            harvest_get(asked)


@pytest.mark.parametrize("limit", [1, 2, 3, 5, 100])
def test_a_list_in_parts_has_everything_once(charlie: User, lab: object, limit: int) -> None:
    made = [make_mlmodel(f"lab/m{number}", actor=charlie) for number in range(9)]
    for one in made[:4]:
        mlmodel_delete(actor=charlie, mlmodel=one)
    # Of the living and of the dead some changed in the very same moment.
    MLModel.objects.filter(pk__in=[one.pk for one in made[4:7]]).update(updated_at=AT)
    dead = Identifier.objects.filter(withdrawn_at__isnull=False, kind=IdentifierKind.CONCEPT)
    some = [row.pk for row in dead.order_by("pk")[:3]]
    dead.filter(pk__in=some).update(withdrawn_at=AT)

    found = walk(limit)

    assert len(found) == len(set(found)) == 9
    assert found == walk(100)


def test_what_changes_meanwhile_comes_again_and_nothing_is_lost(charlie: User, lab: object) -> None:
    made = [make_mlmodel(f"lab/m{number}", actor=charlie) for number in range(5)]
    pids = [pid_of(one) for one in made]
    part = harvest_part(HarvestSelection(), limit=2, is_whole=False)
    commit_files(made[0], {"a.txt": "a"}, actor=charlie)
    mlmodel_delete(actor=charlie, mlmodel=made[3])

    rest = harvest_part(HarvestSelection(), after=part.last, limit=10, is_whole=False).records

    assert [one.identifier for one in part.records] == pids[:2]
    assert [one.identifier for one in rest] == [pids[2], pids[4], pids[0], pids[3]]
    assert [one.is_deleted for one in rest] == [False, False, False, True]


def test_periods_include_their_seconds_and_kinds_stay_apart(
    galaxy: MLModel, charlie: User, lab: object
) -> None:
    data = make_mlmodel("lab/sky", actor=charlie, kind=RepositoryKind.DATASET)
    gone = make_mlmodel("lab/gone", actor=charlie)
    pids = [pid_of(one) for one in (galaxy, data, gone)]
    mlmodel_delete(actor=charlie, mlmodel=gone)
    MLModel.objects.update(updated_at=AT)
    Identifier.objects.filter(withdrawn_at__isnull=False).update(withdrawn_at=AT)
    second = AT.replace(microsecond=0)
    tick = timedelta(seconds=1)

    assert set(told(HarvestSelection(since=second, until=second))) == set(pids)
    assert told(HarvestSelection(since=second + tick)) == {}
    assert told(HarvestSelection(until=second - tick)) == {}
    assert told(HarvestSelection(kind=RepositoryKind.DATASET)) == {pids[1]: False}
    assert told(HarvestSelection(kind=RepositoryKind.MODEL)) == {pids[0]: False, pids[2]: True}
    far = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)
    assert set(told(HarvestSelection(since=datetime(1, 1, 1, tzinfo=UTC), until=far))) == set(pids)
    assert harvest_begin() == AT


def test_an_empty_hub_begins_now() -> None:
    assert timezone.now() - harvest_begin() < timedelta(minutes=1)
    assert harvest_part(HarvestSelection(), limit=5, is_whole=True).records == []


def test_pages_hold_what_everybody_may_read_in_an_order_that_stays(
    galaxy: MLModel, secret: MLModel, charlie: User
) -> None:
    data = make_mlmodel("lab/sky", actor=charlie, kind=RepositoryKind.DATASET)
    assert listed_count() == 2
    assert [listed(one.pk, 1) for one in (galaxy, secret, data)] == [[galaxy], [], [data]]
    assert listed_pages(galaxy.pk, 1) == (galaxy.pk, data.pk, None, data.pk)
    assert listed_pages(secret.pk, 1)[2:] == (
        (galaxy.pk, data.pk) if secret.pk < data.pk else (data.pk, None)
    )
    assert addresses_changed(10_000_000) == {0: data.updated_at}
    assert addresses_of(0, 10_000_000) == [
        ("http://127.0.0.1:8000/lab/galaxy-cnn", galaxy.updated_at),
        ("http://127.0.0.1:8000/datasets/lab/sky", data.updated_at),
    ]
    apart = addresses_changed(1)
    assert apart == {galaxy.pk: galaxy.updated_at, data.pk: data.updated_at}
    assert [url for url, _ in addresses_of(data.pk, 1)] == [
        "http://127.0.0.1:8000/datasets/lab/sky"
    ]
    assert addresses_of(secret.pk, 1) == []
